"""What an operator types about a board; `actions` judges it, as for programs."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from watchbook.sources.nga.actions import FASTEST, MOST_PAGE_LIMIT, SLOWEST


class AddForumForm(forms.Form):
    fid = forms.IntegerField(
        label=_("Number of the board (fid)"),
        min_value=-(2**31) + 1,
        max_value=2**31 - 1,
        help_text=_("It stands in the address of the board: thread.php?fid=7. Some are negative."),
        widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
    )
    name = forms.CharField(
        label=_("Name"), max_length=100, required=False, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )


class PaceForm(forms.Form):
    name = forms.CharField(label=_("Name"), max_length=100, required=False)
    crawl_page_limit = forms.IntegerField(
        label=_("Pages of a topic in one run"),
        min_value=1,
        max_value=MOST_PAGE_LIMIT,
        help_text=_("A longer topic is read over several runs."),
    )
    request_rate_limit_per_sec = forms.DecimalField(
        label=_("Requests a second"),
        min_value=SLOWEST,
        max_value=FASTEST,
        max_digits=5,
        decimal_places=2,
        help_text=_("Shared by all workers. At most one."),
    )
