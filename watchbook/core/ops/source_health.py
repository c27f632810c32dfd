"""Health of every source and watched thing in groups, for the Health page, the API and the command.

All three ask the functions that systems declare in `Source.health` and `Source.health_items`; nothing is judged here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from django.urls import reverse
from django.utils.translation import gettext as _

from watchbook.core import health as states
from watchbook.core import registry
from watchbook.core.accounts.models import User
from watchbook.core.health import Health, HealthItem, health_of, items_of, worst, worst_first
from watchbook.core.notify import health as channels
from watchbook.kit import badges
from watchbook.kit.badges import Badge

CHANNELS = "channels"
# States that the page counts and filters together, worst first.
SEGMENTS: dict[str, frozenset[str]] = {
    "failing": frozenset({states.FAILING, states.ERROR, states.BLOCKED}),
    "late": frozenset({states.LATE}),
    "incomplete": frozenset({states.INCOMPLETE, states.UNCONFIRMED}),
    "never": frozenset({states.NEVER}),
    "paused": frozenset({states.PAUSED}),
    "healthy": frozenset({states.HEALTHY}),
}


@dataclass(frozen=True)
class Group:
    """A source with everything it watches."""

    slug: str
    title: str
    icon: str
    url: str
    health: Health
    items: tuple[HealthItem, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """Return how many things are in each segment."""
        return count_segments(self.items)

    @property
    def healthy(self) -> int:
        return self.counts["healthy"]

    @property
    def last_success_at(self) -> datetime | None:
        """Return the newest success of the source and of all things."""
        found = [self.health.last_success_at, *(item.health.last_success_at for item in self.items)]
        return max((at for at in found if at is not None), default=None)

    @property
    def last_failure(self) -> Health | None:
        """Return the newest failure of all things."""
        failed = [item.health for item in self.items if item.health.last_failure_at is not None]
        return max(failed, key=lambda health: health.last_failure_at or 0, default=None)

    @property
    def badge(self) -> Badge:
        return self.health.badge()


def count_segments(items: Iterable[HealthItem]) -> dict[str, int]:
    found = Counter(item.health.state for item in items)
    return {name: sum(found[state] for state in group) for name, group in SEGMENTS.items()}


def segment_title(name: str) -> str:
    if name == "all":
        return _("All")
    return str(badges.find("health", name).text)


def groups(viewer: User, *, is_whole_server: bool) -> list[Group]:
    """Return every source that declares its health, then the viewer's channels.

    `is_whole_server` includes what belongs to other users, for operators: names and states, without links.
    """
    user = None if is_whole_server else viewer
    found = [group for source in registry.sources() if (group := source_group(source, viewer, user)) is not None]
    own = worst_first(channels.items(viewer))
    if own:
        found.append(
            Group(CHANNELS, _("Channels"), "bell", reverse("channels"), worst(item.health for item in own), tuple(own))
        )
    return found


def source_group(source: registry.Source, viewer: User | None, user: User | None) -> Group | None:
    """Return one source with its things; None if it declares no health."""
    own = health_of(source, user)
    if own is None:
        return None
    items = tuple(_without_private_links(items_of(source, user), viewer))
    return Group(source.slug, _(source.title), source.icon, reverse(source.home_url), own, items)


def _without_private_links(items: Iterable[HealthItem], viewer: User | None) -> Iterator[HealthItem]:
    for item in items:
        if item.owner_id is None or (viewer is not None and item.owner_id == viewer.pk):
            yield item
        else:
            yield replace(item, health=replace(item.health, url="", detail=""), try_url="")
