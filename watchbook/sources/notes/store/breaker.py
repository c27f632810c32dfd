"""The breaker: after an IP block or a refused signature nobody asks the platform for a while, with any cookie."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Q
from django.utils.translation import gettext_noop

from watchbook.sources.notes import options
from watchbook.sources.notes.errors import Trouble
from watchbook.sources.notes.models import Breaker
from watchbook.sources.notes.rules import Code

# Each trip in a row doubles the pause, up to eight times the first.
MOST_DOUBLINGS = 3
OPEN = gettext_noop("The platform blocked us a short while ago. Nothing is asked until the pause is over.")


def check(platform: str, now: datetime) -> None:
    """Raises Trouble while it is open."""
    breaker = Breaker.objects.filter(platform=platform, open_until__gt=now).first()
    if breaker is not None and breaker.open_until is not None:
        details = {"open_until": breaker.open_until.isoformat()}
        raise Trouble(Code.PLATFORM_ERROR, OPEN, reason=breaker.reason or "breaker", details=details, asked=False)


def trip(platform: str, reason: str, now: datetime) -> None:
    """Open it. What is open already stays as it is: one block seen by ten calls is one block."""
    breaker, _made = Breaker.objects.get_or_create(platform=platform)
    minutes = options.BREAKER_MINUTES.value * 2 ** min(breaker.trips, MOST_DOUBLINGS)
    is_closed = Q(open_until=None) | Q(open_until__lte=now)
    Breaker.objects.filter(is_closed, pk=breaker.pk, trips=breaker.trips).update(
        reason=reason[:40], opened_at=now, open_until=now + timedelta(minutes=minutes), trips=breaker.trips + 1
    )


def relax(platform: str) -> None:
    """The platform answered again: the next pause begins small."""
    Breaker.objects.filter(platform=platform, trips__gt=0).update(trips=0, open_until=None)


def close(platform: str) -> bool:
    """By hand. True when it was open."""
    return bool(Breaker.objects.filter(platform=platform, open_until__isnull=False).update(open_until=None, trips=0))
