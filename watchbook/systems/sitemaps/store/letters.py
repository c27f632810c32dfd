"""The letter of a change: what changed in words, then the pages by the sections of the site."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from urllib.parse import unquote, urlsplit

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from watchbook.core import registry
from watchbook.core.notify.rules import Rule
from watchbook.kit.letter import Counts, Item, Letter, Link, Section
from watchbook.systems.sitemaps.compare import ADDED, REMOVED, Difference
from watchbook.systems.sitemaps.models import ChangeRecord, MonitorTask
from watchbook.systems.sitemaps.records import lastmod_text
from watchbook.systems.sitemaps.store.lists import Noise

# Pages that are sorted into sections; of a larger change the rest is counted only.
SCANNED = 20_000
SECTIONS, PER_SECTION, LISTED = 8, 20, 60

Entry = tuple[str, dict[str, str | None]]


@dataclass
class _Group:
    counts: Counter[str] = field(default_factory=Counter)
    items: list[Item] = field(default_factory=list)


def subject_of(name: str, counts: Counts) -> str:
    return _("%(name)s: %(event)s") % {"name": name, "event": event_text(counts)}


def event_text(counts: Counts) -> str:
    """Return the counts in words: 6 new pages, 1 removed, 3 updated."""
    added, removed, modified = counts.added, counts.removed, counts.updated
    parts = []
    if added:
        parts.append(ngettext("%(n)s new page", "%(n)s new pages", added) % {"n": f"{added:,}"})
    if removed:
        words = _("%(n)s removed") if parts else ngettext("%(n)s page removed", "%(n)s pages removed", removed)
        parts.append(words % {"n": f"{removed:,}"})
    if modified:
        words = _("%(n)s updated") if parts else ngettext("%(n)s page updated", "%(n)s pages updated", modified)
        parts.append(words % {"n": f"{modified:,}"})
    return _(", ").join(parts)


def change_letter(
    monitor: MonitorTask,
    record: ChangeRecord,
    difference: Difference,
    noise: Noise,
    counts: Counts,
    links: dict[str, str],
    rule: Rule,
) -> Letter:
    """Return the letter of a change; `links` has the addresses of the change and of the monitor."""
    sections, listed = _sections(_entries(difference, noise, counts, rule), links["change"])
    return Letter(
        title=subject_of(monitor.name, counts),
        name=monitor.name,
        lead=tuple(_lead(monitor, record, noise, counts)),
        counts=counts,
        button=Link(_("See the difference"), links["change"]),
        sections=_titled(sections, monitor),
        after=tuple(_after(monitor, noise, sum((counts.added, counts.removed, counts.updated)) - listed, links)),
    )


def _entries(difference: Difference, noise: Noise, counts: Counts, rule: Rule) -> Iterator[Entry]:
    """New before updated before removed, without what the rule leaves out."""
    found = chain(
        (("+", item) for item in difference.items(ADDED) if counts.added),
        (("~", item) for item in noise.notified if counts.updated),
        (("−", item) for item in difference.items(REMOVED) if counts.removed),
    )
    return (entry for entry in found if rule.admits(str(entry[1]["url"])))


def _lead(monitor: MonitorTask, record: ChangeRecord, noise: Noise, counts: Counts) -> Iterator[str]:
    yield _("Watchbook compared %(address)s with the check before.") % {"address": monitor.sitemap_url}
    if any(note["code"] == "confirmed_in_2_checks" for note in record.notes):
        yield _("Confirmed in 2 checks.")
    if noise.restamp and counts.updated:
        yield ngettext(
            "Bulk date update: %(count)d page set to %(lastmod)s",
            "Bulk date update: %(count)d pages set to %(lastmod)s",
            noise.restamp.count,
        ) % {"count": noise.restamp.count, "lastmod": noise.restamp.lastmod}


def _after(monitor: MonitorTask, noise: Noise, missing: int, links: dict[str, str]) -> Iterator[Link]:
    if missing > 0:
        words = ngettext("%(n)s more page is not listed here.", "%(n)s more pages are not listed here.", missing)
        yield Link(words % {"n": f"{missing:,}"}, links["change"])
    if noise.noisy_count and monitor.tell_modified:
        words = ngettext(
            "%(count)d frequently changing URL is not listed here.",
            "%(count)d frequently changing URLs are not listed here.",
            noise.noisy_count,
        )
        yield Link(words % {"count": noise.noisy_count}, f"{links['change']}?kind=noise")
    yield Link(_("Open monitor"), links["monitor"])


def _sections(entries: Iterable[Entry], change_url: str) -> tuple[tuple[Section, ...], int]:
    """Return the largest sections with their first pages, and how many pages they represent."""
    groups: dict[str, _Group] = {}
    listed = 0
    for sign, entry in islice(entries, SCANNED):
        url = str(entry["url"])
        group = groups.setdefault(_section_of(url), _Group())
        group.counts[sign] += 1
        if len(group.items) < PER_SECTION and listed < LISTED:
            group.items.append(_item(sign, url, entry))
            listed += 1
    largest = sorted(groups.items(), key=lambda pair: -pair[1].counts.total())[:SECTIONS]
    shown = [(path, group) for path, group in largest if group.items]
    return (
        tuple(_section(path, group, change_url) for path, group in shown),
        sum(group.counts.total() for _path, group in shown),
    )


def _titled(sections: tuple[Section, ...], monitor: MonitorTask) -> tuple[Section, ...]:
    """Put in the titles of pages that were read before."""
    known = registry.page_titles([item.url for section in sections for item in section.items], monitor.user)
    return tuple(
        replace(section, items=tuple(replace(item, title=known.get(item.url, item.title)) for item in section.items))
        for section in sections
    )


def _section(path: str, group: _Group, change_url: str) -> Section:
    return Section(
        title=unquote(path).strip("/").replace("-", " ").replace("_", " ").capitalize() or _("Top level"),
        note=path,
        counts=Counts(group.counts["+"], group.counts["−"], group.counts["~"]),
        items=tuple(group.items),
        more=group.counts.total() - len(group.items),
        more_url=change_url,
    )


def _section_of(url: str) -> str:
    parts = urlsplit(url).path.split("/")
    return f"/{parts[1]}/" if len(parts) > 2 and parts[1] else "/"


def _item(sign: str, url: str, entry: dict[str, str | None]) -> Item:
    note = ""
    if sign == "~" and entry.get("new_lastmod"):
        note = _("modified %(new)s, before %(old)s") % {
            "new": lastmod_text(entry["new_lastmod"], "full"),
            "old": lastmod_text(entry.get("old_lastmod"), "full"),
        }
    return Item(title=entry.get("title") or path_title(url), url=url, sign=sign, note=note)


def path_title(url: str) -> str:
    """Return the path of a page whose title is unknown."""
    parts = urlsplit(url)
    path = unquote(parts.path) + (f"?{parts.query}" if parts.query else "")
    return path if path not in ("", "/") else parts.netloc
