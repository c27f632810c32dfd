"""Forum: an archive of NGA boards: topic lists, posts, their versions, gaps."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy as _p

from watchbook.core.registry import (
    Colour,
    Example,
    Inbox,
    Job,
    Media,
    Owned,
    Recogniser,
    SearchKind,
    SettingsGroup,
    Source,
    Tool,
)
from watchbook.core.watching import cron, every
from watchbook.kit.badges import bad, info, off, ok, warn

PACKAGE = "watchbook.systems.nga"

POST_BADGES = {
    "edited": info(_p("floor", "Edited"), "edit"),
    "deleted": bad(_p("floor", "Deleted on the site"), "trash"),
    "folded": off(_p("floor", "Collapsed"), "minus"),
    "missing": warn(_p("floor", "Missing")),
    "backfilling": info(_p("floor", "Backfilling"), "s-work"),
    "skipped": off(_p("floor", "Skipped, over 1,000 pages")),
    "pinned": info(_p("floor", "Pinned"), "pin"),
    "digest": info(_p("floor", "Featured"), "star"),
}
AUDIT_BADGES = {
    "missing": warn(_p("audit", "Missing")),
    "repaired": ok(_p("audit", "Repaired")),
    "still_missing": warn(_p("audit", "Still missing")),
    "ignored": off(_p("audit", "Gave up")),
    "failed": bad(_p("audit", "Failed")),
}
FIGURES = {
    "audit_run_id": _p("forum figure", "audit ID"),
    "authors": _p("forum figure", "authors"),
    "date_window_end": _p("forum figure", "window end"),
    "date_window_start": _p("forum figure", "window start"),
    "failed_db_count": _p("forum figure", "database errors"),
    "failed_http_count": _p("forum figure", "HTTP errors"),
    "failed_parse_count": _p("forum figure", "parse errors"),
    "failed_thread_count": _p("forum figure", "failed topics"),
    "failed_unknown_count": _p("forum figure", "other errors"),
    "fetched_page_count": _p("forum figure", "pages"),
    "floors": _p("forum figure", "posts"),
    "http_request_count": _p("forum figure", "requests"),
    "list_pages": _p("forum figure", "list pages"),
    "missing_thread_count": _p("forum figure", "topics with missing posts"),
    "new_topics": _p("forum figure", "new topics"),
    "new_post_count": _p("forum figure", "new posts"),
    "new_replies": _p("forum figure", "new replies of authors"),
    "partial_thread_count": _p("forum figure", "partly repaired topics"),
    "queued": _p("forum figure", "queued files"),
    "repaired_thread_count": _p("forum figure", "repaired topics"),
    "run_id": _p("forum figure", "run ID"),
    "thread_change_detected_count": _p("forum figure", "changed topics"),
    "thread_scanned_count": _p("forum figure", "scanned topics"),
    "thread_updated_count": _p("forum figure", "updated topics"),
    "topics": _p("forum figure", "topics"),
    "total_thread_count": _p("forum figure", "checked topics"),
    "updated_post_count": _p("forum figure", "changed posts"),
}

TOOLS = (
    Tool(
        "forum_topics",
        "GET /nga/threads",
        "List archived forum topics by words, author, tag or date. `gaps=true` lists topics with missing floors.",
    ),
    Tool(
        "forum_topic",
        "GET /nga/threads/{tid}",
        "Read one archived forum topic: title, author, counts, times and known gaps.",
    ),
    Tool(
        "forum_posts",
        "GET /nga/threads/{tid}/posts",
        "Read the floors of one forum topic in order, with author, time and text.",
    ),
    Tool(
        "forum_post_versions",
        "GET /nga/posts/{post_id}/revisions",
        "List earlier versions of one forum post, with the time each was seen.",
    ),
    Tool(
        "forum_audits",
        "GET /nga/audits",
        "List the audits that compare the archive with the forum, with the number of missing floors.",
    ),
    Tool(
        "forum_gaps",
        "GET /nga/audits/{audit_id}/floors",
        "List the floors that an audit found missing or repaired.",
    ),
)

SOURCE = Source(
    slug="nga",
    title="Forum",
    icon="forum",
    order=10,
    colour=Colour("#b27021", "#d9a462"),
    badges={"floor": POST_BADGES, "audit": AUDIT_BADGES},
    figures=FIGURES,
    examples="nga/_examples.html",
    seeded_tables=("forums",),
    home_url="nga:topics",
    tools=TOOLS,
    settings=(
        SettingsGroup(
            "nga",
            _p("settings", "NGA cookie"),
            _p("settings", "Boards that need an account"),
            "forum",
            test=f"{PACKAGE}.actions:try_forum",
            used=f"{PACKAGE}.health:last_list",
        ),
    ),
    jobs=(
        Job(
            name="nga.crawl",
            title="Crawl boards",
            run=f"{PACKAGE}.jobs.crawl:crawl",
            wanted=f"{PACKAGE}.jobs.crawl:has_boards",
            schedule=every(hours=12),
            # A crashed run holds up the next one for no longer than this.
            lease_seconds=120,
        ),
        Job(
            name="nga.audit",
            title="Find missing posts",
            run=f"{PACKAGE}.jobs.audit:audit",
            queue="maintenance_queue",
            schedule=cron("40 5 * * *"),
            lease_seconds=120,
        ),
        Job(
            name="nga.thread",
            title="Crawl one topic",
            run=f"{PACKAGE}.jobs.topic:read_thread",
            lease_seconds=120,
            by_hand=False,
        ),
        Job(
            name="nga.follow",
            title="Check followed topics and authors",
            run=f"{PACKAGE}.jobs.follow:check_followed",
            wanted=f"{PACKAGE}.jobs.follow:anything_due",
            schedule=every(minutes=15),
            lease_seconds=120,
        ),
        Job(
            name="nga.reread",
            title="Find edits on old pages",
            run=f"{PACKAGE}.jobs.reread:reread",
            wanted=f"{PACKAGE}.jobs.reread:anything_due",
            schedule=every(hours=1),
            lease_seconds=120,
        ),
        Job(
            name="nga.index",
            title="Add old posts to the search",
            run=f"{PACKAGE}.jobs.maintenance:index_old_posts",
            wanted=f"{PACKAGE}.jobs.maintenance:indexing_is_wanted",
            queue="maintenance_queue",
            schedule=every(minutes=10),
            lease_seconds=120,
        ),
        Job(
            name="nga.media",
            title="Find files of posts",
            run=f"{PACKAGE}.jobs.maintenance:find_files",
            wanted=f"{PACKAGE}.jobs.maintenance:media_is_wanted",
            schedule=every(hours=1),
            lease_seconds=120,
        ),
    ),
    search_kinds=(SearchKind("nga_thread", "Topics", ("topic",)), SearchKind("nga_post", "Posts", ("floor",))),
    search_attributes=f"{PACKAGE}.store.publish:search_attributes",
    search_titles=f"{PACKAGE}.store.publish:search_titles",
    inbox=Inbox(words=f"{PACKAGE}.inbox:words", detail=f"{PACKAGE}.inbox:detail"),
    stream_kinds=(
        ("new_topic", "New topic"),
        ("title_changed", "Title changed"),
        ("edited", "Forum post edited"),
        ("deleted", "Forum post deleted"),
        ("folded", "Forum post collapsed"),
        ("gone", "Topic deleted on the site"),
        ("replied", "New posts in a followed topic"),
    ),
    audit_kinds=(
        ("nga.forum_added", "Board added"),
        ("nga.forum_changed", "Board changed"),
        ("nga.topic_followed", "Forum topic followed"),
        ("nga.topic_unfollowed", "Forum topic unfollowed"),
        ("nga.author_followed", "Forum author followed"),
        ("nga.author_unfollowed", "Forum author unfollowed"),
        ("nga.subscribed", "Forum notifications set"),
        ("nga.unsubscribed", "Forum notifications ended"),
    ),
    card=f"{PACKAGE}.card:card",
    recogniser=Recogniser(
        read=f"{PACKAGE}.recognise:read",
        offer=f"{PACKAGE}.recognise:offer",
        add=f"{PACKAGE}.recognise:add",
        examples=(
            Example(_("NGA board"), "bbs.nga.cn/thread.php?fid=7", "forum", ("board",)),
            Example(_("NGA topic"), "bbs.nga.cn/read.php?tid=40000123", "forum", ("topic",)),
            Example(_("NGA author"), "bbs.nga.cn/nuke.php?func=ucp&uid=12345", "forum", ("author",)),
        ),
    ),
    rules=(("nga.subscription", f"{PACKAGE}.store.publish:rule_subject"),),
    owned=(
        Owned(
            "forum_subscriptions",
            _("Notifications of forum topics and authors"),
            f"{PACKAGE}.actions:subscription_titles",
        ),
    ),
    media=Media(visible=f"{PACKAGE}.store.media:visible_posts", switch=f"{PACKAGE}.options:MEDIA"),
    health=f"{PACKAGE}.health:health",
    health_items=f"{PACKAGE}.health:items",
    clip=f"{PACKAGE}.clip:clip",
    origins=f"{PACKAGE}.clip:origins",
    address=f"{PACKAGE}.clip:address",
    clip_kinds=("nga_post", "nga_posts"),
)
