"""The history of one page: versions, fields that changed, word diff inline or side by side, and the text at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_safe

from watchbook.kit import diff, formatting
from watchbook.kit.diff import Segment
from watchbook.systems.pages.evidence import send, send_shot
from watchbook.systems.pages.models import Page, PageEvidence, PageShot, PageVersion
from watchbook.systems.pages.parse import FIELDS
from watchbook.systems.pages.parse.noise import Mask, Masking, count_words
from watchbook.systems.pages.store.evidence import FATE
from watchbook.systems.pages.store.pages import masking, text_of
from watchbook.systems.pages.store.shots import shot_before
from watchbook.systems.pages.views import field_names, field_title, header_context, own_page, page_badge

VIEWS = ("side", "inline", "text")
VERSIONS = 200


@dataclass(frozen=True)
class FieldRow:
    """A field in both versions; the same value stands once."""

    title: str
    old: tuple[Segment, ...]
    new: tuple[Segment, ...]
    value: str
    is_same: bool
    is_noise: bool


@dataclass(frozen=True)
class Pair:
    """A paragraph in both versions, or the number of unchanged ones."""

    old: tuple[Segment, ...] = ()
    new: tuple[Segment, ...] = ()
    unchanged: int = 0


@dataclass(frozen=True)
class VersionRow:
    version: PageVersion
    what: str


@require_GET
def page(request: HttpRequest, page_id: int) -> HttpResponse:
    found = own_page(request, page_id)
    rows = PageVersion.objects.filter(page=found).defer("data").order_by("-number")[:VERSIONS]
    versions = list(rows)
    view = request.GET.get("view", "")
    context: dict[str, Any] = {
        **header_context(found.site),
        "page": found,
        "badge": page_badge(found),
        "versions": [VersionRow(version, _what(version)) for version in versions],
        "view": view if view in VIEWS else "side",
        "shows_noise": request.GET.get("noise") == "show",
        "mask": Mask.of(found.mask),
    }
    new = _chosen(versions, request.GET.get("to", ""), versions[0] if versions else None)
    if new is not None:
        before = next((one for one in versions if one.number < new.number), None)
        old = _chosen(versions, request.GET.get("from", ""), before)
        context |= _compared(found, old, new, shows_noise=context["shows_noise"])
        context |= {"previous": before, "following": _following(versions, new)}
        context |= _shots(found, old, new)
        context |= {"evidence": PageEvidence.objects.filter(page=found, number=new.number).first()}
    context["fate_evidence"] = PageEvidence.objects.filter(page=found, number=FATE).first()
    return render(request, "pages/page.html", context)


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


def _chosen(versions: Sequence[PageVersion], number: str, default: PageVersion | None) -> PageVersion | None:
    wanted = int(number) if number.isascii() and number.isdigit() and len(number) < 9 else 0
    return next((one for one in versions if one.number == wanted), default)


def _following(versions: Sequence[PageVersion], new: PageVersion) -> PageVersion | None:
    return next((one for one in reversed(versions) if one.number > new.number), None)


def _what(version: PageVersion) -> str:
    """What a version changed, in a few words."""
    if version.is_restart:
        return _("other selectors, not a change of the page")
    named = field_names(version.changed_fields)
    words = f"+{formatting.number_text(version.words_added)} −{formatting.number_text(version.words_removed)}"
    has_words = version.number > 1 and (version.words_added or version.words_removed)
    return ", ".join(filter(None, [named, words if has_words else ""]))


def _compared(found: Page, old: PageVersion | None, new: PageVersion, *, shows_noise: bool) -> dict[str, Any]:
    mask = Mask.of(found.mask)
    masked = Masking(Mask()) if shows_noise else masking(found.site, mask)
    new_text = masked.text(text_of(new))
    if old is None:
        return {"old": None, "new": new, "text": new_text, "fields": field_rows({}, new.fields, Mask()), "pairs": []}
    compared = diff.compare(masked.text(text_of(old)), new_text)
    rows = field_rows(old.fields, new.fields, mask)
    return {
        "old": old,
        "new": new,
        "text": new_text,
        "diff": compared,
        "pairs": list(pairs_of(compared)),
        "fields": rows,
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
        pieces = diff.segments(was, now) if was != now and old else ()
        rows.append(
            FieldRow(
                field_title(name),
                tuple(piece for piece in pieces if piece.kind != diff.ADDED),
                tuple(piece for piece in pieces if piece.kind != diff.REMOVED),
                now,
                is_same=was == now or not old,
                is_noise=name in mask.fields,
            )
        )
    return sorted(rows, key=lambda row: row.is_same)


def pairs_of(compared: diff.Difference) -> Iterable[Pair]:
    for paragraph in compared.paragraphs:
        if paragraph.unchanged:
            yield Pair(unchanged=paragraph.unchanged)
            continue
        old = tuple(piece for piece in paragraph.segments if piece.kind != diff.ADDED)
        new = tuple(piece for piece in paragraph.segments if piece.kind != diff.REMOVED)
        yield Pair(old, new)


def _words(compared: diff.Difference) -> dict[str, int]:
    pieces = [piece for paragraph in compared.paragraphs for piece in paragraph.segments]
    return {
        "added": sum(count_words(piece.text) for piece in pieces if piece.kind == diff.ADDED),
        "removed": sum(count_words(piece.text) for piece in pieces if piece.kind == diff.REMOVED),
    }
