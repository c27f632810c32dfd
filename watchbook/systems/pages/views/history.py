"""The history of one page: versions, fields that changed, word diff inline or side by side, and the text at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_safe

from watchbook.core.accounts.audit import export_table
from watchbook.kit import diff, formatting
from watchbook.kit.diff import Segment
from watchbook.kit.lists.exports import FORMATS, Column, Table
from watchbook.kit.lists.shown import FORMAT_TITLES
from watchbook.kit.paging import Page as Listing
from watchbook.kit.paging import keyset, write_cursor
from watchbook.systems.pages.evidence import send, send_shot
from watchbook.systems.pages.models import Page, PageEvidence, PageShot, PageVersion
from watchbook.systems.pages.parse import FIELDS
from watchbook.systems.pages.parse.noise import Mask, Masking, count_words
from watchbook.systems.pages.parse.rules import figure
from watchbook.systems.pages.store.evidence import FATE
from watchbook.systems.pages.store.pages import masking, text_of
from watchbook.systems.pages.store.shots import shot_before
from watchbook.systems.pages.views import field_names, field_title, header_context, own_page, page_badge

VIEWS = ("side", "inline", "text")
VERSIONS = 30


@dataclass(frozen=True)
class FieldRow:
    """A field in both versions; the same value stands once."""

    title: str
    old: tuple[Segment, ...]
    new: tuple[Segment, ...]
    value: str
    is_same: bool
    is_noise: bool
    note: str = ""


@dataclass(frozen=True)
class VersionRow:
    version: PageVersion
    what: str


@require_GET
def page(request: HttpRequest, page_id: int) -> HttpResponseBase:
    found = own_page(request, page_id)
    rows = PageVersion.objects.filter(page=found).defer("data")
    if file := _file(request, found, rows):
        return file
    new = _asked(rows, request)
    listing = _listing(rows, request.GET, new)
    view = request.GET.get("view", "")
    context: dict[str, Any] = {
        **header_context(found.site),
        "page": found,
        "badge": page_badge(found),
        "listing": listing,
        "versions": [VersionRow(version, _what(version)) for version in listing],
        "view": view if view in VIEWS else "side",
        "shows_noise": request.GET.get("noise") == "show",
        "mask": Mask.of(found.mask),
        "formats": FORMAT_TITLES.items(),
    }
    if new is not None:
        before = rows.filter(number__lt=new.number).order_by("-number").first()
        old = _numbered(rows, request.GET.get("from", "")) or before
        context |= _compared(found, old, new, shows_noise=context["shows_noise"])
        following = rows.filter(number__gt=new.number).order_by("number").first()
        context |= {"previous": before, "following": following, "choices": _choices(listing, old, new)}
        context |= _shots(found, old, new)
        context |= {"evidence": PageEvidence.objects.filter(page=found, number=new.number).first()}
    context["fate_evidence"] = PageEvidence.objects.filter(page=found, number=FATE).first()
    return render(request, "pages/page.html", context)


def _asked(rows: QuerySet[PageVersion], request: HttpRequest) -> PageVersion | None:
    """The version with the number `to`, or the one that was current at the end of the day `at`; else the newest."""
    newest = rows.order_by("-number")
    try:
        day = date.fromisoformat(request.GET.get("at", ""))
    except ValueError:
        return _numbered(rows, request.GET.get("to", "")) or newest.first()
    end = datetime.combine(day, time.max, timezone.get_current_timezone())
    found = newest.filter(read_at__lte=end).first()
    if found is None and (first := rows.order_by("number").first()):
        messages.info(request, _("No version is that old. This is the first one."))
        return first
    return found


def _numbered(rows: QuerySet[PageVersion], number: str) -> PageVersion | None:
    is_number = number.isascii() and number.isdigit() and len(number) < 9
    return rows.filter(number=int(number)).first() if is_number else None


def _listing(rows: QuerySet[PageVersion], asked: Mapping[str, Any], new: PageVersion | None) -> Listing[PageVersion]:
    """The newest versions, or those around an older one that is shown."""
    listing = keyset(rows, asked, by="number", size=VERSIONS)
    if new is None or not listing or asked.get("older") or asked.get("newer") or new.number >= listing.items[-1].number:
        return listing
    later = list(rows.filter(number__gt=new.number).order_by("number")[: VERSIONS // 2])
    return keyset(rows, {"older": write_cursor(later[-1], "number")}, by="number", size=VERSIONS)


def _choices(listing: Iterable[PageVersion], *shown: PageVersion | None) -> list[tuple[int, str]]:
    """Versions to compare, each with its time, newest first: those of the list and those that are shown."""
    found = {version.number: version for version in (*listing, *shown) if version}
    named = _("Version %(number)s, %(moment)s")
    return [
        (number, named % {"number": number, "moment": formatting.moment_text(found[number].read_at, "short")})
        for number in sorted(found, reverse=True)
    ]


def _file(request: HttpRequest, page: Page, rows: QuerySet[PageVersion]) -> HttpResponseBase | None:
    """All versions with their fields, without texts."""
    form = request.GET.get("format", "")
    if form not in FORMATS:
        return None
    columns = [Column(name) for name in ("number", "read_at", "status", "size", "text_length")]
    columns += [Column(name) for name in ("words_added", "words_removed")]
    columns.append(Column("changed_fields", lambda version: ", ".join(version.changed_fields)))
    columns += [Column(name, _field(name)) for name in FIELDS if name != "status"]
    table = Table(f"{page.path} versions", columns, rows.order_by("-number").iterator(500))
    return export_table(request, table, form)


def _field(name: str) -> Callable[[PageVersion], str]:
    return lambda version: str(version.fields.get(name, ""))


@require_safe
def evidence(request: HttpRequest, page_id: int, number: int, form: str) -> HttpResponseBase:
    """Download what was sent and received with one version."""
    return send(own_page(request, page_id), number, form)


@require_safe
def screenshot(request: HttpRequest, page_id: int, number: int, show: str) -> HttpResponseBase:
    """Show the screenshot of one version, or what differs from the one before."""
    return send_shot(request, own_page(request, page_id), number, show)


def _shots(page: Page, old: PageVersion | None, new: PageVersion) -> dict[str, Any]:
    """Screenshots of both versions; the difference only if it is that of these two."""
    numbers = [version.number for version in (old, new) if version]
    shots = {shot.number: shot for shot in PageShot.objects.filter(page=page, number__in=numbers)}
    now = shots.get(new.number)
    then = shots.get(old.number) if old else None
    is_pair = now is not None and then is not None and shot_before(page, now.number) == then
    return {"shot": now, "old_shot": then, "has_difference": is_pair and bool(now and now.difference)}


def _what(version: PageVersion) -> str:
    """What a version changed, in a few words."""
    if version.is_restart:
        return _("other selectors, not a change of the page")
    named = field_names(version.changed_fields)
    counted = (("+", version.words_added), ("−", version.words_removed))
    words = " ".join(f"{sign}{formatting.number_text(count)}" for sign, count in counted if count)
    return ", ".join(filter(None, [named, words if version.number > 1 else ""]))


def _compared(found: Page, old: PageVersion | None, new: PageVersion, *, shows_noise: bool) -> dict[str, Any]:
    mask = Mask.of(found.mask)
    masked = Masking(Mask()) if shows_noise else masking(found.site, mask)
    new_text = masked.text(text_of(new))
    if old is None:
        rows = field_rows({}, new.fields, Mask())
        return {"old": None, "new": new, "text": new_text, "fields": rows, "size": _size(None, new)}
    compared = diff.compare(masked.text(text_of(old)), new_text)
    rows = field_rows(old.fields, new.fields, mask)
    return {
        "old": old,
        "new": new,
        "text": new_text,
        "diff": compared,
        "fields": rows,
        "size": _size(old, new),
        "changed_count": sum(not row.is_same for row in rows),
        "words": _words(compared),
    }


def field_rows(old: dict[str, str], new: dict[str, str], mask: Mask) -> list[FieldRow]:
    """Changed fields first, then those that stayed: no change is an answer, too."""
    rows = []
    for name in FIELDS:
        was, now = old.get(name, ""), new.get(name, "")
        if not was and not now:
            continue
        if name == "price":
            was, now = (f"{price} {of.get('currency', '')}".strip() for price, of in ((was, old), (now, new)))
        pieces = diff.segments(was, now) if was != now and old else ()
        rows.append(
            FieldRow(
                field_title(name),
                tuple(piece for piece in pieces if piece.kind != diff.ADDED),
                tuple(piece for piece in pieces if piece.kind != diff.REMOVED),
                now,
                is_same=was == now or not old,
                is_noise=name in mask.fields,
                note=_percent(was, now) if name == "price" and old else "",
            )
        )
    return sorted(rows, key=lambda row: row.is_same)


def _size(old: PageVersion | None, new: PageVersion) -> str:
    """The size of the document. It differs with every advertisement, so it makes no version."""
    was, now = formatting.size_text(old.size) if old else "", formatting.size_text(new.size)
    return f"{was} → {now}" if old and was != now else now


def _percent(was: str, now: str) -> str:
    """How much a price rose or fell."""
    before, after = figure(was), figure(now)
    if not before or after is None or before == after:
        return ""
    return f"{(after - before) / before:+.1%}".replace("-", "−")


def _words(compared: diff.Difference) -> dict[str, int]:
    pieces = [piece for paragraph in compared.paragraphs for piece in paragraph.segments]
    return {
        "added": sum(count_words(piece.text) for piece in pieces if piece.kind == diff.ADDED),
        "removed": sum(count_words(piece.text) for piece in pieces if piece.kind == diff.REMOVED),
    }
