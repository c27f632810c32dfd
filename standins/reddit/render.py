"""Posts and comments as Reddit's API shows them: some hundred fields, most of them dull, rendered once."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from typing import Any

from standins.reddit.world import DELETED, Comment, Community, Post, Thing, World

DULL: dict[str, Any] = {
    "approved_at_utc": None, "author_flair_background_color": None, "author_flair_css_class": None,
    "author_flair_richtext": [], "author_flair_template_id": None, "author_flair_text": None,
    "author_flair_text_color": None, "author_flair_type": "text", "author_is_blocked": False,
    "author_patreon_flair": False, "author_premium": False, "all_awardings": [], "allow_live_comments": False,
    "awarders": [], "banned_at_utc": None, "banned_by": None, "can_gild": False, "can_mod_post": False,
    "category": None, "clicked": False, "content_categories": None, "contest_mode": False, "discussion_type": None,
    "distinguished": None, "gilded": 0, "gildings": {}, "hidden": False, "hide_score": False,
    "is_created_from_ads_ui": False, "is_crosspostable": True, "is_meta": False, "is_original_content": False,
    "is_reddit_media_domain": False, "is_robot_indexable": True, "is_video": False, "likes": None,
    "link_flair_background_color": "", "link_flair_css_class": None, "link_flair_richtext": [],
    "link_flair_text": None, "link_flair_text_color": "dark", "link_flair_type": "text", "locked": False,
    "media": None, "media_embed": {}, "media_only": False, "mod_note": None, "mod_reason_by": None,
    "mod_reason_title": None, "mod_reports": [], "no_follow": False, "num_crossposts": 0, "num_reports": None,
    "over_18": False, "parent_whitelist_status": "all_ads", "pinned": False, "pwls": 6, "quarantine": False,
    "removal_reason": None, "removed_by": None, "report_reasons": None, "saved": False, "secure_media": None,
    "secure_media_embed": {}, "send_replies": True, "spoiler": False, "subreddit_type": "public",
    "suggested_sort": None, "thumbnail_height": None, "thumbnail_width": None, "top_awarded_type": None,
    "total_awards_received": 0, "treatment_tags": [], "user_reports": [], "view_count": None, "visited": False,
    "whitelist_status": "all_ads", "wls": 6, "archived": False,
}  # fmt: skip


DULL_COMMENT: dict[str, Any] = {
    "all_awardings": [], "approved_at_utc": None, "associated_award": None, "author_flair_text": None,
    "author_premium": False, "awarders": [], "banned_by": None, "can_gild": False, "collapsed": False,
    "collapsed_reason": None, "comment_type": None, "controversiality": 0, "distinguished": None, "gilded": 0,
    "likes": None, "locked": False, "mod_reports": [], "no_follow": True, "num_reports": None, "saved": False,
    "score_hidden": False, "send_replies": True, "stickied": False, "total_awards_received": 0, "treatment_tags": [],
    "user_reports": [], "over_18": False, "quarantine": False, "num_comments": 3, "link_author": "made-up-reader",
}  # fmt: skip
STUB = '{"kind": "more", "data": {"count": 3, "name": "t1__", "id": "_", "parent_id": "t1__", "children": []}}'


class Printer:
    """`slim` leaves the dull fields out: a simulation of weeks serves millions of posts."""

    def __init__(self, world: World, *, slim: bool = False) -> None:
        self._world = world
        self._slim = slim
        self._kept: dict[str, tuple[int, str]] = {}

    def listing(
        self, things: Sequence[Thing], *, after: str | None, before: str | None, has_stub: bool = False
    ) -> bytes:
        """One page; `has_stub` adds a "more" entry, as threads have where they are cut."""
        shown = [self._child(made) for made in things] + ([STUB] if has_stub else [])
        children = ",".join(shown)
        head = json.dumps({"after": after, "before": before, "dist": len(shown), "modhash": "", "geo_filter": ""})
        return f'{{"kind": "Listing", "data": {{{head[1:-1]}, "children": [{children}]}}}}'.encode()

    def _child(self, made: Thing) -> str:
        self._world.show(made)
        revision, fixed = self._kept.get(made.id, (-1, ""))
        if revision != made.revision:
            fields = self._fixed(made) if isinstance(made, Post) else self._comment(made)
            fixed = json.dumps(fields, ensure_ascii=False)[1:-1]
            self._kept[made.id] = (made.revision, fixed)
        score = self._world.score(made)
        if not isinstance(made, Post):
            return f'{{"kind": "t1", "data": {{{fixed}, "score": {score}, "ups": {score}, "downs": 0}}}}'
        counts = f'"score": {score}, "ups": {score}, "downs": 0, "num_comments": {made.num_comments + score // 7}'
        return f'{{"kind": "t3", "data": {{{fixed}, {counts}}}}}'

    def _fixed(self, made: Post) -> dict[str, Any]:
        home = self._world.communities[made.community.lower()]
        permalink = f"/r/{home.name}/comments/{made.id}/a_made_up_post/"
        author = self._author(made)
        created = made.created_at.timestamp()
        return {
            **({} if self._slim else DULL),
            **author,
            **_words(made),
            "id": made.id,
            "name": f"t3_{made.id}",
            "subreddit": home.name,
            "subreddit_id": "t5_2qs0q",
            "subreddit_name_prefixed": f"r/{home.name}",
            "subreddit_subscribers": home.subscribers,
            "created_utc": created,
            "created": created + 28800,
            "edited": made.edited_at.timestamp() if made.edited_at else False,
            "is_self": not made.link,
            "url": made.link or f"https://www.reddit.com{permalink}",
            "permalink": permalink,
            "domain": "example.org" if made.link else f"self.{home.name}",
            "thumbnail": "self",
            "removed_by_category": made.removed_by or None,
            "stickied": made.is_stickied,
            "upvote_ratio": 0.91,
            **(made.extra if made.is_visible else {}),
        }

    def _comment(self, made: Thing) -> dict[str, Any]:
        """A comment of a listing names its thread and has no replies."""
        assert isinstance(made, Comment)
        home, post = self._world.communities[made.community.lower()], self._world.posts[made.post]
        created = made.created_at.timestamp()
        text = made.text if made.is_visible else "[deleted]" if made.state == DELETED else "[removed]"
        return {
            **({} if self._slim else DULL_COMMENT),
            **({"author": "[deleted]"} if not made.is_visible else self._author(made)),
            "body": text,
            "body_html": f'<div class="md"><p>{html.escape(text)}</p>\n</div>',
            "id": made.id,
            "name": made.name,
            "link_id": post.name,
            "parent_id": made.parent,
            "link_title": _words(post)["title"],
            "link_permalink": f"https://www.reddit.com/r/{home.name}/comments/{post.id}/a_made_up_post/",
            "subreddit": home.name,
            "subreddit_id": "t5_2qs0q",
            "subreddit_name_prefixed": f"r/{home.name}",
            "created_utc": created,
            "created": created,
            "edited": made.edited_at.timestamp() if made.edited_at else False,
            "is_submitter": made.author == post.author,
            "replies": "",
        }

    def _author(self, made: Thing) -> dict[str, Any]:
        if made.state == DELETED or not made.has_account:
            return {"author": "[deleted]"}
        return {"author": made.author, "author_fullname": f"t2_{made.author[:8]}"}


def _words(made: Post) -> dict[str, Any]:
    """A removed link post looks intact but for one field; a text makes way for a placeholder."""
    if made.is_visible or (made.link and made.state != DELETED):
        text, title = made.text, made.title
    else:
        text = "[deleted]" if made.state == DELETED else "[removed]"
        title = "[deleted by user]" if made.state == DELETED else made.title
    rendered = f'<div class="md"><p>{html.escape(text)}</p>\n</div>' if text else None
    return {"title": title, "selftext": text, "selftext_html": rendered}


def community_t5(home: Community) -> dict[str, Any]:
    """An entry of the search that a client lands on when it follows the redirect of an unknown name."""
    return {"kind": "t5", "data": {"id": "2qs0q", "name": "t5_2qs0q", "display_name": home.name, "title": home.name}}
