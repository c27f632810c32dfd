"""The file of a pool that an operator brings; `pool` judges what is in it, as for the command line."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from watchbook.sources.reddit.pool import LARGEST_BYTES, PoolEntry, WrongPool, read_entries

ENDINGS = (".json", ".csv")


class PoolForm(forms.Form):
    file = forms.FileField(
        label=gettext_lazy("Pool file"),
        help_text=gettext_lazy("JSON or CSV with the columns name, tier, categories, quality_score, is_active."),
        widget=forms.FileInput(attrs={"accept": ",".join(ENDINGS)}),
    )

    entries: list[PoolEntry]

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if PurePath(file.name).suffix.lower() not in ENDINGS:
            raise forms.ValidationError(_("Choose a file that ends with .json or .csv."))
        if file.size > LARGEST_BYTES:
            raise forms.ValidationError(_("The file is larger than any pool."))
        try:
            self.entries = read_entries(file.read(), file.name)
        except WrongPool as error:
            raise forms.ValidationError(str(error)) from None
        return file
