"""Context that all pages share, and states, reasons and tiers in words."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import pgettext, pgettext_lazy

from watchbook.base import clock
from watchbook.core.alerts.models import Alert
from watchbook.core.jobs.models import JobRun
from watchbook.core.jobs.overview import ShownRun
from watchbook.kit import badges
from watchbook.kit.badges import Badge
from watchbook.systems.reddit import actions, options
from watchbook.systems.reddit.health import health
from watchbook.systems.reddit.models import Comment, CommunityCache, CommunityPriority, Outcome, PostRaw
from watchbook.systems.reddit.pool import NAME
from watchbook.systems.reddit.store.communities import DISABLED
from watchbook.systems.reddit.store.kinds import GONE

POST_ID = re.compile(r"[0-9a-z]{1,20}")
AUTHOR = re.compile(r"[\w-]{1,60}", re.ASCII)


def page_context(request: HttpRequest, tab: str) -> dict[str, Any]:
    return {
        "tab": tab,
        "work": live_work(),
        "alert_count": Alert.objects.open().filter(source="reddit").count(),
        "is_operator": is_operator(request),
        "is_live": options.is_live(),
        "health": health(),
        "now": clock.now(),
    }


def is_operator(request: HttpRequest) -> bool:
    return bool(getattr(request.user, "is_staff", False))


def live_work() -> ShownRun | None:
    """Return a queued or running crawl that a user or the half-hour schedule started, or None."""
    now = clock.now()
    run = JobRun.objects.current((actions.CRAWL_DUE, actions.CRAWL_ONE), now)
    return ShownRun(run, now) if run else None


def community_or_404(name: str) -> CommunityCache:
    """Return the community, ignoring case. A value that cannot be a name causes no query."""
    if NAME.fullmatch(name) is None:
        raise Http404
    try:
        return actions.community(name)
    except actions.Unknown:
        raise Http404 from None


def post_or_404(post_id: str) -> PostRaw:
    if POST_ID.fullmatch(post_id) is None:
        raise Http404
    try:
        return actions.post(post_id)
    except actions.Unknown:
        raise Http404 from None


TIERS = {
    "tier1": pgettext_lazy("community", "Tier 1"),
    "tier2": pgettext_lazy("community", "Tier 2"),
    "tier3": pgettext_lazy("community", "Tier 3"),
}
# Values of removed_by_category. Reddit adds new ones, which are shown unchanged.
REMOVERS = {
    "moderator": pgettext_lazy("removed", "by moderators"),
    "automod_filtered": pgettext_lazy("removed", "held by a filter"),
    "reddit": pgettext_lazy("removed", "by Reddit"),
    "anti_evil_ops": pgettext_lazy("removed", "by Reddit"),
    "community_ops": pgettext_lazy("removed", "by Reddit"),
    "copyright_takedown": pgettext_lazy("removed", "after a copyright claim"),
    "content_takedown": pgettext_lazy("removed", "after a legal claim"),
    GONE: pgettext_lazy("removed", "not found in 2 rechecks"),
}
REASONS = {
    "posted": pgettext_lazy("version", "as first seen"),
    "edited": pgettext_lazy("version", "the text changed"),
    "returned": pgettext_lazy("version", "an earlier text was restored"),
}


def tier_text(tier: str) -> str:
    return str(TIERS.get(tier, tier))


def priority_text(priority: str) -> str:
    words = {
        CommunityPriority.HIGH: pgettext("community", "priority: high"),
        CommunityPriority.MEDIUM: pgettext("community", "priority: medium"),
        CommunityPriority.LOW: pgettext("community", "priority: low"),
    }
    if priority not in CommunityPriority.values:
        return pgettext("community", "not in the list")
    return words[CommunityPriority(priority)]


def outcome_text(outcome: str) -> str:
    return str(Outcome(outcome).label) if outcome in Outcome.values else outcome


def inactive_text(row: CommunityCache) -> str:
    """Return why the community is not crawled: disabled by an operator, or refused by Reddit."""
    if row.inactive_reason == DISABLED:
        return pgettext("community", "disabled by an operator")
    return outcome_text(row.inactive_reason)


def community_badge(row: CommunityCache, now: datetime) -> Badge:
    return badges.find("community", actions.state_of(row, now))


def post_badges(row: PostRaw | Comment) -> list[Badge]:
    """Return the badges of a post or comment, the most serious one last."""
    found = []
    if row.version > 1:
        found.append(badges.edited(row.version - 1))
    if row.author_deleted:
        found.append(badges.find("reddit_post", "deleted"))
    elif row.removed_by_category:
        found.append(badges.find("community", "removed"))
    return found


def removed_text(row: PostRaw | Comment) -> str:
    """Return who removed the post or comment, as given by Reddit."""
    if row.author_deleted:
        return pgettext("removed", "by the author")
    return str(REMOVERS.get(row.removed_by_category, row.removed_by_category))


def title_text(row: PostRaw) -> str:
    """Return the title, or a replacement for an erased one."""
    if row.title:
        return row.title
    return _("Post %(id)s, text erased") % {"id": row.source_post_id} if row.blanked_at else row.source_post_id
