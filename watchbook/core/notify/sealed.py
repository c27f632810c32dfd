"""Where this room keeps sealed values."""

from __future__ import annotations

from collections.abc import Iterator

from watchbook.base.store.resealing import Writing, seal_anew
from watchbook.core.notify.config.keep import bound_to
from watchbook.core.notify.models import NotificationChannel


def reseal(writing: Writing) -> Iterator[tuple[str, str]]:
    yield from seal_anew(NotificationChannel.objects.all(), "secret", bound_to, writing)
