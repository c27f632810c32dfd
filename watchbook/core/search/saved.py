"""Saved searches: what a user does with them, and the job that notifies of new matches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import groupby, takewhile
from urllib.parse import urlencode

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import F
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from watchbook.base import clock
from watchbook.base.text import clean_text
from watchbook.core import registry
from watchbook.core.accounts.access import viewer_scopes
from watchbook.core.accounts.models import User
from watchbook.core.jobs.runner import NOTHING_TO_DO, JobContext, Outcome
from watchbook.core.notify import rules
from watchbook.core.notify.models import NotificationChannel
from watchbook.core.notify.outbox import Named, Notification, notify
from watchbook.core.notify.rules import Subject
from watchbook.core.search import highlight
from watchbook.core.search import query as queries
from watchbook.core.search.compiling import DocumentFields, known_kinds
from watchbook.core.search.dialects import dialect
from watchbook.core.search.find import count, per_day
from watchbook.core.search.models import NAME_LENGTH, SavedSearch, SavedSearchMatch, ScoreChange, SearchDocument
from watchbook.core.search.query import Query
from watchbook.kit.letter import Counts, Item, Letter, Link, Piece, Section

MOST = 100
PREVIEW_DAYS = 7
MENTION_DAYS = 30


def save(
    user: User, *, name: str, query: str, kinds: Iterable[str] = (), channels: Iterable[NotificationChannel] = ()
) -> SavedSearch:
    """Save a search for this user; matches from now on are notified. May raise ValidationError."""
    if SavedSearch.objects.of(user).count() >= MOST:
        raise ValidationError({"name": _("You have %(n)s saved searches. Delete one first.") % {"n": MOST}})
    name = " ".join(clean_text(name).split())
    _check(name, query, wanted := list(dict.fromkeys(kinds)))
    own = _own(user, channels)
    try:
        with transaction.atomic():
            saved = SavedSearch.objects.create(
                user=user,
                name=name,
                query=queries.read(query).text,
                kinds=wanted,
                last_document_id=SearchDocument.objects.last_id(),
                created_at=clock.now(),
            )
            saved.channels.set(own)
    except IntegrityError:
        raise _name_is_used() from None
    return saved


def _name_is_used() -> ValidationError:
    return ValidationError({"name": _("You already have a saved search with this name.")})


def change(
    saved: SavedSearch, *, name: str, query: str, kinds: Iterable[str], channels: Iterable[NotificationChannel]
) -> None:
    """Change a saved search. With another query, only what comes from now on is notified. May raise ValidationError."""
    name = " ".join(clean_text(name).split())
    _check(name, query, wanted := list(dict.fromkeys(kinds)))
    own = _own(saved.user, channels)
    text = queries.read(query).text
    try:
        with transaction.atomic():
            if (text, wanted) != (saved.query, saved.kinds):
                saved.last_document_id = max(saved.last_document_id, SearchDocument.objects.last_id())
                saved.matches.filter(is_held=True).delete()
            saved.name, saved.query, saved.kinds = name, text, wanted
            saved.save(update_fields=["name", "query", "kinds", "last_document_id"])
            saved.channels.set(own)
    except IntegrityError:
        saved.refresh_from_db()
        raise _name_is_used() from None


def set_active(saved: SavedSearch, *, active: bool) -> None:
    """Pause or resume. Matches of the pause are not notified afterwards."""
    if active and not saved.is_active:
        saved.last_document_id = max(saved.last_document_id, SearchDocument.objects.last_id())
    saved.is_active = active
    saved.save(update_fields=["is_active", "last_document_id"])


@dataclass(frozen=True)
class Preview:
    """How many documents of the last days a search matches; more when `is_whole` is false."""

    matches: int
    is_whole: bool
    days: int


def preview_since() -> datetime:
    return clock.now() - timedelta(days=PREVIEW_DAYS)


def preview(user: User, query: Query, kinds: Iterable[str] = ()) -> Preview:
    """Count what a saved search would have matched in the last days, with the search itself."""
    found = count(query, scopes=viewer_scopes(user), kinds=list(kinds) or None, since=preview_since())
    return Preview(found.total, found.is_whole, PREVIEW_DAYS)


def mentions(user: User, query: Query, kinds: Iterable[str] = ()) -> list[tuple[date, int | None]]:
    """Count matches of the last days by the day of publication; None where there were too many to count."""
    today = timezone.localdate(clock.now())
    days = [today - timedelta(days=back) for back in range(MENTION_DAYS - 1, -1, -1)]
    start = datetime.combine(days[0], time.min, tzinfo=timezone.get_current_timezone())
    found = per_day(query, scopes=viewer_scopes(user), kinds=list(kinds) or None, since=start)
    return [(day, found.matches.get(day, 0) if day >= found.first else None) for day in days]


@transaction.atomic
def remove(saved: SavedSearch) -> None:
    rules.store(saved.thread, rules.NONE)
    saved.delete()


def _check(name: str, query: str, kinds: Sequence[str]) -> None:
    wrong: dict[str, str] = {}
    if not name or len(name) > NAME_LENGTH:
        wrong["name"] = _("Enter a name of at most %(n)s characters.") % {"n": NAME_LENGTH}
    asked = queries.read(query)
    if not asked:
        wrong["query"] = _("Enter at least one word.")
    elif asked.is_cut:
        wrong["query"] = _("The query is too long: at most %(n)s characters and %(words)s words.") % {
            "n": queries.MAX_QUERY,
            "words": queries.MAX_TERMS,
        }
    if unknown := [kind for kind in kinds if kind not in known_kinds()]:
        wrong["kinds"] = _("Unknown type: %(kind)s") % {"kind": unknown[0][:60]}
    if wrong:
        raise ValidationError(wrong)


def _own(user: User, channels: Iterable[NotificationChannel]) -> list[NotificationChannel]:
    given = list(channels)
    if any(channel.user_id != user.pk for channel in given):
        raise ValidationError({"channels": _("Channel not found.")})
    return given


BATCH = 500
LISTED = 20
# Newest documents that a preview compares.
PREVIEWED = 2_000
# The largest minimum of matches that a rule can ask for: held ones are sent together.
MINIMUM = 100


@dataclass(frozen=True)
class Watch:
    """A saved search, ready to be compared."""

    saved: SavedSearch
    query: Query
    scopes: frozenset[str]

    def wants(self, fields: DocumentFields) -> bool:
        return fields.document.pk > self.saved.last_document_id and self.matches(fields)

    def matches(self, fields: DocumentFields) -> bool:
        document = fields.document
        if document.scope not in self.scopes or (self.saved.kinds and document.kind not in self.saved.kinds):
            return False
        return self.query.is_found(fields)

    def is_crossed(self, change: ScoreChange, document: SearchDocument) -> bool:
        """Does the document match since this change, and did it not match before?"""
        if not self.query.has_numbers or change.changed_at < self.saved.created_at:
            return False
        fields = DocumentFields(document)
        fields.score = change.after
        if not self.matches(fields):
            return False
        fields.score = change.before
        return not self.matches(fields)


def anything_new(now: datetime) -> bool:
    """Is there a document that an active saved search has not checked, or a score that changed?"""
    if ScoreChange.objects.exists():
        return True
    return SavedSearch.objects.active().filter(last_document_id__lt=SearchDocument.objects.last_id()).exists()


def match_saved(ctx: JobContext) -> Outcome:
    """Compare new documents with every saved search; one notification per match, in the same transaction."""
    watches = _watches()
    position = min((watch.saved.last_document_id for watch in watches), default=0)
    seen = told = 0
    settled = True
    while watches and (documents := list(SearchDocument.objects.since(position)[:BATCH])):
        found = _matches(watches, documents)
        with ctx.writing():
            told += sum(_notify(saved, matched, ctx.now) for saved, matched in found)
            settled = settled and _advance(watches, documents, ctx.now)
        position, seen = documents[-1].pk, seen + len(documents)
        ctx.report(documents=seen, told=told)
    moved, crossed = _compare_scores(ctx, watches)
    seen, told = seen + moved, told + crossed
    return Outcome("done", {"documents": seen, "told": told}) if seen else NOTHING_TO_DO


def _compare_scores(ctx: JobContext, watches: Sequence[Watch]) -> tuple[int, int]:
    """Notify of documents whose score came to match; returns how many changed and how many were notified.

    A row goes in the transaction that compared it: a slower writer's row is simply there at the next run.
    """
    seen = told = 0
    while changes := list(ScoreChange.objects.order_by("pk")[:BATCH]):
        documents = SearchDocument.objects.in_bulk({change.document_id for change in changes})
        crossed = [(watch.saved, _crossed(watch, changes, documents)) for watch in watches]
        with ctx.writing():
            told += sum(_notify(saved, found, ctx.now) for saved, found in crossed if found)
            ScoreChange.objects.filter(pk__in=[change.pk for change in changes]).delete()
        seen += len(changes)
        ctx.report(documents=seen, told=told)
    return seen, told


def _crossed(
    watch: Watch, changes: Sequence[ScoreChange], documents: Mapping[int, SearchDocument]
) -> list[SearchDocument]:
    pairs = [(change, documents.get(change.document_id)) for change in changes]
    found = {document.pk: document for change, document in pairs if document and watch.is_crossed(change, document)}
    return [found[pk] for pk in sorted(found)]


def _watches() -> list[Watch]:
    active = SavedSearch.objects.active().select_related("user").prefetch_related("channels").order_by("pk")
    return [Watch(saved, queries.read(saved.query), frozenset(viewer_scopes(saved.user))) for saved in active]


def _matches(
    watches: Sequence[Watch], documents: Sequence[SearchDocument]
) -> list[tuple[SavedSearch, list[SearchDocument]]]:
    """Compared before the transaction begins: reading takes a while, and SQLite has one writer at a time."""
    compared = [DocumentFields(document) for document in documents]
    found = [(watch.saved, [each.document for each in compared if watch.wants(each)]) for watch in watches]
    return [(saved, matched) for saved, matched in found if matched]


def _notify(saved: SavedSearch, documents: Sequence[SearchDocument], now: datetime) -> int:
    """Send one notification for all documents that had none. Returns how many there were.

    Fewer than the minimum of the rule are held until later matches complete the number.
    """
    before = set(
        SavedSearchMatch.objects.filter(
            saved_search=saved, document_id__in=[each.pk for each in documents]
        ).values_list("document_id", flat=True)
    )
    fresh = [document for document in documents if document.pk not in before]
    if not fresh:
        return 0
    channels = list(saved.channels.all())
    held = _held(saved) if channels else []
    is_held = bool(channels) and len(held) + len(fresh) < rules.rule_of(saved.thread).minimum
    rows = [
        SavedSearchMatch(saved_search=saved, document_id=each.pk, matched_at=now, is_held=is_held) for each in fresh
    ]
    SavedSearchMatch.objects.bulk_create(rows, batch_size=500)
    SavedSearch.objects.filter(pk=saved.pk).update(match_count=F("match_count") + len(fresh), last_match_at=now)
    if channels and not is_held:
        saved.matches.filter(is_held=True).update(is_held=False)
        notify(channels, _notification(saved, [*held, *fresh]))
    return len(fresh)


def _held(saved: SavedSearch) -> list[SearchDocument]:
    """The matches that wait for the minimum; those that left the index in between do not count."""
    ids = saved.matches.filter(is_held=True).values("document_id")
    return list(SearchDocument.objects.filter(pk__in=ids).order_by("pk")[:MINIMUM])


def rule_subject(key: str, user: User) -> Subject | None:
    """Return a saved search as an item whose rule of notifications its owner sets."""
    saved = SavedSearch.objects.of(user).filter(pk=int(key)).first() if key.isdecimal() and len(key) < 19 else None
    if saved is None:
        return None
    return Subject(
        thread=saved.thread,
        title=saved.name,
        url=reverse("search"),
        channels=tuple(saved.channels.select_related("user")),
        events=lambda rule, since: _past_notifications(_past_matches(saved, since), rule.minimum),
        counted=_("Minimum number of matches"),
        counted_note=_("Fewer matches wait until others complete the number."),
        most=MINIMUM,
    )


def _past_notifications(matches: Sequence[datetime], minimum: int) -> Iterator[datetime]:
    """Yield when so many matches were complete; those of one minute are one notification."""
    waiting = 0
    for at, together in groupby(matches):
        waiting += len(list(together))
        if waiting >= minimum:
            yield at
            waiting = 0


def _past_matches(saved: SavedSearch, since: datetime) -> list[datetime]:
    """Return the minutes at which stored documents that match came in, oldest first."""
    watch = Watch(saved, queries.read(saved.query), frozenset(viewer_scopes(saved.user)))
    recent = SearchDocument.objects.visible_to(watch.scopes).filter(indexed_at__gte=since).order_by("-indexed_at")
    if saved.kinds:
        recent = recent.filter(kind__in=saved.kinds)
    return sorted(
        document.indexed_at.replace(second=0, microsecond=0)
        for document in recent[:PREVIEWED]
        if watch.query.is_found(DocumentFields(document))
    )


def _advance(watches: Sequence[Watch], documents: Sequence[SearchDocument], now: datetime) -> bool:
    """Move past documents that no slower writer can slip in front of. False when some are still unsettled."""
    border = now - timedelta(seconds=dialect().settle_seconds)
    settled = [each.pk for each in takewhile(lambda each: each.indexed_at <= border, documents)]
    if settled:
        last = settled[-1]
        behind = [watch.saved.pk for watch in watches if watch.saved.last_document_id < last]
        SavedSearch.objects.filter(pk__in=behind, last_document_id__lt=last).update(last_document_id=last)
        # Documents before the position of a search are never checked again, unless a score may change.
        done = [watch.saved.pk for watch in watches if watch.saved.pk in behind and not watch.query.has_numbers]
        SavedSearchMatch.objects.filter(saved_search__in=done, document_id__lte=last, is_held=False).delete()
    return len(settled) == len(documents)


def _notification(saved: SavedSearch, documents: Sequence[SearchDocument]) -> Notification:
    with translation.override(saved.user.language or settings.LANGUAGE_CODE):
        subject = ngettext("%(n)s new match: %(name)s", "%(n)s new matches: %(name)s", len(documents)) % {
            "n": len(documents),
            "name": saved.name,
        }
        link = f"{reverse('search')}?{urlencode({'q': saved.query})}"
        letter = _letter(saved, documents, subject, link)
    return Notification(
        event_id=f"saved-search:{saved.pk}:{documents[-1].pk}",
        source="search",
        kind="saved_search",
        subject=subject,
        letter=letter,
        payload={
            "saved_search": {"id": saved.pk, "name": saved.name, "query": saved.query},
            "count": len(documents),
            "items": [_item(document) for document in documents],
        },
        link=link,
        thread=saved.thread,
        objects=[Named(each.kind, each.object_id, number) for number, each in enumerate(documents)],
    )


def _letter(saved: SavedSearch, documents: Sequence[SearchDocument], subject: str, link: str) -> Letter:
    """Each match with its place, its author and the words around the match."""
    shown = documents[:LISTED]
    origins: dict[tuple[str, str], registry.Origin] = {}
    for source, kind in {(each.source, each.kind) for each in shown}:
        ids = [each.object_id for each in shown if each.kind == kind]
        origins |= {(kind, key): origin for key, origin in registry.origins(source, kind, ids).items()}
    pattern = queries.read(saved.query).marks
    found = [_match(each, origins.get((each.kind, each.object_id), registry.Origin()), pattern) for each in shown]
    section = Section(items=tuple(found), more=len(documents) - len(shown), more_url=link)
    return Letter(
        title=subject,
        name=_("Saved search “%(name)s”") % {"name": saved.name},
        lead=(_("Query: %(query)s") % {"query": saved.query},),
        counts=Counts(added=len(documents)),
        button=Link(_("Show matches"), link),
        sections=(section,),
    )


def _match(document: SearchDocument, origin: registry.Origin, pattern: re.Pattern[str]) -> Item:
    source = next((_(each.title) for each in registry.sources() if each.slug == document.source), document.source)
    pieces = highlight.excerpt(document.body, pattern)
    return Item(
        title=document.title or document.object_id,
        url=origin.url,
        here=_address(document),
        note=" · ".join(part for part in (origin.place or source, origin.author) if part),
        excerpt=tuple(Piece(piece.text, piece.is_match) for piece in pieces),
        kind=document.kind,
        id=document.object_id,
    )


def _item(document: SearchDocument) -> dict[str, str]:
    return {
        "kind": document.kind,
        "id": document.object_id,
        "source": document.source,
        "title": document.title,
        "url": _address(document),
        "occurred_at": document.occurred_at.isoformat(),
    }


def _address(document: SearchDocument) -> str:
    path = document.url_path
    return f"{settings.PUBLIC_URL}{path}" if path.startswith("/") else path
