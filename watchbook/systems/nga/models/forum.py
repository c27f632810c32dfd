"""Column types of the specification; boards and topics, with the addresses of their pages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

from django.db import connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.functions import Cast, Coalesce
from django.urls import get_script_prefix, reverse
from django.utils.functional import cached_property

from watchbook.base import clock
from watchbook.base.store.fields import WallTimeField


class IdField(models.BigAutoField):  # type: ignore[type-arg]
    """bigint unsigned, counted by the database."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"primary_key": True, "db_comment": "内部主键", **options})

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return "bigint unsigned AUTO_INCREMENT" if connection.vendor == "mysql" else str(super().db_type(connection))

    def rel_db_type(self, connection: BaseDatabaseWrapper) -> str:
        if connection.vendor == "mysql":
            return "bigint unsigned"
        return str(super().rel_db_type(connection))  # type: ignore[misc]


class ByteField(models.PositiveSmallIntegerField):  # type: ignore[type-arg]
    """tinyint unsigned: at most 255."""

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return "tinyint unsigned" if connection.vendor == "mysql" else str(super().db_type(connection))


class HtmlField(models.TextField):  # type: ignore[type-arg]
    """mediumtext: at most 16 MB."""

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return "mediumtext" if connection.vendor == "mysql" else str(super().db_type(connection))


class DigestField(models.CharField):  # type: ignore[type-arg]
    """char(64): a SHA-256 in hex."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"max_length": 64, **options})

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return "char(64)"


def created_at() -> WallTimeField:
    return WallTimeField(default=clock.now, db_comment="创建时间")


def updated_at() -> WallTimeField:
    return WallTimeField(default=clock.now, db_comment="更新时间")


if TYPE_CHECKING:
    from watchbook.systems.nga.models.posts import Post, ThreadPageReading

PAGE_LIMIT = 5
MOST_PAGES = 1000
FLOORS_PER_PAGE = 20
MOST_REQUESTS_PER_SECOND = 1.0


class ForumQuerySet(models.QuerySet["Forum"]):
    def crawled(self) -> ForumQuerySet:
        """Return the boards whose topic lists are crawled, in the order in which they were added."""
        return self.filter(single_topics=None).order_by("pk")


class Forum(models.Model):
    """A board that is archived, and how it may be asked."""

    id = IdField()
    # Signed and wide: boards with negative numbers are ordinary boards.
    source_forum_id = models.BigIntegerField(unique=True, db_comment="NGA fid（如 7）")
    forum_name = models.CharField(max_length=100, null=True, db_comment="版块名称（可选）")
    list_url = models.CharField(max_length=255, db_comment="版块列表 URL（排查用，默认带 `order_by=postdatedesc`）")
    crawl_page_limit = ByteField(default=PAGE_LIMIT, db_comment="单次抓取页上限（5）")
    request_rate_limit_per_sec = models.DecimalField(
        max_digits=5, decimal_places=2, default=Decimal("1.00"), db_comment="限速（<=1.00）"
    )
    created_at = created_at()
    updated_at = updated_at()

    objects = ForumQuerySet.as_manager()

    class Meta:
        db_table = "forums"
        db_table_comment = "NGA 版块配置与抓取策略（支持多 fid 扩展）"

    def __str__(self) -> str:
        return self.forum_name or f"fid={self.source_forum_id}"

    @property
    def is_crawled(self) -> bool:
        """Whether the topic list is crawled; False if only single topics are archived."""
        return not hasattr(self, "single_topics")

    @property
    def requests_per_second(self) -> float:
        return min(float(self.request_rate_limit_per_sec), MOST_REQUESTS_PER_SECOND)


class ThreadQuerySet(models.QuerySet["Thread"]):
    """Reads of the list. Orders are paged by key: `keyset(rows, request.GET, by="thread_created_at")`."""

    def numbered(self, tid: int, fid: int | None = None) -> ThreadQuerySet:
        """A topic, and its mirrors under other boards; the one found first comes first. `fid`: one board's."""
        rows = self.filter(source_thread_id=tid).order_by("pk")
        return rows if fid is None else rows.filter(forum__source_forum_id=fid)

    def with_mirrors(self) -> ThreadQuerySet:
        """Each topic knows its board and whether it is a mirror, so that a list of addresses asks nothing more.

        The board is not joined: SQLite would begin with the few boards and then sort every topic for one page. Topics
        of `forum.threads` know it without a query.
        """
        return self.prefetch_related("forum").annotate(is_mirror=_found_before())  # type: ignore[no-redef]

    def with_readings(self) -> ThreadQuerySet:
        """Annotate `edits_known_until`: when the page was read that was not read for the longest time."""
        from watchbook.systems.nga.models.posts import ThreadPageReading  # both refer to this table

        rows = ThreadPageReading.objects.filter(thread=models.OuterRef("pk")).order_by().values("thread")
        oldest = rows.annotate(oldest=models.Min("read_at")).values("oldest")
        return self.annotate(edits_known_until=models.Subquery(oldest))

    def mark_mirrors(self, threads: Sequence[Thread]) -> None:
        """The same for topics that are in memory already: one query for all of them that do not know it."""
        threads = [thread for thread in threads if "is_mirror" not in thread.__dict__]
        if not threads:
            return
        rows = self.filter(_found_before(), pk__in=[thread.pk for thread in threads])
        mirrors = set(rows.values_list("pk", flat=True))
        for thread in threads:
            thread.is_mirror = thread.pk in mirrors

    def tagged(self, text: str, source: str = "") -> ThreadQuerySet:
        """Topics that ever carried this tag."""
        tags = ThreadTag.objects.filter(tag_text=text)
        if source:
            tags = tags.filter(tag_source=source)
        return self.filter(pk__in=ThreadTagMap.objects.filter(tag__in=tags).values("thread_id"))

    def prefixed(self, text: str) -> ThreadQuerySet:
        return self.filter(title_prefix_text=text)

    def with_gaps(self) -> ThreadQuerySet:
        """Topics with missing posts now, each with `missing_count`: the same count as in the list and on the topic.

        Counting the posts of every topic is expensive. A gap that the newest audit did not see can only come from a
        later run, so that only topics of that audit and of later runs are counted.
        """
        from watchbook.systems.nga.models.posts import Post  # both refer to this table
        from watchbook.systems.nga.models.runs import CrawlRunThread, ThreadFloorAuditThread

        stored = Post.objects.filter(thread=models.OuterRef("pk")).order_by().values("thread")
        count = Coalesce(models.Subquery(stored.annotate(number=models.Count("pk")).values("number")), 0)
        audited = ThreadFloorAuditThread.objects.open_in_newest().values("thread_id")
        crawled = CrawlRunThread.objects.since_newest_audit().values("thread_id")
        # PostgreSQL would read every topic for an OR; MariaDB would run a union again for each topic.
        is_union = connections[self.db].vendor != "mysql"
        rows = self.filter(
            models.Q(pk__in=audited.union(crawled)) if is_union else models.Q(pk__in=audited) | models.Q(pk__in=crawled)
        )
        # Such a topic is crawled from its end: what lies below the cursor is still to be crawled.
        backwards = ThreadReadingState.objects.filter(thread=models.OuterRef("pk"), is_newest_first=True)
        rows = rows.exclude(models.Exists(backwards), crawl_backfill_next_page_number__isnull=False)
        # MariaDB refuses a difference of unsigned columns below 0: more posts than the cursor knows.
        missing = Cast("crawl_cursor_max_floor_number", models.BigIntegerField()) + 1 - count
        return rows.annotate(missing_count=missing).filter(missing_count__gt=0)

    def unfinished(self) -> ThreadQuerySet:
        """Topics that owe pages: cut by the page limit, or a page of theirs could not be read. Oldest first."""
        owed = self.exclude(crawl_backfill_next_page_number=None).exclude(reading_state__gone_at__isnull=False)
        return owed.order_by("thread_created_at", "pk")


def _found_before() -> models.Exists:
    same = Thread.objects.filter(source_thread_id=models.OuterRef("source_thread_id"))
    return models.Exists(same.filter(pk__lt=models.OuterRef("pk")))


class Thread(models.Model):
    """A topic as its list row and its pages showed it, and how far it has been read."""

    id = IdField()
    forum = models.ForeignKey(
        Forum, models.CASCADE, related_name="threads", db_index=False, db_comment="所属版块（forums.id）"
    )
    source_thread_id = models.PositiveBigIntegerField(db_comment="NGA tid")
    title = models.CharField(max_length=200, db_comment="标题原文")
    title_prefix_text = models.CharField(
        max_length=40, null=True, db_comment="标题前缀括号内文本（如 `水`；显示时前端拼成 `[水]`）"
    )
    author_name = models.CharField(max_length=80, db_comment="楼主显示名")
    author_source_user_id = models.PositiveBigIntegerField(null=True, db_comment="楼主 uid（抓得到就存）")
    thread_created_at = WallTimeField(db_comment="发帖时间（近 3 天口径）")
    last_reply_at = WallTimeField(null=True, db_comment="最后回复时间（变化判定字段）")
    reply_count_display = models.PositiveIntegerField(default=0, db_comment="列表页显示回复数（以此为准）")
    view_count_display = models.PositiveIntegerField(null=True, db_comment="列表页显示浏览数（可选）")
    is_pinned = models.BooleanField(default=False, db_comment="是否置顶")
    is_digest = models.BooleanField(default=False, db_comment="是否精华")
    first_seen_on_list_page_number = models.PositiveSmallIntegerField(
        null=True, db_comment="首次发现该主题时位于列表第几页"
    )
    last_seen_on_list_page_number = models.PositiveSmallIntegerField(
        null=True, db_comment="最近一次扫描到时位于列表第几页"
    )
    is_truncated_by_page_limit = models.BooleanField(default=False, db_comment="当前是否仍未抓全（受单次页上限影响）")
    # A page of a topic goes up to a thousand: a byte, as first thought, does not hold it.
    truncated_at_page_number = models.PositiveSmallIntegerField(
        null=True, db_comment="本次抓取到的最后页码（绝对页码，用于排查/提示）"
    )
    last_crawled_at = WallTimeField(null=True, db_comment="最近成功抓取时间")
    last_detected_change_at = WallTimeField(null=True, db_comment="最近一次检测到变化的时间")
    crawl_page_total_last_seen = models.PositiveIntegerField(
        null=True, db_comment="最近一次探测到的主题总页数（用于分段补齐与>1000页跳过判定）"
    )
    crawl_backfill_next_page_number = models.PositiveIntegerField(
        null=True, db_comment="分段补齐的下次起始页码（1-based；NULL表示已补齐到当前已知总页数）"
    )
    is_skipped_by_page_total_limit = models.BooleanField(
        default=False, db_comment="是否因主题总页数>1000页而跳过详情抓取（不抓posts）"
    )
    skipped_by_page_total_limit_at = WallTimeField(null=True, db_comment="首次触发“>1000页跳过”的时间（用于审计排查）")
    crawl_cursor_max_floor_number = models.PositiveIntegerField(
        null=True, db_comment="已抓到最大楼层号（0 基增量游标）"
    )
    crawl_cursor_max_source_post_id = models.PositiveBigIntegerField(null=True, db_comment="已抓到最大 pid（增量游标）")
    title_last_changed_at = WallTimeField(null=True, db_comment="标题最后变化时间（排查/可视化用）")
    created_at = created_at()
    updated_at = updated_at()

    objects = ThreadQuerySet.as_manager()

    if TYPE_CHECKING:
        posts: models.Manager[Post]
        page_readings: models.Manager[ThreadPageReading]

    class Meta:
        db_table = "threads"
        db_table_comment = "NGA 主题（列表页实体 + 增量判定 + 抓取游标 + 截断信息）"
        constraints = [
            models.UniqueConstraint(fields=["forum", "source_thread_id"], name="threads_forum_source_thread_unique")
        ]
        indexes = [
            models.Index(fields=["forum", "thread_created_at"], name="threads_forum_created_idx"),
            models.Index(fields=["forum", "last_reply_at"], name="threads_forum_last_reply_idx"),
            models.Index(fields=["forum", "title"], name="threads_forum_title_idx"),
            # What owes pages is a handful among a million.
            models.Index(fields=["forum", "crawl_backfill_next_page_number"], name="threads_forum_backfill_idx"),
            models.Index(fields=["source_thread_id"], name="threads_source_thread_idx"),
            models.Index(fields=["updated_at", "id"], name="threads_updated_idx"),
        ]

    def __str__(self) -> str:
        return self.title

    @cached_property
    def is_mirror(self) -> bool:
        """Was the same topic found under another board before? Then its address has to name its own."""
        return Thread.objects.filter(source_thread_id=self.source_thread_id, pk__lt=self.pk).exists()

    @property
    def at_board(self) -> str:
        """Return the query of this topic's address: its board, if the number alone means another row."""
        return f"?fid={self.forum.source_forum_id}" if self.is_mirror else ""

    def read_times(self) -> dict[int, datetime]:
        """When each page was last read whole, by its number."""
        return dict(self.page_readings.values_list("page_number", "read_at"))

    @property
    def floor_page_count(self) -> int:
        """Pages of stored floors, cut by floor number as the forum cuts them."""
        highest = self.crawl_cursor_max_floor_number
        return 0 if highest is None else highest // FLOORS_PER_PAGE + 1


class ThreadReadingState(models.Model):
    """Crawl state of a topic that has no column in `threads`. Most topics have no row."""

    thread = models.OneToOneField(Thread, models.CASCADE, primary_key=True, related_name="reading_state")
    # Newest replies first: the page of a floor is counted from the end.
    is_newest_first = models.BooleanField(default=False)
    # Answers in a row, one a run, which said that the topic is gone or hidden.
    gone_answer_count = models.PositiveSmallIntegerField(default=0)
    gone_crawl_run_id = models.PositiveBigIntegerField(null=True)
    gone_at = WallTimeField(null=True)
    updated_at = updated_at()

    class Meta:
        db_table = "thread_reading_states"
        db_table_comment = "主题阅读状态（倒序、来源不可见次数；多数主题没有此行）"


class SingleTopicForum(models.Model):
    """Marks a board whose topic list is not crawled: only topics that a user named are archived."""

    forum = models.OneToOneField(Forum, models.CASCADE, primary_key=True, related_name="single_topics")
    created_at = created_at()

    class Meta:
        db_table = "single_topic_forums"
        db_table_comment = "只按主题单独归档、不抓取列表的版块"


def known_values(column: str, values: Sequence[str], name: str) -> models.CheckConstraint:
    """Let the database refuse a value that the specification does not list; NULL stays possible."""
    return models.CheckConstraint(condition=models.Q(**{f"{column}__in": values}), name=name)


class TagSource(models.TextChoices):
    TOPIC_TAG = "topic_tag"
    TITLE_PREFIX = "title_prefix"


class ThreadTag(models.Model):
    """A word that topics are sorted by."""

    id = IdField()
    tag_text = models.CharField(max_length=50, db_comment="标签文本原样")
    tag_source = models.CharField(max_length=20, choices=TagSource.choices, db_comment="`topic_tag` / `title_prefix`")
    created_at = created_at()
    updated_at = updated_at()

    class Meta:
        db_table = "thread_tags"
        db_table_comment = "主题标签字典（话题标签/标题前缀标签统一管理）"
        constraints = [
            models.UniqueConstraint(fields=["tag_source", "tag_text"], name="thread_tags_source_text_unique"),
            known_values("tag_source", TagSource.values, "thread_tags_source_known"),
        ]

    def __str__(self) -> str:
        return self.tag_text


class ThreadTagMap(models.Model):
    """Tags that a topic has or had; rows are never deleted."""

    pk = models.CompositePrimaryKey("thread_id", "tag_id")
    thread = models.ForeignKey(
        Thread, models.CASCADE, related_name="tag_maps", db_index=False, db_comment="主题（threads.id）"
    )
    tag = models.ForeignKey(ThreadTag, models.CASCADE, related_name="thread_maps", db_comment="标签（thread_tags.id）")
    first_attached_at = WallTimeField(db_comment="首次发现关联时间")

    class Meta:
        db_table = "thread_tag_maps"
        db_table_comment = "主题与标签关联表（去重 + 记录首次关联时间）"


def path(thread: Thread, name: str = "topic", *args: int) -> str:
    numbers = (thread.source_thread_id, *args)
    pattern = _pattern(get_script_prefix(), name, len(numbers))
    return f"{pattern.format(*numbers)}{thread.at_board}"


@cache
def _pattern(_prefix: str, name: str, count: int) -> str:
    """An address with places for its numbers: looking one up costs as much as storing a floor."""
    marks = [10**9 + number for number in range(count)]
    found = reverse(f"nga:{name}", args=marks)
    for number, mark in enumerate(marks):
        found = found.replace(str(mark), f"{{{number}}}")
    return found


def page_path(thread: Thread, number: int) -> str:
    """One page of its floors."""
    start = path(thread)
    return start if number <= 1 else f"{start}{'&' if '?' in start else '?'}page={number}"


def floor_url(thread: Thread, floor_number: int) -> str:
    """Return the address of a post on its page, whether it is stored or not."""
    return f"{page_path(thread, floor_number // FLOORS_PER_PAGE + 1)}#f{floor_number}"
