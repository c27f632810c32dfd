"""What every template knows: the menu, the number of open alerts, language and theme. Looked up when first used."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.shortcuts import resolve_url
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language, gettext

import watchbook
from watchbook.base.store.disk import disk_usage
from watchbook.core import registry
from watchbook.core.alerts.models import Alert
from watchbook.core.ui.reader import HTML_LANG


@dataclass(frozen=True)
class Entry:
    """A line of the menu. `key` is what the reader types after g."""

    title: str
    url: str
    icon: str
    key: str
    is_current: bool = False
    is_page: bool = False


class House:
    """Made for each page; nothing is asked of the database before a template uses it."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request

    version = watchbook.__version__

    @property
    def lang(self) -> str:
        return HTML_LANG.get(get_language() or "en", "en")

    @property
    def theme(self) -> str:
        return getattr(self._request, "theme", "")

    @property
    def zone(self) -> str:
        return timezone.get_current_timezone_name()

    @property
    def here(self) -> str:
        """Where the reader comes back to after a switch. An error page keeps its address: it may hold a key."""
        is_fault = getattr(self._request, "is_fault", False)
        return self._request.get_full_path() if self._request.method == "GET" and not is_fault else "/"

    @property
    def sign_in(self) -> str:
        return resolve_url(settings.LOGIN_URL)

    @cached_property
    def alerts_open(self) -> int:
        """One query for a page, none when the view has counted already."""
        counted = getattr(self._request, "alerts_open", None)
        return Alert.objects.open().count() if counted is None else counted

    @property
    def is_disk_full(self) -> bool:
        return disk_usage().is_full

    @cached_property
    def menu(self) -> list[Entry]:
        return build_menu(self._request)


def house(request: HttpRequest) -> dict[str, Any]:
    return {"house": House(request)}


def build_menu(request: HttpRequest) -> list[Entry]:
    """Home, stream, the systems in their order, and for operators what keeps them running."""
    here = request.path
    taken = {"h", "t", "o"}
    home, stream = reverse("home"), reverse("stream")
    entries = [
        Entry(gettext("Home"), home, "home", "h", is_current=here == home, is_page=here == home),
        _entry(here, gettext("Stream"), stream, "stream", "t"),
    ]
    for source in registry.sources():
        if source.home_url:
            key = _free_key(source.title, taken)
            # All pages of a system stand under its slug, wherever its menu entry leads.
            under = f"/{source.slug}/"
            entries.append(_entry(here, gettext(source.title), reverse(source.home_url), source.icon, key, under))
    if getattr(request.user, "is_staff", False):
        tabs = [reverse(name) for name in ("alerts", "people", "audit_log")]
        entries.append(_entry(here, gettext("Operations"), reverse("ops"), "ops", "o", *tabs))
    return entries


def _entry(here: str, title: str, url: str, icon: str, key: str, *also: str) -> Entry:
    """`also` are further places whose pages belong to the entry."""
    return Entry(title, url, icon, key, is_current=here.startswith((url, *also)), is_page=here == url)


def _free_key(title: str, taken: set[str]) -> str:
    """The first letter of a title that no other entry has."""
    for letter in title.lower():
        if letter.isascii() and letter.isalpha() and letter not in taken:
            taken.add(letter)
            return letter
    return ""
