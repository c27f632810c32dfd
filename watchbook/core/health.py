"""Health of a source: one record that home cards, system pages, job list, alerts, `/readyz` and API all show.

A system names one function in `Source.health`, "module:function" with the signature `health(user) -> Health`. `user`
is the signed-in user, or None for the whole server (probes, alerts, metrics). A system whose rows belong to users
answers for the rows that this user may see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Max, Min, Q, QuerySet
from django.utils.translation import gettext

from watchbook.core import registry
from watchbook.core.accounts.models import User
from watchbook.kit import badges

HEALTHY = "healthy"
INCOMPLETE = "incomplete"
UNCONFIRMED = "unconfirmed"
FAILING = "failing"
ERROR = "error"
LATE = "late"
BLOCKED = "blocked"
PAUSED = "paused"
NEVER = "never"

# From best to worst: `worst()` and the order of lists follow this. Not run yet is no evidence of anything, so it
# stands between good and bad.
STATES = (HEALTHY, PAUSED, NEVER, UNCONFIRMED, INCOMPLETE, LATE, FAILING, BLOCKED, ERROR)
NEEDS_REASON = frozenset({INCOMPLETE, UNCONFIRMED, FAILING, ERROR, LATE, BLOCKED})


@dataclass(frozen=True)
class Health:
    """How healthy a source is, from what was really read.

    `healthy` needs a seen success: without `last_success_at` the state is `never`, and __post_init__ refuses anything
    else. Every state that asks for attention needs a `reason`.

    - `reason`: one plain sentence with its subject, e.g. "The site returned HTTP 503 to the last 3 checks."
    - `last_failure`: the cause alone, of the last failure that is stored, also after a later success.
    - `remedy`: what to do, or that nothing needs to be done; may be empty.
    - `detail`: a short technical text (host, status, exception), never a secret; `url`: the page that shows more.
    """

    state: str
    last_success_at: datetime | None = None
    last_failure_at: datetime | None = None
    last_failure: str = ""
    reason: str = ""
    remedy: str = ""
    next_try_at: datetime | None = None
    detail: str = ""
    url: str = ""

    def __post_init__(self) -> None:
        if self.state not in STATES:
            raise ValueError(f"unknown health state {self.state!r}")
        if self.state == HEALTHY and self.last_success_at is None:
            raise ValueError("healthy needs last_success_at: a source that was never read is 'never'")
        if self.state in NEEDS_REASON and not self.reason:
            raise ValueError(f"{self.state} needs a reason")

    @property
    def is_good(self) -> bool:
        """Whether nothing needs attention: a success was seen and nothing contradicts it, or a user paused it."""
        return self.state in (HEALTHY, PAUSED)

    @property
    def needs_attention(self) -> bool:
        return self.state in NEEDS_REASON

    def badge(self) -> badges.Badge:
        return badges.find("health", self.state)


@dataclass(frozen=True)
class HealthItem:
    """One thing that a source watches, and its health.

    `owner_id` is set if the thing belongs to one user: only this user can open its pages. `try_url` is the address
    whose POST tries again now; empty if there is none.
    """

    title: str
    kind: str
    health: Health
    owner_id: object = None
    try_url: str = ""


def worst(healths: Iterable[Health]) -> Health:
    """Return the worst of several, for a source that reads several things; `never` if there are none."""
    return max(healths, key=lambda health: STATES.index(health.state), default=Health(NEVER))


def health_of(source: registry.Source, user: User | None = None) -> Health | None:
    """Return the health of one source, or None if the source declares no health function."""
    if not source.health:
        return None
    health: Health = registry.load(source.health)(user)
    return health


def worst_first(items: Iterable[HealthItem]) -> list[HealthItem]:
    return sorted(items, key=lambda item: -STATES.index(item.health.state))


def items_of(source: registry.Source, user: User | None = None) -> list[HealthItem]:
    """Return every watched thing of one source, worst first; a source that lists none is itself the only one."""
    if source.health_items:
        found: list[HealthItem] = registry.load(source.health_items)(user)
        return worst_first(found)
    own = health_of(source, user)
    return [HealthItem(gettext(source.title), gettext("Source"), own)] if own is not None else []


def needing_attention(user: User | None = None, slug: str = "") -> list[tuple[registry.Source, Health]]:
    """Return the sources that need attention with their health: all of them, or the one with this slug."""
    found = ((source, health_of(source, user)) for source in registry.sources() if slug in ("", source.slug))
    return [(source, health) for source, health in found if health is not None and health.needs_attention]


def all_health(user: User | None = None) -> dict[str, Health]:
    """Return the health of every source that declares it, by slug, in menu order."""
    found = ((source.slug, health_of(source, user)) for source in registry.sources())
    return {slug: health for slug, health in found if health is not None}


def last_use(
    rows: QuerySet[Any], at: str, good: Q, *, after: datetime | None, answer: Callable[[Any], str]
) -> registry.Use | None:
    """Return the newest of these rows as the last use of settings. `answer` says why a row failed. Four queries."""
    if after is not None:
        rows = rows.filter(**{f"{at}__gt": after})
    newest = rows.order_by(f"-{at}", "-pk").first()
    if newest is None:
        return None
    passed, failed = rows.filter(good), rows.exclude(good)
    is_ok = passed.filter(pk=newest.pk).exists()
    same, other = (passed, failed) if is_ok else (failed, passed)
    other_at = other.aggregate(at=Max(at))["at"]
    if other_at is not None:
        same = same.filter(**{f"{at}__gt": other_at})
    since = same.aggregate(at=Min(at))["at"]
    return registry.Use(is_ok, getattr(newest, at), since, "" if is_ok else answer(newest), other_at)
