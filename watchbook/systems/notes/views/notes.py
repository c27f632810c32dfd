"""Collected notes: the list, one note as it was read, and deleting a note.

Comments of collected notes: the list of all, and the thread below one note.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext, pgettext_lazy
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from watchbook.core.accounts.access import person_of, safe_next, staff_required
from watchbook.core.accounts.audit import export
from watchbook.core.media.models import FileReference, FileState, KeptFile
from watchbook.core.media.store import files_of
from watchbook.core.stream import selection
from watchbook.kit.badges import Badge, bad, info
from watchbook.kit.charts import Chart, Series, lines
from watchbook.kit.diff import compare
from watchbook.kit.formatting import size_text, span_text
from watchbook.systems.notes import actions, filters, options
from watchbook.systems.notes.access import work_required
from watchbook.systems.notes.encryption import author_hash
from watchbook.systems.notes.models import (
    Candidate,
    CommentVersion,
    Creator,
    Note,
    NoteComment,
    NotePoint,
    NoteVersion,
    NoteWatch,
)
from watchbook.systems.notes.models.readings import Presence
from watchbook.systems.notes.store import readings
from watchbook.systems.notes.store.candidates import decrypt_token
from watchbook.systems.notes.store.documents import KIND, SOURCE, title_of
from watchbook.systems.notes.views import (
    COUNTS,
    Figure,
    adapter_problem,
    figure_of,
    head,
    is_operator,
    named,
    reason_text,
)

TEASER = 200


@dataclass(frozen=True)
class Row:
    note: Note
    files: Sequence[FileReference] = ()
    watch: NoteWatch | None = None
    points: Sequence[NotePoint] = ()

    @property
    def title(self) -> str:
        return title_of(self.note)

    @property
    def teaser(self) -> str:
        return " ".join(self.note.content.split())[:TEASER] if self.note.title else ""

    @property
    def liked(self) -> Figure:
        """As last read."""
        counts = self.watch.counts if self.watch else self.note.counts
        return figure_of("liked", counts.get("liked"))

    @property
    def likes(self) -> list[int | None]:
        """The curve; empty before a second reading with other counts."""
        counts = [self.note.counts, *(point.counts for point in self.points)]
        return [(one.get("liked") or {}).get("value") for one in counts] if self.points else []

    @property
    def badges(self) -> list[Badge]:
        if self.watch is None:
            return []
        states = {"edited": self.watch.version > 1, "gone": self.watch.presence == Presence.GONE}
        return [NOTE_BADGES[name] for name, is_so in states.items() if is_so]

    @property
    def tags(self) -> list[str]:
        return [str(tag) for tag in self.note.tags[:4]]

    @property
    def cover(self) -> KeptFile | None:
        """The first picture that is kept."""
        return next((one.file for one in self.files if one.file.is_kept and one.file.is_picture), None)

    @property
    def kept(self) -> int:
        return sum(one.file.is_kept for one in self.files)

    @property
    def why_none(self) -> str:
        """Why no picture can be shown."""
        states = {FileState(one.file.state) for one in self.files}
        first = next((state for state in STATE_ORDER if state in states), None)
        return str(STATES[first]) if first else _("No picture was saved. The text is kept.")


STATE_ORDER = (FileState.WAITING, FileState.OFF, FileState.TOO_LARGE, FileState.GONE, FileState.FAILED)
STATES = {
    FileState.WAITING: pgettext_lazy("file", "waiting to be saved"),
    FileState.OFF: pgettext_lazy("file", "not saved: saving is off"),
    FileState.TOO_LARGE: pgettext_lazy("file", "not saved: too large"),
    FileState.GONE: pgettext_lazy("file", "not saved: no longer on the platform"),
    FileState.FAILED: pgettext_lazy("file", "not saved"),
    FileState.KEPT: pgettext_lazy("file", "saved"),
}


@dataclass(frozen=True)
class Medium:
    """A picture or video: what is kept is shown, and everything else is a link to the platform."""

    name: str
    url: str
    facts: str
    file: KeptFile | None = None

    @property
    def state(self) -> str:
        return str(STATES[FileState(self.file.state)]) if self.file else ""

    @property
    def error(self) -> str:
        return _(self.file.last_error) if self.file and self.file.last_error and not self.file.is_kept else ""


MOST_VERSIONS, MOST_POINTS = 100, 200
NOTE_BADGES = {
    "edited": info(pgettext_lazy("note", "Edited"), "edit"),
    "gone": bad(Presence.GONE.label, "trash"),
}


@dataclass(frozen=True)
class Version:
    number: int
    read_at: datetime
    row: Note | NoteVersion

    @property
    def name(self) -> str:
        return _("Version %(n)s") % {"n": self.number}

    @property
    def text(self) -> str:
        """Title, text and tags, as they are compared."""
        tags = " ".join(f"#{tag}" for tag in self.row.tags)
        return "\n\n".join(part for part in (self.row.title, self.row.content, tags) if part)


@work_required
@require_POST
def read_again(request: HttpRequest, note_id: str) -> HttpResponse:
    found = get_object_or_404(Note, note_id=named(note_id, 64))
    if closed := adapter_problem():
        messages.error(request, closed)
    elif actions.read_again([found.note_id], user=person_of(request), request=request):
        messages.success(request, _("Reading queued."))
    else:
        messages.info(request, _("This note is already queued."))
    return redirect("notes:note", found.note_id)


@work_required
@require_POST
def selected_notes(request: HttpRequest) -> HttpResponse:
    """Read the selected notes again, or delete them; deleting is asked first and is for operators."""
    ids = [note_id for kind, note_id in selection.selected(request) if kind == KIND]
    found = list(Note.objects.filter(note_id__in=ids).order_by("-collected_at"))
    back = safe_next(request, None, "notes:notes")
    act = request.POST.get("act", "")
    if act not in ("read_again", "delete"):
        raise Http404
    if act == "delete" and not is_operator(request):
        raise PermissionDenied
    if not found:
        messages.warning(request, _("Select at least one note."))
    elif act == "read_again":
        _read_selected(request, found)
    elif request.POST.get("sure"):
        gone = actions.delete_notes([note.note_id for note in found], user=person_of(request))
        messages.success(request, ngettext("%(n)s note deleted.", "%(n)s notes deleted.", gone) % {"n": gone})
    else:
        return _ask_before_deleting(request, found, back)
    return redirect(back)


def _read_selected(request: HttpRequest, found: Sequence[Note]) -> None:
    if closed := adapter_problem():
        messages.error(request, closed)
        return
    queued = actions.read_again([note.note_id for note in found], user=person_of(request), request=request)
    words = ngettext("%(n)s note is queued to be read again.", "%(n)s notes are queued to be read again.", queued)
    (messages.success if queued else messages.info)(request, words % {"n": queued})


def _ask_before_deleting(request: HttpRequest, found: Sequence[Note], back: str) -> HttpResponse:
    count = len(found)
    context = {
        "title": ngettext("Delete %(n)s note", "Delete %(n)s notes", count) % {"n": count},
        "text": _(
            "This deletes the notes, their search entries and their activity entries, and cannot be undone. They are"
            " not collected again. Library pages saved from them are kept."
        ),
        "names": [title_of(note) for note in found],
        "button": ngettext("Delete %(n)s note", "Delete %(n)s notes", count) % {"n": count},
        "fields": [("act", "delete"), *(("item", f"{KIND}:{note.note_id}") for note in found)],
        "back": back,
    }
    return render(request, "kit/confirm.html", context)


@require_GET
def notes(request: HttpRequest) -> HttpResponseBase:
    listing = filters.NOTES.show(Note.objects.all(), request.GET, keep=("view",))
    if file := export(request, listing):
        return file
    is_list = request.GET.get("view") == "list"
    query = request.GET.copy()
    query.pop("view", None)
    context = {
        **head(request, "notes"),
        "listing": listing,
        "page": listing.page,
        "rows": _rows(listing.page),
        "is_list": is_list,
        "grid_query": query.urlencode(),
        "list_query": "&".join(filter(None, [query.urlencode(), "view=list"])),
    }
    return render(request, "notes/notes.html", context)


def _rows(page: Iterable[Note]) -> list[Row]:
    """The notes of a page with their files, states and counts, in three queries."""
    found = list(page)
    files = files_of(SOURCE, [note.note_id for note in found])
    watches = {watch.note_id: watch for watch in NoteWatch.objects.filter(note__in=found)}
    points: dict[int, list[NotePoint]] = {}
    for point in NotePoint.objects.filter(note__in=found).order_by("read_at"):
        points.setdefault(point.note_id, []).append(point)
    return [Row(note, files.get(note.note_id, ()), watches.get(note.pk), points.get(note.pk, ())) for note in found]


@require_GET
def source(request: HttpRequest, note_id: str) -> HttpResponse:
    """Open the note on the platform, which shows it only with its newest token. The token is in no page and no log."""
    found = get_object_or_404(Note, note_id=named(note_id, 64))
    base = options.PAGE_URL.value.rstrip("/")
    url = found.note_url or f"{base}/explore/{found.note_id}"
    candidate = Candidate.objects.filter(note_id=found.note_id).first()
    token = decrypt_token(candidate) if candidate else ""
    if token and candidate and urlsplit(url).netloc == urlsplit(base).netloc:
        url += "?" + urlencode({"xsec_token": token, "xsec_source": candidate.xsec_source or "pc_search"})
    if urlsplit(url).scheme not in {"http", "https"}:
        raise Http404
    return HttpResponseRedirect(url, headers={"Referrer-Policy": "no-referrer", "Cache-Control": "no-store"})


@require_GET
def note(request: HttpRequest, note_id: str) -> HttpResponse:
    found = get_object_or_404(Note.objects.select_related("watch"), note_id=named(note_id, 64))
    meta = found.exec_meta if isinstance(found.exec_meta, dict) else {}
    watch = getattr(found, "watch", None)
    now = readings.shown(found, readings.current(found, watch), watch.counts if watch else found.counts)
    context = {
        **head(request, "notes"),
        "note": found,
        "title": title_of(now),
        "text": now.content,
        "tags": now.tags,
        "lines": [line for line in now.content.split("\n") if line.strip()],
        "figures": [figure_of(name, now.counts.get(name)) for name in COUNTS],
        "media": _media(now),
        "watch": watch,
        "watch_error": reason_text(watch.last_error_code, watch.last_error_reason) if watch else "",
        **_history(request, found),
        **thread_of(found, watch),
        "of_author": Note.objects.filter(author_id=found.author_id).count() if found.author_id else 0,
        "is_hashed": options.AUTHORS.value == "hashed",
        "adapter": str(meta.get("adapter") or ""),
        "request_id": str(meta.get("request_id") or ""),
        "not_understood": [str(one) for key in ("skipped", "omitted") for one in meta.get(key) or ()],
        "candidate": Candidate.objects.filter(note_id=found.note_id).only("created_at", "creator_id").first(),
        "creator": followed(found.author_id),
    }
    return render(request, "notes/note.html", context)


def followed(author_id: str) -> Creator | None:
    """The followed creator of a note, however its author is stored."""
    if not author_id:
        return None
    return Creator.objects.filter(author_hash__in=[author_id, author_hash(author_id)]).first()


def versions_of(note: Note) -> list[Version]:
    """Versions of the text, newest first."""
    versions = [Version(row.number, row.read_at, row) for row in note.versions.order_by("-number")[:MOST_VERSIONS]]
    return [*versions, Version(1, note.collected_at, note)]


def _history(request: HttpRequest, note: Note) -> dict[str, Any]:
    """Versions newest first, the difference that is asked for or the newest one, and the curve of counts."""
    versions = versions_of(note)
    asked = request.GET.get("to", "")
    new = next((place for place, one in enumerate(versions) if str(one.number) == asked), 0)
    difference = None
    if len(versions) > new + 1:
        difference = compare(versions[new + 1].text, versions[new].text)
    return {
        "versions": versions,
        "chosen": versions[new],
        "older": versions[new + 1] if difference else None,
        "difference": difference,
        "curve": _curve(note),
    }


def _curve(note: Note) -> Chart | None:
    """The counts at each reading where they changed; one point alone is no curve."""
    points = [(row.read_at, row.counts) for row in note.points.order_by("-read_at")[:MOST_POINTS]][::-1]
    if not points:
        return None
    points.insert(0, (note.collected_at, note.counts))
    series = [
        Series(str(title), [(counts.get(name) or {}).get("value") for _at, counts in points], css)
        for (name, title), css in zip(COUNTS.items(), ("sys-notes", "c-h2", "c-h3", "c-h4"), strict=True)
    ]
    shown = [one for one in series if any(value is not None for value in one.values)]
    label = _("Counts at %(n)s readings.") % {"n": len(points)}
    return lines([at for at, _counts in points], shown, label=label, place="main") if shown else None


def _media(note: Note) -> list[Medium]:
    files = {row.position: row.file for row in files_of(SOURCE, [note.note_id]).get(note.note_id, ())}
    listed = [(place, one) for place, one in enumerate(note.media) if isinstance(one, dict)]
    return [_medium(place + 1, one, files.get(place)) for place, one in listed]


def _medium(number: int, one: dict[str, Any], file: KeptFile | None) -> Medium:
    names = {"video": pgettext("media", "Video %(n)s"), "live_photo": pgettext("media", "Live photo %(n)s")}
    name = names.get(str(one.get("kind")), pgettext("media", "Picture %(n)s"))
    facts = []
    if one.get("width") and one.get("height"):
        facts.append(f"{one['width']} × {one['height']}")
    if one.get("duration_ms"):
        facts.append(span_text(one["duration_ms"] / 1000))
    url = str(one.get("url") or "")
    is_safe = urlsplit(url).scheme in {"http", "https"}
    if file and file.is_kept:
        facts.append(size_text(file.size or 0))
    return Medium(name % {"n": number}, url if is_safe else "", pgettext("list", ", ").join(facts), file)


@staff_required
@require_http_methods(["GET", "POST"])
def delete(request: HttpRequest, note_id: str) -> HttpResponse:
    """Asked first, because it cannot be undone."""
    found = get_object_or_404(Note, note_id=named(note_id, 64))
    if request.method == "POST":
        return _delete(request, found)
    context = {
        **head(request, "notes"),
        "note": found,
        "title": title_of(found),
        "of_author": Note.objects.filter(author_id=found.author_id).count() if found.author_id else 0,
    }
    return render(request, "notes/delete.html", context)


def _delete(request: HttpRequest, found: Note) -> HttpResponse:
    if request.POST.get("what") == "author" and found.author_id:
        gone = actions.delete_author_notes(found.author_id, user=person_of(request))
        messages.success(request, ngettext("%(n)s note deleted.", "%(n)s notes deleted.", gone) % {"n": gone})
    else:
        actions.delete_note(found.note_id, user=person_of(request))
        messages.success(request, _("Note deleted."))
    return redirect("notes:notes")


# On the page of a note; the list shows all.
MOST_SHOWN = 300


@dataclass(frozen=True)
class CommentLine:
    row: NoteComment
    versions: Sequence[CommentVersion] = ()
    answers: list[CommentLine] = field(default_factory=list)

    @property
    def liked(self) -> Figure:
        return figure_of("liked", self.row.liked)


@require_GET
def comments(request: HttpRequest) -> HttpResponseBase:
    listing = filters.COMMENTS.show(NoteComment.objects.select_related("note"), request.GET)
    if file := export(request, listing):
        return file
    context = {**head(request, "notes"), "listing": listing, "page": listing.page, "rows": list(listing.page)}
    return render(request, "notes/comments.html", context)


def thread_of(note: Note, watch: NoteWatch | None) -> dict[str, Any]:
    """The comments of a note, oldest first, answers below theirs; two queries."""
    rows = list(note.comments.prefetch_related("versions").order_by("published_at", "pk")[:MOST_SHOWN])
    lines = {row.comment_id: CommentLine(row, sorted(row.versions.all(), key=lambda one: -one.number)) for row in rows}
    roots: list[CommentLine] = []
    for line in lines.values():
        above = lines.get(line.row.parent_id)
        (above.answers if above and above is not line else roots).append(line)
    _code, _colon, sentence = watch.comments_error.partition(": ") if watch else ("", "", "")
    return {"comments": roots, "comment_count": len(rows), "comments_error": _(sentence) if sentence else ""}
