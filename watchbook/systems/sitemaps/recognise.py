"""Recognises websites, sitemaps and feeds; every other address counts as a website."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import unquote, urlsplit
from uuid import UUID

from django.db import transaction
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from watchbook.base.invalid import InvalidInput
from watchbook.base.web.address import check_url
from watchbook.base.web.rate_limit import DEFAULT_SPACING
from watchbook.core.accounts.models import User
from watchbook.core.sources.records import (
    CHANGED,
    LIKELY,
    NEW,
    NOTIFY,
    REMOVED,
    Added,
    AddError,
    Choice,
    Found,
    Item,
    Link,
    Offer,
    Pasted,
    Pick,
    Refusal,
)
from watchbook.kit.formatting import number_text, span_text
from watchbook.systems.sitemaps import actions
from watchbook.systems.sitemaps.forms import name_of
from watchbook.systems.sitemaps.jobs.discover import CANNOT_READ, Listed, Site, discover, newest_of
from watchbook.systems.sitemaps.jobs.read import Preview, SiteFound, preview_address
from watchbook.systems.sitemaps.models import MonitorTask, url_digest
from watchbook.systems.sitemaps.parse.lastmod import DAY, read_lastmod
from watchbook.systems.sitemaps.parse.records import UrlRecord
from watchbook.systems.sitemaps.records import error_message, error_text, lastmod_text
from watchbook.systems.sitemaps.views import kind_text

WEBSITE, SITEMAP, FEED = "website", "sitemap", "feed"
FREQUENCIES, FREQUENCY = (15, 60, 360, 720, 1440), 60
DAY_SECONDS = 86_400
_SITEMAP = re.compile(r"sitemap|\.xml(?:\.gz)?\Z|\.txt\Z", re.IGNORECASE)
_FEED = re.compile(r"(?:\A|[/._-])(?:feeds?|rss|atom)(?:[/._-]|\Z)|\.(?:rss|atom|rdf)\Z", re.IGNORECASE)
_FILE_WORDS = re.compile(r"(?:wp-)?site-?maps?|index|\.xml|\.gz|\.txt|\.php|[-_./]+", re.IGNORECASE)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read(pasted: Pasted) -> Found | Refusal | None:
    if not pasted.url:
        return None
    url = check_url(pasted.url).url
    notes = (_("Read as %(url)s") % {"url": url},) if pasted.is_repaired else ()
    kind = FEED if _FEED.search(pasted.path) else SITEMAP if _SITEMAP.search(pasted.path) else WEBSITE
    titles = {FEED: _("Feed: %(host)s"), SITEMAP: _("Sitemap: %(host)s"), WEBSITE: _("Website: %(host)s")}
    icon = "globe" if kind == WEBSITE else "feed" if kind == FEED else "sitemap"
    return Found(kind, url, titles[kind] % {"host": name_of(url)}, icon, url, notes, LIKELY)


def offer(user: User, found: Found) -> Offer:
    site = discover(found.key)
    if not site.read:
        return _nothing_found(found, site)
    picks = tuple(_pick(user, site, one) for one in site.lists)
    is_known = all(pick.exists for pick in picks)
    newest = newest_of(site)
    return Offer(
        _title(found, site),
        facts=_facts(site),
        picks=picks,
        items=tuple(_item(record, site) for record in newest),
        items_note=_items_note(site, newest),
        problem=error_text(site.problem),
        why_not=_("You already watch everything that was found here.") if is_known else "",
        code="exists" if is_known else "",
        exists=picks[0].exists if is_known else None,
        frequencies=FREQUENCIES,
        frequency=FREQUENCY,
        frequency_note=_("An unchanged file costs one short request."),
        notify=NOTIFY,
        first_note=_("The first check starts now. It sends no notifications."),
        limit_per_day=_limit(site)[0],
        limit_note=_limit(site)[1],
    )


def _nothing_found(found: Found, site: Site) -> Offer:
    """Say what was read and why nothing can be watched."""
    problems = [error_text(one.problem) for one in site.lists if one.problem]
    problem = error_text(site.problem) or " ".join(problems[:1])
    words = _("No sitemap and no feed was found. Paste the address of a sitemap or feed if you know one.")
    why = problem if site.problem and not site.tried else words
    facts = (_("tried: %(paths)s") % {"paths": ", ".join(site.tried)},) if site.tried else ()
    shown = problem if problem != why else ""
    return Offer(_title(found, site), facts=facts, problem=shown, why_not=why, code=site.code or "nothing_found")


def _title(found: Found, site: Site) -> str:
    only = site.lists[0] if len(site.lists) == 1 and site.lists[0].url == found.key else None
    if only is not None:
        return f"{kind_text(only.kind)}: {name_of(found.key)}"
    return _("Website: %(host)s") % {"host": site.title or name_of(found.key)}


def _facts(site: Site) -> tuple[str, ...]:
    facts = [urlsplit(site.url).netloc]
    if site.robots is None:
        facts.append(_("no robots.txt"))
    elif site.robots.sitemaps:
        count = len(site.robots.sitemaps)
        facts.append(
            ngettext("robots.txt lists %(n)s sitemap", "robots.txt lists %(n)s sitemaps", count) % {"n": count}
        )
    if site.left_out:
        words = ngettext("%(n)s more list not shown", "%(n)s more lists not shown", site.left_out)
        facts.append(words % {"n": number_text(site.left_out)})
    return tuple(facts)


def _pick(user: User, site: Site, one: Listed) -> Pick:
    known = MonitorTask.objects.of(user).filter(live_url_digest=url_digest(check_url(one.url).url)).first()
    has_sitemap = any(other.kind and not other.is_feed for other in site.lists)
    is_same_host = urlsplit(one.url).netloc == urlsplit(site.url).netloc
    return Pick(
        one.url,
        _pick_title(one),
        _pick_detail(site, one),
        unquote(urlsplit(one.url).path) if is_same_host else one.url,
        requests=1 + one.files,
        is_ticked=bool(one.kind) and not (one.is_feed and has_sitemap),
        exists=Link(known.name, reverse("sitemaps:monitor", args=[known.pk])) if known else None,
        data={"kind": one.kind, "url_count": one.count, "child_count": one.files, "is_complete": one.is_complete},
    )


def _pick_title(one: Listed) -> str:
    words = one.title or " ".join(_FILE_WORDS.sub(" ", urlsplit(one.url).path.rpartition("/")[2]).split())
    kind = _("Feed") if one.is_feed or (one.title and not one.kind) else _("Sitemap")
    return pgettext("list", "%(kind)s: %(words)s") % {"kind": kind, "words": words} if words else kind


def _pick_detail(site: Site, one: Listed) -> str:
    if not one.kind:
        return error_text(one.problem) or _("not read yet")
    parts = []
    if one.files > 1:
        parts.append(_("%(n)s files") % {"n": number_text(one.files)})
    else:
        words = ngettext("%(n)s page", "%(n)s pages", one.count)
        parts.append(words % {"n": number_text(one.count)})
    if one.newest and one.newest[0].lastmod and (when := lastmod_text(one.newest[0].lastmod)):
        parts.append(_("newest %(when)s") % {"when": when})
    if one.is_feed and one.urls and any(one.urls <= other.urls for other in site.lists if other is not one):
        parts.append(_("all of them also in a sitemap"))
    if not one.is_complete:
        parts.append(_("not read completely"))
    if one.problem:
        parts.append(error_text(one.problem))
    return pgettext("list", ", ").join(parts)


def _item(record: UrlRecord, site: Site) -> Item:
    parts = urlsplit(record.url)
    place = unquote(parts.path) + (f"?{parts.query}" if parts.query else "")
    title = site.titles.get(record.url, "")
    moment = read_lastmod(record.lastmod) if record.lastmod else None
    at = _EPOCH + timedelta(microseconds=moment.nanoseconds // 1000) if moment else None
    if at and moment and moment.precision <= DAY:
        return Item(title or place, place if title else "", record.url, at.date())
    return Item(title or place, place if title else "", record.url, at)


def _items_note(site: Site, newest: list[UrlRecord]) -> str:
    if not newest:
        return ""
    total = number_text(sum(one.count for one in site.lists if not one.is_feed) or sum(one.count for one in site.lists))
    if not any(record.lastmod for record in newest):
        return _("%(n)s of %(total)s pages, read just now") % {"n": len(newest), "total": total}
    if any(one.files > 1 for one in site.lists):
        return _("the newest of the files that were read just now")
    return _("the newest of %(total)s pages, read just now") % {"total": total}


def _limit(site: Site) -> tuple[int, str]:
    delay = site.robots.crawl_delay_seconds if site.robots else None
    if not delay:
        words = _("Watchbook sends at most one request every %(span)s to a site.")
        return 0, words % {"span": span_text(DEFAULT_SPACING)}
    words = _("The limit of this site is one request every %(span)s, from its robots.txt.")
    return int(DAY_SECONDS / delay), words % {"span": span_text(delay)}


def add(user: User, found: Found, choice: Choice) -> list[Added]:
    """Add a monitor for each list. What is watched already is skipped; all or none of the others are added."""
    previews = {url: _preview(url, data) for url, data in choice.picks.items()}
    made: list[Added] = []
    known: InvalidInput | None = None
    with transaction.atomic():
        for url, preview in previews.items():
            try:
                monitor, _found = actions.add_monitor(user, _values(found, choice, url), preview)
            except InvalidInput as error:
                if error.code != "already_watched":
                    raise AddError(error.message) from None
                known = error
                continue
            kind = FEED if preview.kind in ("rss", "atom", "rdf") else SITEMAP
            made.append(Added(kind, monitor.name, reverse("sitemaps:monitor", args=[monitor.pk])))
    if not made and known is not None:
        raise AddError(known.message, "exists", url=_known_url(user, next(iter(previews))))
    return made


def _preview(url: str, data: Mapping[str, Any]) -> Preview:
    """Return what was read, or read the address now if there was no time for it."""
    if data.get("kind"):
        return Preview(url=check_url(url).url, notes=[], **data)
    try:
        return preview_address(url)
    except SiteFound:
        raise AddError(_("%(url)s is a web page, not a sitemap.") % {"url": url}) from None
    except CANNOT_READ as error:
        raise AddError(f"{url}: {error_text(error_message(error))}") from None


def _values(found: Found, choice: Choice, url: str) -> dict[str, object]:
    name = choice.name or name_of(found.key)
    words = " ".join(_FILE_WORDS.sub(" ", urlsplit(url).path.rpartition("/")[2]).split())
    ids: list[UUID] = [channel.pk for channel in choice.channels]
    return {
        "name": f"{name}: {words}" if len(choice.picks) > 1 and words else name,
        "sitemap_url": url,
        "check_interval_minutes": choice.frequency,
        "channel_ids": ids,
        "tell_added": NEW in choice.notify,
        "tell_modified": CHANGED in choice.notify,
        "tell_removals": REMOVED in choice.notify,
    }


def _known_url(user: User, url: str) -> str:
    known = MonitorTask.objects.of(user).filter(live_url_digest=url_digest(check_url(url).url)).first()
    return reverse("sitemaps:monitor", args=[known.pk]) if known else reverse("sitemaps:monitors")
