"""Erasing everything that one author wrote."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models.functions import Lower
from django.http import HttpRequest
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.invalid import InvalidInput
from watchbook.base.text import clean_text, cut
from watchbook.core.accounts import audit
from watchbook.systems.reddit.actions import author_name, by_author, erase_posts
from watchbook.systems.reddit.models import Comment, PostRaw
from watchbook.systems.reddit.models.posts import SOURCE
from watchbook.systems.reddit.store import erased, hot
from watchbook.systems.reddit.store.posts import publish_current

NAME = re.compile(r"[A-Za-z0-9_-]{1,60}")
MAX_REASON = 200


@dataclass(frozen=True)
class Written:
    """What is stored of an author. `crossposts` are posts of others that hold a text of this author."""

    posts: int
    comments: int
    crossposts: int


def checked_name(text: str) -> str:
    """Return the name without `u/`, as it was written."""
    name = text.strip().strip("/")
    name = name[2:] if name[:2].lower() == "u/" else name
    if not NAME.fullmatch(name):
        raise InvalidInput("author", _("This is not the name of a Reddit account."))
    return name


def written_by(author: str) -> Written:
    name = checked_name(author)
    posts = by_author(PostRaw.objects.current().filter(source=SOURCE), name).count()
    comments = Comment.objects.alias(folded=Lower("author")).filter(folded=author_name(name)).count()
    return Written(posts, comments, len({row.source_post_id for row in erased.crossposts_of(name)}))


@transaction.atomic
def erase_author(author: str, *, reason: str = "", actor: Any = None, request: HttpRequest | None = None) -> Written:
    """Erase all posts and comments of an author in every version and copy, and store nothing of the author again.

    The audit log holds the numbers and the reason, never the name.
    """
    name = checked_name(author)
    found = written_by(name)
    why = re.sub(re.escape(name), "…", cut(clean_text(reason).strip(), MAX_REASON), flags=re.IGNORECASE)
    erased.remember(name, clock.now())
    erase_posts(author=name, actor=actor, reason=why)
    parents = erased.crossposts_of(name)
    erased.erase_parents(parents)
    hot.clear_cached({row.subreddit for row in parents})
    publish_current([row for row in parents if row.is_current and row.blanked_at is None])
    audit.record(
        "reddit.author_erased", actor=actor, request=request, subject="", posts=found.posts, comments=found.comments,
        crossposts=found.crossposts, reason=why,
    )  # fmt: skip
    return found


@transaction.atomic
def allow_author(author: str, *, actor: Any = None, request: HttpRequest | None = None) -> bool:
    """Store posts and comments of an erased author again. What was erased returns only if a crawl sees it."""
    if not erased.allow(checked_name(author)):
        return False
    audit.record("reddit.author_allowed", actor=actor, request=request, subject="")
    return True
