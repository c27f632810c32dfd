"""States, tiers and reasons in the reader's words."""

from __future__ import annotations

from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import pgettext, pgettext_lazy

from watchbook.core.ui import badges
from watchbook.core.ui.badges import Badge
from watchbook.sources.reddit import actions
from watchbook.sources.reddit.models import CommunityCache, Outcome, PostRaw, Wish
from watchbook.sources.reddit.store.communities import OUT_OF_POOL
from watchbook.sources.reddit.store.looks import GONE

TIERS = {
    "tier1": pgettext_lazy("community", "Tier 1"),
    "tier2": pgettext_lazy("community", "Tier 2"),
    "tier3": pgettext_lazy("community", "Tier 3"),
}
# What Reddit says about who took a post away; it invents new words, which are shown as they are.
REMOVERS = {
    "moderator": pgettext_lazy("removed", "by moderators"),
    "automod_filtered": pgettext_lazy("removed", "held back by a filter"),
    "reddit": pgettext_lazy("removed", "by Reddit"),
    "anti_evil_ops": pgettext_lazy("removed", "by Reddit"),
    "community_ops": pgettext_lazy("removed", "by Reddit"),
    "copyright_takedown": pgettext_lazy("removed", "after a copyright claim"),
    "content_takedown": pgettext_lazy("removed", "after a legal claim"),
    GONE: pgettext_lazy("removed", "not found in two looks by its id"),
}
REASONS = {
    "posted": pgettext_lazy("version", "as first seen"),
    "edited": pgettext_lazy("version", "the text changed"),
    "returned": pgettext_lazy("version", "an earlier text came back"),
}


def tier_text(tier: str) -> str:
    return str(TIERS.get(tier, tier))


def wish_text(wish: str) -> str:
    words = {
        Wish.HIGH: pgettext("community", "wished high"),
        Wish.MEDIUM: pgettext("community", "wished medium"),
        Wish.LOW: pgettext("community", "wished low"),
    }
    return words[Wish(wish)] if wish in Wish.values else pgettext("community", "not in the pool")


def outcome_text(outcome: str) -> str:
    return str(Outcome(outcome).label) if outcome in Outcome.values else outcome


def inactive_text(row: CommunityCache) -> str:
    """Why it is not visited: an operator's switch, or what Reddit answered three times."""
    if row.inactive_reason == OUT_OF_POOL:
        return pgettext("community", "switched off")
    return outcome_text(row.inactive_reason)


def community_badge(row: CommunityCache, now: datetime) -> Badge:
    return badges.find("community", actions.state_of(row, now))


def post_badges(row: PostRaw) -> list[Badge]:
    """The worst one last."""
    found = []
    if row.version > 1:
        found.append(badges.edited(row.version - 1))
    if row.author_deleted:
        found.append(badges.find("floor", "deleted"))
    elif row.removed_by_category:
        found.append(badges.find("community", "removed"))
    return found


def removed_text(row: PostRaw) -> str:
    """Who took it away, as far as Reddit says."""
    if row.author_deleted:
        return pgettext("removed", "by its author")
    return str(REMOVERS.get(row.removed_by_category, row.removed_by_category))


def title_text(row: PostRaw) -> str:
    """A post without words still needs something to press on."""
    if row.title:
        return row.title
    return _("Post %(id)s, words blanked") % {"id": row.source_post_id} if row.blanked_at else row.source_post_id
