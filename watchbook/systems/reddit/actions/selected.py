"""What an operator does with many communities together: switch, tag, set the priority, crawl, remove. All or none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.invalid import InvalidInput
from watchbook.core.accounts import audit
from watchbook.core.accounts.models import User
from watchbook.systems.reddit import actions
from watchbook.systems.reddit.models import CommunityCache, CommunityPool, CommunityPriority
from watchbook.systems.reddit.store import communities as rows

MOST = 500


def communities(names: Iterable[str]) -> list[CommunityCache]:
    """The named communities, each once. Raises InvalidInput for one that is not in the list."""
    found: dict[int, CommunityCache] = {}
    for name in names:
        try:
            row = actions.community(name)
        except actions.Unknown:
            words = _("%(name)s is not in the community list.") % {"name": name[:60]}
            raise InvalidInput("names", words, "unknown") from None
        found[row.pk] = row
    if len(found) > MOST:
        raise InvalidInput("names", _("Select at most %(n)s communities.") % {"n": MOST}, "too_many")
    return list(found.values())


@transaction.atomic
def change_many(
    chosen: Sequence[CommunityCache],
    *,
    is_active: bool | None = None,
    priority: str = "",
    add_tags: Sequence[str] = (),
    remove_tags: Sequence[str] = (),
    actor: User | None = None,
) -> int:
    """Change what is given for all of them, or for none. Return how many there are."""
    if priority and priority not in CommunityPriority.values:
        raise InvalidInput("tier", _("Choose high, medium or low."))
    coming, going = actions.checked_tags(add_tags), {tag.casefold() for tag in actions.checked_tags(remove_tags)}
    for row in chosen:
        if coming or going:
            kept = [tag for tag in _tags(row) if tag.casefold() not in going]
            actions.set_tags(row.community_name, [*kept, *coming], actor=actor)
        if priority:
            _set_priority(row, priority, actor)
        if is_active is not None:
            actions.set_active(row.community_name, is_active, actor=actor)
    if priority:
        # Tiers are shares of the whole list, so they are assigned once and not for each community.
        rows.apply_assignments(rows.calculate_assignments(), clock.now())
    return len(chosen)


def unused_tags(chosen: Iterable[CommunityCache], tags: Sequence[str]) -> list[str]:
    """Return which of the tags none of the communities has."""
    used = {tag.casefold() for row in chosen for tag in _tags(row)}
    return [tag for tag in actions.checked_tags(tags) if tag.casefold() not in used]


def _tags(row: CommunityCache) -> list[str]:
    found = CommunityPool.objects.filter(name=row.community_name).values_list("categories", flat=True).first()
    return [str(tag) for tag in found or ()]


def _set_priority(row: CommunityCache, priority: str, actor: User | None) -> None:
    if not CommunityPool.objects.filter(name=row.community_name).update(tier=priority, updated_at=clock.now()):
        words = _("%(name)s is not in the community list. Add the community first.") % {"name": row.community_name}
        raise InvalidInput("tier", words, "not_listed")
    audit.record("reddit.wished", actor=actor, subject=row.community_name, tier=priority)


@transaction.atomic
def crawl_many(chosen: Sequence[CommunityCache], *, request: HttpRequest | None = None) -> int:
    """Queue a crawl of each; return how many were not queued already."""
    runs = [actions.crawl_community_soon(row.community_name, request=request) for row in chosen]
    return sum(run is not None for run in runs)


@transaction.atomic
def remove_many(chosen: Sequence[CommunityCache], *, actor: User | None = None) -> int:
    """Take them from the list. Their stored posts stay; return their number."""
    return sum(actions.remove_community(row.community_name, actor=actor) for row in chosen)
