"""Recognises communities and posts of Reddit in all forms that people copy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from urllib.parse import urlsplit

from django.db import transaction
from django.utils.translation import gettext as _

from watchbook.base.web.errors import WebError
from watchbook.core.accounts.models import User
from watchbook.core.search.recognise import from_today, watch_new
from watchbook.core.sources.records import (
    NEW,
    Added,
    AddError,
    Choice,
    Found,
    Instead,
    Item,
    Link,
    Offer,
    Pasted,
    Pick,
    Refusal,
)
from watchbook.kit.formatting import number_text
from watchbook.systems.reddit import actions, options
from watchbook.systems.reddit.actions.comments import set_comments
from watchbook.systems.reddit.fetch.client import fetch_by_id, fetch_listing, follow_shared_link
from watchbook.systems.reddit.fetch.errors import RedditError, Refused
from watchbook.systems.reddit.models import CommunityCache, Outcome, PostRaw
from watchbook.systems.reddit.parse import PostRecord
from watchbook.systems.reddit.pool import PoolEntry
from watchbook.systems.reddit.records import community_path, post_path
from watchbook.systems.reddit.schedule import AFFORDABLE_SHARE, comment_requests

COMMUNITY, POST = "subreddit", "post"
PRIORITIES = {120: "high", 360: "medium", 1440: "low"}
SHOWN = 5
USUAL_MINUTES = 360
COMMENTS = "comments"
_NAME = r"([A-Za-z0-9][A-Za-z0-9_]{1,49})"
_SHORT = re.compile(rf"\A/?r\s?/\s?{_NAME}/?\Z", re.IGNORECASE)
_SHORT_USER = re.compile(r"\A/?u(?:ser)?/[\w-]{2,40}/?\Z", re.IGNORECASE)
_COMMUNITY = re.compile(rf"\A/r/{_NAME}(?:/(.*))?\Z", re.IGNORECASE)
_COMMENTS = re.compile(r"(?:\A|/)(?:comments|gallery)/([0-9a-z]{4,10})(?:/|\Z)", re.IGNORECASE)
_SHARED = re.compile(r"\As/([0-9A-Za-z]{4,20})/?\Z")
_ID = re.compile(r"\A/([0-9a-z]{4,10})/?\Z", re.IGNORECASE)
# Listings of every community.
_EVERYTHING = ("all", "popular")
_MEDIA = ("i.redd.it", "v.redd.it", "preview.redd.it", "external-preview.redd.it")


def read(pasted: Pasted) -> Found | Refusal | None:
    whole = pasted.text.strip(" \"'<>")
    if short := _SHORT.match(whole):
        return _community(short[1])
    if _SHORT_USER.match(whole):
        return _user()
    if pasted.host in _MEDIA:
        return Refusal(_("This is a picture or video. Paste the address of its post or community."), "media")
    if pasted.is_on("redd.it"):
        found = _ID.match(pasted.path)
        return _post(found[1]) if found else _nothing()
    if pasted.is_on("reddit.app.link"):
        words = _("Open this link of the app in a browser, and paste the address that the browser shows.")
        return Refusal(words, "app")
    if not pasted.is_on("reddit.com"):
        return None
    return _address(pasted.path)


def _address(path: str) -> Found | Refusal:
    path = re.sub(r"\A/(?:amp|mobile)(?=/)", "", path).removesuffix(".rss").removesuffix(".json")
    if re.match(r"\A/(?:u|user)/", path, re.IGNORECASE):
        return _user()
    if re.match(r"\A/r/[\w+-]*\+", path, re.IGNORECASE):
        return _several()
    community = _COMMUNITY.match(path)
    if community is None:
        post = _COMMENTS.search(path)
        return _post(post[1]) if post else _nothing()
    name, rest = community[1], community[2] or ""
    if post := _COMMENTS.search(rest):
        return _post(post[1], name)
    if shared := _SHARED.match(rest):
        return _shared(name, shared[1])
    return _community(name)


def _community(name: str) -> Found | Refusal:
    if name.lower() in _EVERYTHING:
        return _several()
    return Found(COMMUNITY, f"r/{name}", f"r/{name}", "community", f"https://www.reddit.com/r/{name}/")


def _post(post_id: str, community: str = "") -> Found:
    """A post is found through its community; `key` is the ID and, if the address names it, the community."""
    note = _("Watchbook crawls whole communities, not single posts.")
    title = _("Reddit post %(id)s") % {"id": post_id.lower()}
    key = f"{post_id.lower()} r/{community}" if community else post_id.lower()
    return Found(POST, key, title, "community", f"https://www.reddit.com/comments/{post_id.lower()}/", (note,))


def _shared(name: str, code: str) -> Found:
    """A share link; the post behind it is known only to Reddit."""
    note = _("The share link names %(name)s. Watchbook crawls the whole community.") % {"name": f"r/{name}"}
    address = f"https://www.reddit.com/r/{name}/s/{code}"
    return Found(POST, f"s/{code} r/{name}", f"r/{name}", "community", address, (note,))


def _user() -> Refusal:
    return Refusal(_("Watchbook crawls communities, not users. Paste a community, such as r/gardening."), "user")


def _several() -> Refusal:
    return Refusal(_("This address joins several communities. Paste one community at a time."), "several")


def _nothing() -> Refusal:
    return Refusal(_("This Reddit address names no community. Paste one, such as r/gardening."), "no_community")


def offer(user: User, found: Found) -> Offer:
    if found.kind == COMMUNITY:
        return _community_offer(user, found.key)
    post_id, _space, community = found.key.partition(" ")
    if post_id.startswith("s/"):
        post_id = _post_behind(user, community, post_id) or ""
        if not post_id:
            return _community_offer(user, community)
    known = PostRaw.objects.current().of([post_id]).first()
    if known is not None:
        link = Link(known.title, post_path(post_id))
        return Offer(found.title, exists=link, why_not=_("This post is already stored."), code="exists")
    if not user.is_staff:
        return _operators_only(found.title)
    try:
        community = community or _community_of(post_id)
    except RedditError as error:
        return Offer(found.title, problem=_reason(error), why_not=_("The community of this post is not known."))
    if not community:
        why = _("Reddit access is not set up, so the community of this post is not known. Paste the community.")
        return Offer(found.title, why_not=why, code="no_community")
    return _community_offer(user, community)


def _post_behind(user: User, community: str, shared: str) -> str:
    """Return the post behind a share link. A member costs no request; without an answer the community remains."""
    if not user.is_staff:
        return ""
    try:
        target = follow_shared_link(f"/{community}/{shared}")
    except WebError:
        return ""
    post = _COMMENTS.search(urlsplit(target).path)
    return post[1].lower() if post else ""


def _community_of(post_id: str) -> str:
    if not options.is_live():
        return ""
    posts = fetch_by_id([post_id]).posts
    return f"r/{posts[0].subreddit}" if posts else ""


def _operators_only(title: str) -> Offer:
    return Offer(title, why_not=_("Only an operator of this server can add a community."), code="not_allowed")


def _community_offer(user: User, name: str) -> Offer:
    known = CommunityCache.objects.filter(community_name__iexact=name).first()
    if known is not None:
        link = Link(known.community_name, community_path(known.community_name))
        notify = (Instead(_("Notify me of new posts"), _posts_of(known.community_name)),)
        why = _("This community is already in the list.")
        return Offer(name, exists=link, why_not=why, code="exists", instead=notify)
    if not user.is_staff:
        return _operators_only(name)
    if not options.is_live():
        words = _("Reddit access is not set up: the community is saved and crawled when an operator sets it up.")
        return _offered(name, problem=words)
    try:
        posts = fetch_listing(name.removeprefix("r/")).posts
    except Refused as error:
        return Offer(name, why_not=_reason(error), code=str(error.outcome))
    except RedditError as error:
        return _offered(name, problem=_reason(error))
    items = tuple(Item(post.title, post.author, post.url, post.created_at) for post in posts[:SHOWN])
    return _offered(name, items, comments=_comments_per_day(posts))


def _comments_per_day(posts: Sequence[PostRecord]) -> float | None:
    """Estimate from the newest posts: their comments, over the time in which they were posted."""
    if len(posts) < 2:
        return None
    newest, oldest = max(post.created_at for post in posts), min(post.created_at for post in posts)
    days = max((newest - oldest) / timedelta(days=1), 1 / 24)
    return sum(post.num_comments for post in posts) / days


def _posts_of(name: str) -> str:
    return f"in:reddit/{name.removeprefix('r/')}"


def _reason(error: RedditError) -> str:
    label = Outcome(error.outcome).label if error.outcome in Outcome.values else error.outcome
    return _("Reddit did not return this community: %(reason)s.") % {"reason": label}


def _comments_pick(name: str, per_day: float | None) -> Pick:
    """Ticked where the comments cost little of the budget; where nothing is known, the user decides."""
    crawls = 1440 / USUAL_MINUTES
    budget = options.DAILY_BUDGET.value
    cost = comment_requests(per_day or 0, crawls)
    if per_day is None:
        detail = _("About 1 request per 25 comments, rechecks included")
    else:
        detail = _("At least %(n)s requests per day, of %(budget)s in the budget") % {
            "n": number_text(cost), "budget": number_text(budget)
        }  # fmt: skip
    is_cheap = options.COMMENTS.value or (per_day is not None and cost <= budget * AFFORDABLE_SHARE)
    return Pick(
        COMMENTS, _("Comments"), detail, requests=max(1, round(cost / crawls)), is_ticked=is_cheap,
        data={"community": name},
    )  # fmt: skip


def _offered(name: str, items: tuple[Item, ...] = (), problem: str = "", comments: float | None = None) -> Offer:
    posts = Pick(name, _("New posts"), _("Every version; edits and removals are checked 3 times"), data={})
    return Offer(
        _("Community: %(name)s") % {"name": name},
        picks=(posts, _comments_pick(name, comments)),
        items=items,
        items_note=_("the newest posts, read just now") if items else "",
        problem=problem,
        frequencies=tuple(PRIORITIES),
        frequency=USUAL_MINUTES,
        frequency_note=_("At least this often; active communities more often."),
        notify=(NEW,),
        is_estimate=True,
        cost_note=_("Active communities and rechecks use more, within the daily request budget of Reddit."),
        first_note=_("The first crawl starts now."),
    )


def add(user: User, found: Found, choice: Choice) -> list[Added]:
    if not user.is_staff:
        raise AddError(_("Only an operator of this server can add a community."), "not_allowed")
    wanted = dict(choice.picks)
    comments = wanted.pop(COMMENTS, None)
    # Posts come with their comments: a comment without its thread says little.
    name = next(iter(wanted), "") or str((comments or {}).get("community", ""))
    known = CommunityCache.objects.filter(community_name__iexact=name).first()
    if known is not None:
        raise AddError(_("This community is already in the list."), "exists", url=community_path(known.community_name))
    minutes = next((step for step in sorted(PRIORITIES, reverse=True) if step <= choice.frequency), min(PRIORITIES))
    with transaction.atomic():
        actions.load_entries([PoolEntry(name, tier=PRIORITIES[minutes])], name, actor=user)
        if (comments is not None) != options.COMMENTS.value:
            set_comments(name, comments is not None, actor=user)
        if choice.channels:
            watch_new(user, choice, from_today(_posts_of(name)), name)
    if options.is_live():
        actions.crawl_community_soon(name)
    return [Added(COMMUNITY, name, community_path(name))]
