"""What every page shares: menu, number of open alerts, language, theme, and the colours of the systems."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import resolve_url
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import get_language, gettext
from django.views.decorators.cache import cache_control
from django.views.decorators.http import etag, require_safe

import watchbook
from watchbook.base.store.folder import disk_usage
from watchbook.core import registry
from watchbook.core.alerts.models import Alert
from watchbook.core.stream.reading import unread_of
from watchbook.kit import formatting
from watchbook.kit.formatting import HTML_LANG


@dataclass(frozen=True)
class Entry:
    """A line of the menu. `key` is what the reader types after g."""

    title: str
    url: str
    icon: str
    key: str
    is_current: bool = False
    is_page: bool = False
    # shows the number of unread entries
    counts_unread: bool = False


class Layout:
    """Values that every page frame uses; each is looked up when a template first uses it."""

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
        return Alert.objects.visible_to(self._request.user).open().count() if counted is None else counted

    @cached_property
    def unread(self) -> str:
        """Unread entries of the inbox, at most "999+"; empty for none and on pages without a user."""
        if not self._request.user.is_authenticated or getattr(self._request, "is_fault", False):
            return ""
        return str(unread_of(self._request) or "")

    @property
    def sources_css(self) -> str:
        return f"{reverse('sources_css')}?v={sources_css().mark}"

    @property
    def examples(self) -> list[str]:
        """Templates with example entries, for pages that are seen before sign-in."""
        return [source.examples for source in registry.sources() if source.examples]

    @property
    def has_mail(self) -> bool:
        """Whether a mail server is set; pages promise no e-mail without one."""
        return bool(settings.EMAIL_HOST)

    @property
    def is_disk_full(self) -> bool:
        return disk_usage().is_full

    @cached_property
    def menu(self) -> list[Entry]:
        return build_menu(self._request)

    @cached_property
    def siblings(self) -> list[Entry]:
        """Tabs of systems that share a menu entry, on their first pages."""
        return build_siblings(self._request.path)


def layout(request: HttpRequest) -> dict[str, Any]:
    return {"layout": Layout(request)}


def build_menu(request: HttpRequest) -> list[Entry]:
    """Home, inbox, the systems in their order, and for operators what keeps them running."""
    here = request.path
    taken = {"h", "i", "o"}
    home, stream = reverse("home"), reverse("stream")
    entries = [
        Entry(gettext("Home"), home, "home", "h", is_current=here == home, is_page=here == home),
        replace(_entry(here, gettext("Inbox"), stream, "inbox", "i"), counts_unread=True),
    ]
    for source in registry.sources():
        if source.home_url and not source.menu_of:
            key = _free_key(source.title, taken)
            # All pages of a system stand under its slug, wherever its menu entry leads.
            under = [f"/{each.slug}/" for each in registry.sources() if source.slug in (each.slug, each.menu_of)]
            entries.append(_entry(here, gettext(source.title), reverse(source.home_url), source.icon, key, *under))
    if getattr(request.user, "is_staff", False):
        tabs = [reverse(name) for name in ("alerts", "people", "audit_log")]
        entries.append(_entry(here, gettext("Operations"), reverse("ops"), "ops", "o", *tabs))
    return entries


def build_siblings(here: str) -> list[Entry]:
    """The first pages of the systems under one menu entry, if this page is one of them and there are several."""
    homes = {source.slug: reverse(source.home_url) for source in registry.sources() if source.home_url}
    current = next((source for source in registry.sources() if homes.get(source.slug) == here), None)
    if current is None:
        return []
    top = current.menu_of or current.slug
    group = [source for source in registry.sources() if top in (source.slug, source.menu_of) and source.slug in homes]
    entries = [_entry(here, gettext(one.title), homes[one.slug], one.icon, "") for one in group]
    return entries if len(entries) > 1 else []


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


class Reader:
    """Sets language, zone and theme of a request. Settings of the account win over those of the browser."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        # Without a session cookie there is no user to load: probes and tokens cost no query.
        known = settings.SESSION_COOKIE_NAME in request.COOKIES and request.user.is_authenticated
        user = request.user if known else None
        if language := formatting.language_of(user):
            translation.activate(language)
            request.LANGUAGE_CODE = translation.get_language()
        request.theme = formatting.theme_of(request, user)  # type: ignore[attr-defined]
        with timezone.override(formatting.zone_of(user)):
            return self.get_response(request)


# Six digits only: a declaration becomes CSS as it is, and our pages name no other notation.
_COLOUR = re.compile(r"#[0-9a-f]{6}")


@dataclass(frozen=True)
class StyleSheet:
    text: str
    mark: str


def sources_css() -> StyleSheet:
    """Return the rules of all systems: `--sys-<slug>` and the class `sys-<slug>` that uses it."""
    rules = [_rules(source) for source in registry.sources() if source.colour]
    text = "".join(rules)
    return StyleSheet(text, hashlib.sha256(text.encode()).hexdigest()[:8])


def _rules(source: registry.Source) -> str:
    colour = source.colour
    if colour is None or not (_COLOUR.fullmatch(colour.light) and _COLOUR.fullmatch(colour.dark)):
        raise LookupError(f"{source.slug}: a colour is written #rrggbb")
    name = f"sys-{source.slug}"
    return f":root {{ --{name}: light-dark({colour.light}, {colour.dark}); }}\n.{name} {{ color: var(--{name}); }}\n"


def _etag(request: HttpRequest) -> str:
    return f'"{sources_css().mark}"'


@login_not_required
@require_safe
@cache_control(max_age=3600, public=True)
@etag(_etag)
def serve_colours(request: HttpRequest) -> HttpResponse:
    return HttpResponse(sources_css().text, content_type="text/css; charset=utf-8")
