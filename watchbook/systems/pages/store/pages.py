"""Stores what a reading of a page found: a version, nothing new, a failure, or what became of a URL that left.

Texts of versions: each as the difference to the one before, and every tenth whole.

zstd with the text before as dictionary: measured 60 to 120 bytes for an edited sentence in a page of 6,000 characters.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.urls import reverse

from watchbook.base.text import cut
from watchbook.base.web.response import Validators
from watchbook.base.work import crash_point
from watchbook.core.registry import Attributes
from watchbook.core.search import index
from watchbook.core.stream.entries import Entry, record
from watchbook.kit import diff
from watchbook.systems.pages import schedule
from watchbook.systems.pages.models import (
    RETURNING,
    WHOLE_EVERY,
    Fate,
    Mode,
    Page,
    PageEvent,
    PageVersion,
    Result,
    Site,
    named_fields,
)
from watchbook.systems.pages.parse import FIELDS, PageRecord, Selectors
from watchbook.systems.pages.parse.headers import is_noindex
from watchbook.systems.pages.parse.noise import Mask, Masking, count_words
from watchbook.systems.pages.store import counts
from watchbook.systems.pages.store.lists import add_to_day

LEVEL = 9
LONGEST = 8_000_000


def pack(text: str, before: str | None) -> bytes:
    return bytes(_compressor(before).compress(text.encode("utf-8")))


def unpack(data: bytes, before: str | None) -> str:
    import zstandard  # only where texts are read

    reader = zstandard.ZstdDecompressor(dict_data=_dictionary(before)) if before else zstandard.ZstdDecompressor()
    return bytes(reader.decompress(bytes(data), max_output_size=LONGEST)).decode("utf-8")


def _compressor(before: str | None) -> Any:
    import zstandard  # only where texts are written

    if not before:
        return zstandard.ZstdCompressor(level=LEVEL)
    return zstandard.ZstdCompressor(level=LEVEL, dict_data=_dictionary(before))


def _dictionary(before: str | None) -> Any:
    import zstandard

    return zstandard.ZstdCompressionDict((before or "").encode("utf-8"), dict_type=zstandard.DICT_TYPE_RAWCONTENT)


def text_of(version: PageVersion) -> str:
    """Return the text of a version: from the last whole one forward. One query."""
    return texts_of(version.page_id, version.number).get(version.number, "")


def texts_of(page_id: int, number: int) -> dict[int, str]:
    """Return the texts of a version and of those that it is made of."""
    rows = PageVersion.objects.filter(page=page_id, number__lte=number).order_by("-number")
    chain: list[tuple[int, Any, bool]] = []
    for found in rows.values_list("number", "data", "is_whole")[: WHOLE_EVERY + 1]:
        chain.append(found)
        if found[2]:
            break
    texts: dict[int, str] = {}
    before: str | None = None
    for each, data, is_whole in reversed(chain):
        before = texts[each] = unpack(data, None if is_whole else before)
    return texts


def newest(page: Page) -> tuple[PageVersion | None, str]:
    """Return the newest version of a page with its text."""
    version = PageVersion.objects.filter(page=page).order_by("-number").first()
    return (version, text_of(version)) if version else (None, "")


def chain_length(page_id: int) -> int:
    """Return how many versions came since the last whole one."""
    rows = PageVersion.objects.filter(page=page_id).order_by("-number").values_list("is_whole", flat=True)
    recent = list(rows[:WHOLE_EVERY])
    return recent.index(True) if True in recent else len(recent)


SOURCE, KIND = "pages", "web_page"
DIFF_BUDGET = 300_000
NO_SELECTORS = Selectors()


def page_path(page: Page) -> str:
    return reverse("pages:page", args=[page.pk])


def store_same(site: Site, page: Page, *, now: datetime, mask: Mask | None = None, requests: int = 0) -> None:
    """The page is as it was; a newly learned mask is kept."""
    page.looks += 1
    if mask is not None:
        page.mask = mask.as_json()
    page.error, page.failures, page.last_read_at, page.last_tried_at = "", 0, now, now
    page.result = result_of(page.status, is_redirect=page.result == Result.REDIRECT)
    _plan(site, page, now)
    _save(page, [
        "looks", "mask", "error", "failures", "last_read_at", "last_tried_at", "result", "next_at", "priority",
        "weight",
    ])  # fmt: skip
    add_to_day(site, now, looks=1, requests=requests)


def store_version(
    site: Site,
    page: Page,
    found: PageRecord,
    *,
    now: datetime,
    mask: Mask,
    validators: Validators,
    before: tuple[PageVersion | None, str],
    is_redirect: bool,
    requests: int = 0,
    selectors: Selectors = NO_SELECTORS,
) -> PageVersion:
    """Keep a version, bring search up to date and record the change. Other selectors make no change of the page."""
    old, old_text = before
    is_change = old is not None and old.selectors == selectors.digest
    version = _version(page, found, now, mask, site, old, old_text, is_change=is_change)
    version.selectors, version.is_restart = selectors.digest, old is not None and not is_change
    version.save(force_insert=True)
    crash_point("pages.version.saved")
    page.looks += 1
    page.version_count = version.number
    page.changes += 1 if is_change else 0
    if is_change or (old is None and not page.is_baseline):
        page.changed_at = now
    page.words_added, page.words_removed = version.words_added, version.words_removed
    page.changed_fields = version.changed_fields
    if title := found.fields.get("title") or found.fields.get("h1", ""):
        page.title = cut(title, 500)
    page.status, page.is_noindex = version.status, is_noindex(found.fields.get("robots", ""))
    page.result = result_of(version.status, is_redirect=is_redirect)
    page.error, page.failures, page.last_read_at, page.last_tried_at = "", 0, now, now
    page.etag, page.last_modified = validators.etag or "", (validators.last_modified or "")[:100]
    page.mask = mask.as_json()
    _plan(site, page, now)
    _save(page)
    index.put([_document(site, page, found, now)])
    if is_change:
        record([_entry(site, page, version)])
        PageEvent.objects.create(
            site=site, page=page, kind=PageEvent.CHANGED, version=version.number, fields=named_fields(version), at=now
        )
        counts.add_to_sections(site, now, [page.section], "changed")
    add_to_day(site, now, looks=1, requests=requests, changed=1 if is_change else 0)
    return version


def _save(page: Page, columns: list[str] | None = None) -> None:
    with counts.changing(Page.objects.filter(pk=page.pk)):
        page.save(update_fields=columns)


def _version(
    page: Page,
    found: PageRecord,
    now: datetime,
    mask: Mask,
    site: Site,
    old: PageVersion | None,
    old_text: str,
    *,
    is_change: bool,
) -> PageVersion:
    is_whole = old is None or chain_length(page.pk) >= WHOLE_EVERY - 1
    added, removed = word_changes(site, mask, old_text, found.text) if is_change or old is None else (0, 0)
    fields = {name: found.fields[name] for name in FIELDS if found.fields.get(name)}
    return PageVersion(
        page=page,
        number=(old.number if old else 0) + 1,
        read_at=now,
        status=int(found.fields.get("status", "200").split(" ")[0]),
        fields=fields,
        size=found.size,
        data=pack(found.text, None if is_whole else old_text),
        is_whole=is_whole,
        text_length=len(found.text),
        words_added=added,
        words_removed=removed,
        changed_fields=changed_fields(old.fields, fields, mask) if old and is_change else [],
    )


def masking(site: Site, mask: Mask) -> Masking:
    return Masking(mask, site.boilerplate) if site.masks_noise else Masking(Mask())


def word_changes(site: Site, mask: Mask, old: str, new: str) -> tuple[int, int]:
    """Return how many words came and went, without noise."""
    masked = masking(site, mask)
    found = diff.compare(masked.text(old), masked.text(new), budget=DIFF_BUDGET)
    if found.is_too_large:
        return count_words(new), count_words(old)
    pieces = [piece for paragraph in found.paragraphs for piece in paragraph.segments]
    added = sum(count_words(piece.text) for piece in pieces if piece.kind == diff.ADDED)
    return added, sum(count_words(piece.text) for piece in pieces if piece.kind == diff.REMOVED)


def changed_fields(old: Mapping[str, str], new: Mapping[str, str], mask: Mask) -> list[str]:
    names = [name for name in FIELDS if name not in mask.fields]
    return [name for name in names if old.get(name, "") != new.get(name, "")]


def result_of(status: int | None, *, is_redirect: bool) -> str:
    if status is None:
        return Result.UNREAD
    if status in (404, 410):
        return Result.MISSING
    return Result.REDIRECT if is_redirect else Result.OK


def store_failure(
    site: Site, page: Page, message: str, *, now: datetime, is_blocked: bool, is_outage: bool = False, requests: int = 0
) -> None:
    """Record why a page could not be read. Versions and what is known of the page stay as they are."""
    page.result = Result.BLOCKED if is_blocked else Result.FAILED
    page.error, page.last_tried_at = cut(message, 300), now
    # In an outage the page is not at fault: its attempts are not counted.
    page.failures += 0 if is_outage else 1
    page.next_at = now + schedule.retry_after(page.failures)
    _save(page, ["result", "error", "last_tried_at", "failures", "next_at"])
    add_to_day(site, now, failed=1, requests=requests)


def store_fate(
    site: Site, page: Page, fate: str, *, now: datetime, status: int | None, moved_to: str = "", requests: int = 0
) -> None:
    """Record what became of a URL that left its list."""
    page.fate, page.moved_to, page.changed_at = fate, moved_to, now
    page.status = status or page.status
    page.result = {Fate.GONE: Result.MISSING, Fate.MOVED: Result.REDIRECT}.get(Fate(fate), Result.OK)
    page.next_at, page.error, page.failures, page.last_tried_at = None, "", 0, now
    _save(page, [
        "fate", "moved_to", "changed_at", "status", "result", "next_at", "error", "failures", "last_tried_at",
    ])  # fmt: skip
    record([_fate_entry(site, page)])
    PageEvent.objects.create(site=site, page=page, kind=fate, at=now)
    counts.add_to_sections(site, now, [page.section], "removed")
    add_to_day(site, now, requests=requests, **{str(Fate(fate).value): 1})


def _plan(site: Site, page: Page, now: datetime) -> None:
    """Set the next look: a fixed interval, the rate of change, or none until the list says that it changed."""
    page.priority = RETURNING
    watched = (now - page.first_seen_at) / timedelta(days=1)
    page.weight = schedule.weight(page.changes, watched)
    if page.is_excluded:
        page.next_at = None
    elif page.interval_minutes:
        page.next_at = now + timedelta(minutes=page.interval_minutes)
    elif site.mode == Mode.ALL and page.is_listed:
        total = max(site.total_weight, page.weight)
        page.next_at = now + schedule.interval(page.weight, total, site.daily_requests)
    else:
        page.next_at = None


def _document(site: Site, page: Page, found: PageRecord, now: datetime) -> index.Document:
    parts = [found.fields.get("description", ""), masking(site, Mask.of(page.mask)).text(found.text), page.url]
    return index.Document(
        kind=KIND, object_id=str(page.pk), scope=site.scope, title=page.title or page.path, body="\n".join(parts),
        url_path=page_path(page), occurred_at=now, source=SOURCE, attributes=Attributes(site=page.url),
    )  # fmt: skip


def search_attributes(kind: str, ids: Collection[str]) -> dict[str, Attributes]:
    """Return the website of stored pages."""
    numbers = [int(each) for each in ids if each.isdecimal()] if kind == KIND else []
    return {str(pk): Attributes(site=url) for pk, url in Page.objects.filter(pk__in=numbers).values_list("pk", "url")}


def _entry(site: Site, page: Page, version: PageVersion) -> Entry:
    delta = f"+{version.words_added} −{version.words_removed}"
    named = ", ".join(version.changed_fields)
    return Entry(
        source=SOURCE, kind="changed", title=page.title or page.path, summary=f"{page.path}: {named or delta}",
        url_path=f"{page_path(page)}?to={version.number}", scope=site.scope, object_kind=KIND, object_id=str(page.pk),
        occurred_at=version.read_at, event_key=str(version.number),
        data={"url": page.url, "version": version.number, "fields": version.changed_fields,
              "words_added": version.words_added, "words_removed": version.words_removed, "site": site.pk},
    )  # fmt: skip


def _fate_entry(site: Site, page: Page) -> Entry:
    target = f" → {page.moved_to}" if page.moved_to else ""
    return Entry(
        source=SOURCE, kind=page.fate, title=page.title or page.path, summary=f"{page.path}{target}",
        url_path=page_path(page), scope=site.scope, object_kind=KIND, object_id=str(page.pk),
        occurred_at=page.changed_at, event_key=f"{page.fate}@{page.changed_at:%Y%m%dT%H%M%S}",
        data={"url": page.url, "moved_to": page.moved_to, "site": site.pk},
    )  # fmt: skip
