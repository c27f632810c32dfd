"""Recognises boards, topics and authors of the forum, on all its host names."""

from __future__ import annotations

import re
from urllib.parse import urlencode, urlsplit

from django.db import transaction
from django.urls import reverse
from django.utils.translation import gettext as _

from watchbook.base.invalid import InvalidInput
from watchbook.core.accounts.access import viewer_scopes
from watchbook.core.accounts.models import User
from watchbook.core.search.find import find
from watchbook.core.search.models import SavedSearch
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
from watchbook.systems.nga import actions, options
from watchbook.systems.nga.errors import NgaError
from watchbook.systems.nga.fetch import BoardReader
from watchbook.systems.nga.models import Forum, Post, Thread
from watchbook.systems.nga.models.forum import path
from watchbook.systems.nga.parse import ListPage

BOARD, TOPIC, FOLLOW, AUTHOR, PAST = "board", "topic", "follow", "author", "past"
# Each check of an author asks for the newest topics and the newest replies.
AUTHOR_REQUESTS = 2
# Newest rows among which the name of an author is looked for: no index has their numbers.
AUTHOR_ROWS = 100_000
EVERY_MINUTES = 720
# Each run reads the topic list until a page and the one after it hold no topic of the last 3 days.
LIST_REQUESTS = 2
SHOWN = 5
_SHORT = re.compile(r"\A(?:nga\s*)?(fid|tid)\s*[=:：]\s*(-?\d{1,12})\Z", re.IGNORECASE)


def read(pasted: Pasted) -> Found | Refusal | None:
    if short := _SHORT.match(pasted.text):
        return _found({short[1].lower(): short[2]})
    if not actions.is_forum(urlsplit(pasted.url).netloc):
        return None
    return _found(pasted.query)


def _found(query: dict[str, str]) -> Found | Refusal:
    if tid := _number(query.get("tid", "")):
        return Found(TOPIC, str(tid), _("NGA topic %(tid)s") % {"tid": tid}, "forum", _url("read", "tid", tid))
    if author := _number(query.get("authorid", "") or query.get("uid", "")):
        return Found(AUTHOR, str(author), _("NGA author %(uid)s") % {"uid": author}, "forum")
    if fid := _number(query.get("fid", "")):
        return Found(BOARD, str(fid), _("NGA board %(fid)s") % {"fid": fid}, "forum", _url("thread", "fid", fid))
    if query.get("stid"):
        return Refusal(_("This is a collection. Paste the address of its board: it contains fid=."), "collection")
    if query.get("pid"):
        return Refusal(_("This is the address of one post. Paste the address of its topic: it contains tid=."), "post")
    words = _("Open a board or a topic in the forum and paste its address: it contains fid= or tid=, such as fid=7.")
    return Refusal(words, "no_board")


def _number(text: str) -> int:
    """Return the number of a board, topic or author; 0 if the text is none. A list such as 7,8 is none."""
    return int(text) if re.fullmatch(r"-?\d{1,12}", text) else 0


def _url(script: str, name: str, value: int) -> str:
    return f"{options.BASE_URL.value}/{script}.php?{name}={value}"


def offer(user: User, found: Found) -> Offer:
    if found.kind == AUTHOR:
        return _author_offer(user, int(found.key))
    return _topic_offer(user, int(found.key)) if found.kind == TOPIC else _board_offer(user, int(found.key))


def _topics_of(fid: int) -> str:
    return f"in:nga/{fid} type:topic"


def _author_offer(user: User, uid: int) -> Offer:
    """Offer to archive what an author writes anywhere, and to be notified of it. Members are offered what is stored."""
    name = _author_name(uid)
    listed, problem = _listed_topics(uid) if user.is_staff else (ListPage(0, "", (), None, None), "")
    own = (row.author_name for row in listed.topics if row.author_source_user_id == uid and '"' not in row.author_name)
    name = name or next(own, "")
    title = _("NGA author: %(name)s") % {"name": name} if name else _("NGA author %(uid)s") % {"uid": uid}
    picks = _archive_picks(name, bool(listed.topics)) if user.is_staff else ()
    if not (name or picks):
        words = _("No stored post is by this author. Add a board on which the author writes, then check again.")
        return Offer(title, why_not=words, code="author")
    stored = find(f'in:nga author:"{name}"', scopes=viewer_scopes(user), limit=SHOWN).items if name else ()
    items = tuple(Item(hit.title, "", hit.url_path, hit.occurred_at) for hit in stored)
    news = tuple(
        Item(row.title, "", _url("read", "tid", row.tid), row.thread_created_at) for row in listed.topics[:SHOWN]
    )
    if name and not user.is_staff:
        detail = _("On the boards that this server archives")
        picks = (Pick(str(uid), _("New topics and posts"), detail, requests=0, data={"name": name}),)
    minutes = options.FOLLOW_HOURS.value * 60
    return Offer(
        title,
        picks=picks,
        items=news or items,
        items_note=_("the newest topics, read just now") if news else _("the newest stored items") if items else "",
        problem=problem,
        frequencies=(minutes,) if user.is_staff else (),
        frequency=minutes if user.is_staff else 0,
        notify=(NEW,) if name else (),
        cost_note=_("Each new topic is read once and then followed. A new reply costs 2 or 3 requests.")
        if user.is_staff
        else _("No further requests: the crawls of the boards find the author's posts."),
        limit_note=_("At most 1 request per second to the forum.") if user.is_staff else "",
        first_note=_("Stored items are not notified."),
    )


def _archive_picks(name: str, has_topics: bool) -> tuple[Pick, ...]:
    """What an operator can have archived of an author."""
    new = Pick(
        FOLLOW,
        _("New topics and replies"),
        _("On every board; of a topic of others, the pages with the author's replies"),
        requests=AUTHOR_REQUESTS,
        data={"name": name},
    )
    past = Pick(
        PAST,
        _("Older topics"),
        _("All topics that the site lists, 35 per check"),
        is_ticked=False,
        data={"name": name},
    )
    return (new, past) if has_topics else (new,)


def _listed_topics(uid: int) -> tuple[ListPage, str]:
    """The newest topics of an author, and what went wrong."""
    try:
        return BoardReader().author_page(uid), ""
    except NgaError as error:
        return ListPage(0, "", (), None, None), _(error.message)


def _author_name(uid: int) -> str:
    """The name under which the author wrote last; empty if no stored row has the number."""
    for rows in (Post.objects, Thread.objects):
        newest = rows.order_by("-pk").values_list("pk", flat=True).first() or 0
        recent = rows.filter(pk__gt=newest - AUTHOR_ROWS, author_source_user_id=uid).order_by("-pk")
        name = recent.values_list("author_name", flat=True).first()
        if name and '"' not in name:
            return str(name)
    return ""


def _board_offer(user: User, fid: int) -> Offer:
    title = _("NGA board %(fid)s") % {"fid": fid}
    known = Forum.objects.crawled().filter(source_forum_id=fid).first()
    if known is not None:
        link = Link(known.forum_name or title, f"{reverse('nga:topics')}?fid={fid}")
        notify = (Instead(_("Notify me of new topics"), _topics_of(fid)),)
        return Offer(title, exists=link, why_not=_("This board is already archived."), code="exists", instead=notify)
    if not user.is_staff:
        return Offer(title, why_not=_("Only an operator of this server can add a board."), code="not_allowed")
    try:
        page = BoardReader().list_page(fid, 1)
    except NgaError as error:
        return _offered(title, fid, None, problem=_(error.message))
    if not page.topics:
        return Offer(title, why_not=_("The forum returned no topics for this board."), code="empty")
    return _offered(_("NGA board: %(name)s") % {"name": page.forum_name or fid}, fid, page)


def _offered(title: str, fid: int, page: ListPage | None, problem: str = "") -> Offer:
    topics = [topic for topic in page.topics if not topic.is_pinned] if page else []
    newest = sorted(topics, key=lambda topic: str(topic.thread_created_at), reverse=True)[:SHOWN]
    items = tuple(Item(t.title, t.author_name, _url("read", "tid", t.tid), t.thread_created_at) for t in newest)
    total = page.total_topics if page else None
    facts = (_("%(n)s topics") % {"n": number_text(total)},) if total else ()
    name = page.forum_name if page else ""
    return Offer(
        title,
        facts=facts,
        picks=(
            Pick(
                str(fid),
                _("New topics and all posts"),
                _("Topics of the last 3 days and later; edits and deletions, too"),
                requests=LIST_REQUESTS,
                data={"name": name},
            ),
        ),
        items=items,
        items_note=_("the newest topics, read just now") if items else "",
        problem=problem,
        frequencies=(EVERY_MINUTES,),
        frequency=EVERY_MINUTES,
        frequency_note=_("Boards are crawled every 12 hours."),
        notify=(NEW,),
        is_estimate=True,
        cost_note=_("At least 2 list pages per run, and up to 5 pages of each topic with new replies."),
        limit_note=_("At most 1 request per second to the forum."),
        first_note=_("The first crawl starts now."),
    )


def _topic_offer(user: User, tid: int) -> Offer:
    """Offer one topic, whether its board is archived or not, and its board instead."""
    title = _("NGA topic %(tid)s") % {"tid": tid}
    known = Thread.objects.select_related("forum").filter(source_thread_id=tid).first()
    if known is not None:
        link = Link(known.title, path(known))
        return Offer(title, exists=link, why_not=_("This topic is already archived."), code="exists")
    if not user.is_staff:
        return Offer(title, why_not=_("Only an operator of this server can archive a topic."), code="not_allowed")
    try:
        page = BoardReader().topic_page(tid, 1)
    except NgaError as error:
        return Offer(title, why_not=_("The topic could not be read."), code="topic", problem=_(error.message))
    minutes = options.FOLLOW_HOURS.value * 60
    return Offer(
        _("NGA topic: %(title)s") % {"title": page.title},
        facts=(_("%(n)s posts") % {"n": number_text(page.total_floors)},),
        picks=(
            Pick(str(tid), _("All posts"), _("Each page is read once"), data={}),
            Pick(
                FOLLOW,
                _("New posts"),
                _("Until %(n)s days without replies") % {"n": options.FOLLOW_QUIET_DAYS.value},
                data={"follow": True},
            ),
        ),
        items=(Item(page.title, page.author_name, _url("read", "tid", tid), page.thread_created_at),),
        items_note=_("read just now"),
        instead=(Instead(_("Check board %(fid)s") % {"fid": page.fid}, _url("thread", "fid", page.fid)),)
        if page.fid
        else (),
        frequencies=(minutes,),
        frequency=minutes,
        notify_note=_("New posts appear in the inbox. To be notified, choose Notify on the page of the topic."),
        is_estimate=True,
        limit_note=_("At most 1 request per second to the forum."),
        first_note=_("The first crawl starts now."),
    )


def add(user: User, found: Found, choice: Choice) -> list[Added]:
    if found.kind == AUTHOR:
        return _add_author(user, found, choice)
    if not user.is_staff:
        raise AddError(_("Only an operator of this server can add a board."), "not_allowed")
    if found.kind == TOPIC:
        actions.archive_topic(found.key, follow=FOLLOW in choice.picks, actor=user)
        return [Added(TOPIC, found.title, reverse("nga:runs"))]
    return _add_board(user, found, choice)


def _add_author(user: User, found: Found, choice: Choice) -> list[Added]:
    picks = choice.picks
    data = next(iter(picks.values()), {})
    name = str(data.get("name", ""))
    if user.is_staff and picks:
        with transaction.atomic():
            actions.follow_author(found.key, name, with_past=PAST in picks, actor=user)
            saved = _watch_author(user, choice, name)
        return [Added(AUTHOR, name or found.title, _found_by(saved.query) if saved else reverse("nga:forums"))]
    saved = _watch_author(user, choice, name)
    if saved is None:
        raise AddError(_("Choose what to be notified about."))
    return [Added(AUTHOR, saved.name, _found_by(saved.query))]


def _watch_author(user: User, choice: Choice, name: str) -> SavedSearch | None:
    """Save a search for what the author writes, if the user wants to be notified."""
    return watch_new(user, choice, f'in:nga author:"{name}"', f"NGA: {name}") if name else None


def _found_by(query: str) -> str:
    return f"{reverse('search')}?{urlencode({'q': query})}"


def _add_board(user: User, found: Found, choice: Choice) -> list[Added]:
    fid, page = int(found.key), f"{reverse('nga:topics')}?fid={found.key}"
    name = choice.name or str(next(iter(choice.picks.values())).get("name", ""))
    try:
        with transaction.atomic():
            forum = actions.add_forum(fid, name, actor=user)
            if choice.channels:
                watch_new(user, choice, from_today(_topics_of(fid)), f"NGA: {forum.forum_name or fid}")
    except InvalidInput as error:
        raise AddError(error.message, error.code, url=page if error.code == "exists" else "") from None
    actions.crawl_soon(fid)
    return [Added(BOARD, forum.forum_name or found.title, page)]
