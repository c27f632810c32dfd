"""Saved searches: what a person does with them, called by the page and the API alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.text import clean_text
from watchbook.core import registry
from watchbook.core.notify.models import NotificationChannel
from watchbook.core.search import query as queries
from watchbook.core.search.models import NAME_LENGTH, SavedSearch, SearchDocument

MOST = 100


def known_kinds() -> dict[str, str]:
    """Every kind of document and the system it belongs to."""
    return {kind.name: source.slug for source in registry.sources() for kind in source.search_kinds}


def save(
    user: Any, *, name: str, query: str, kinds: Iterable[str] = (), channels: Iterable[NotificationChannel] = ()
) -> SavedSearch:
    """Keep a search for this person; only what comes in from now on is told. May raise ValidationError."""
    name = " ".join(clean_text(name).split())
    _check(user, name, query, wanted := list(dict.fromkeys(kinds)))
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
        raise ValidationError({"name": _("You have a saved search of this name.")}) from None
    return saved


def set_active(saved: SavedSearch, *, active: bool) -> None:
    """Pause or resume. What came in during a pause is not told afterwards."""
    if active and not saved.is_active:
        saved.last_document_id = max(saved.last_document_id, SearchDocument.objects.last_id())
    saved.is_active = active
    saved.save(update_fields=["is_active", "last_document_id"])


def _check(user: Any, name: str, query: str, kinds: Sequence[str]) -> None:
    wrong: dict[str, str] = {}
    if not name or len(name) > NAME_LENGTH:
        wrong["name"] = _("Give it a name of at most %(n)s characters.") % {"n": NAME_LENGTH}
    asked = queries.read(query)
    if not asked:
        wrong["query"] = _("There is no word in it to look for.")
    elif asked.is_cut:
        wrong["query"] = _("It is too long: at most %(n)s characters and %(words)s words.") % {
            "n": queries.MAX_QUERY,
            "words": queries.MAX_TERMS,
        }
    if unknown := [kind for kind in kinds if kind not in known_kinds()]:
        wrong["kinds"] = _("There is no kind %(kind)s.") % {"kind": unknown[0][:60]}
    if SavedSearch.objects.of(user).count() >= MOST:
        wrong["name"] = _("You have %(n)s saved searches. Remove one first.") % {"n": MOST}
    if wrong:
        raise ValidationError(wrong)


def _own(user: Any, channels: Iterable[NotificationChannel]) -> list[NotificationChannel]:
    given = list(channels)
    if any(channel.user_id != user.pk for channel in given):
        raise ValidationError({"channels": _("This channel does not exist.")})
    return given
