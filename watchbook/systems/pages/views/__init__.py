"""Pages of the pages system. Here: what all of them share, labels, and the tab beside a list."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from watchbook.base import clock
from watchbook.core.accounts.access import person_of
from watchbook.core.accounts.models import User
from watchbook.core.url_lists import Tab
from watchbook.kit import badges, formatting
from watchbook.kit.badges import Badge
from watchbook.systems.pages.filters import FIELD_TITLES, up_to
from watchbook.systems.pages.health import site_health
from watchbook.systems.pages.models import Page, PageEvent, Site
from watchbook.systems.pages.store import counts
from watchbook.systems.pages.store.lists import requests_left


def field_title(name: str) -> str:
    return str(FIELD_TITLES.get(name, name))


def field_names(names: list[str]) -> str:
    """Titles of changed fields in one line."""
    return ", ".join(field_title(name).lower() if not formatting.is_chinese() else field_title(name) for name in names)


def page_badge(page: Page) -> Badge:
    """The state of a page: what became of it if it left the list, else its last answer."""
    if not page.is_listed and page.fate:
        return badges.find("web_page", page.fate)
    found = badges.find("web_page", page.result)
    if page.result == "ok" and page.status and page.status != 200:
        return Badge(str(page.status), found.tone, found.shape)
    if page.result in ("redirect", "missing") and page.status:
        return Badge(f"{page.status} {found.text}", found.tone, found.shape)
    return found


def own_site(request: HttpRequest, site_id: int) -> Site:
    return get_object_or_404(Site.objects.of(person_of(request)), pk=site_id)


def own_page(request: HttpRequest, page_id: int) -> Page:
    rows = Page.objects.of(person_of(request)).select_related("site", "site__user")
    return get_object_or_404(rows, pk=page_id)


def header_context(site: Site, tab: str = "") -> dict[str, Any]:
    """What every page about one website shows on top."""
    now = clock.now()
    left = requests_left(site, now)
    return {
        "site": site,
        "tab": tab,
        "state": site_health(site, now),
        "requests_today": site.daily_requests - left,
        "event_count": up_to(PageEvent.objects.filter(site=site)),
        "is_single": not site.list_name,
        "now": now,
    }


def list_tab(user: User, name: str) -> Tab:
    """The tab beside a list of another system: its pages, or the form that begins to read them."""
    site = Site.objects.of(user).filter(list_name=name).first()
    if site is None:
        return Tab(_("Web pages"), f"{reverse('pages:add')}?list={name}")
    return Tab(_("Web pages"), reverse("pages:site", args=[site.pk]), counts.of_site(site).read)


def pages_text(count: int) -> str:
    return ngettext("%(n)s page", "%(n)s pages", count) % {"n": formatting.number_text(count)}
