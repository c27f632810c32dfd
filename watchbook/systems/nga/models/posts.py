"""Posts with versions and absences, search documents, pictures, comments."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from html import escape

from django.db import models

from watchbook.base.store.fields import WallTimeField
from watchbook.systems.nga.models.forum import (
    FLOORS_PER_PAGE,
    DigestField,
    HtmlField,
    IdField,
    Thread,
    created_at,
    updated_at,
)


class PostQuerySet(models.QuerySet["Post"]):
    def on_page(self, thread_id: int, page: int) -> PostQuerySet:
        """Floors of one page, cut by floor number: any page of a long topic costs what the first one does."""
        first = max(page - 1, 0) * FLOORS_PER_PAGE
        floors = self.filter(thread_id=thread_id, floor_number__gte=first, floor_number__lt=first + FLOORS_PER_PAGE)
        return floors.order_by("floor_number")

    def with_version_counts(self) -> PostQuerySet:
        """`version_count`: how many older versions are kept."""
        kept = PostRevision.objects.filter(post=models.OuterRef("pk")).order_by().values("post")
        counted = kept.annotate(number=models.Count("pk")).values("number")
        return self.annotate(
            version_count=models.functions.Coalesce(models.Subquery(counted, output_field=models.IntegerField()), 0)
        )

    def with_parents(self) -> PostQuerySet:
        """Annotate `parent_source_post_id`: the parent of a comment, None for other posts."""
        same = NoteParent.objects.filter(
            thread=models.OuterRef("thread_id"), source_post_id=models.OuterRef("source_post_id")
        )
        return self.annotate(parent_source_post_id=models.Subquery(same.values("parent_source_post_id")[:1]))


class Post(models.Model):
    """One floor as it reads now. Identity is (thread, source_post_id); the opening post has the id 0."""

    id = IdField()
    thread = models.ForeignKey(
        Thread, models.CASCADE, related_name="posts", db_index=False, db_comment="所属主题（threads.id）"
    )
    source_post_id = models.PositiveBigIntegerField(db_comment="NGA pid（主锚点）")
    floor_number = models.PositiveIntegerField(db_comment="楼层号（0 为首帖）")
    author_name = models.CharField(max_length=80, db_comment="回帖者显示名")
    author_source_user_id = models.PositiveBigIntegerField(null=True, db_comment="回帖者 uid（抓得到就存）")
    post_created_at = WallTimeField(db_comment="楼层发布时间")
    content_html = HtmlField(db_comment="清洗后的 HTML（当前版本）")
    content_fingerprint_sha256 = DigestField(db_comment="内容指纹（变更检测）")
    is_deleted_by_source = models.BooleanField(default=False, db_comment="来源显示已删除")
    is_folded_by_source = models.BooleanField(default=False, db_comment="来源显示已折叠/隐藏")
    content_last_changed_at = WallTimeField(null=True, db_comment="当前内容最后变化时间")
    created_at = created_at()
    updated_at = updated_at()

    objects = PostQuerySet.as_manager()

    class Meta:
        db_table = "posts"
        db_table_comment = "NGA 楼层（当前版本内容，支持增量追加与删除/折叠标记）"
        constraints = [
            models.UniqueConstraint(fields=["thread", "source_post_id"], name="posts_thread_source_post_unique"),
            models.UniqueConstraint(fields=["thread", "floor_number"], name="posts_thread_floor_unique"),
        ]

    def __str__(self) -> str:
        return f"#{self.floor_number}"

    @property
    def page_number(self) -> int:
        return self.floor_number // FLOORS_PER_PAGE + 1

    def html_below_title(self, title: str) -> str:
        """Return the text without the title of the topic, which the opening post repeats and pages show above it."""
        heading = "" if self.floor_number else f"<h4>{escape(title, quote=False)}</h4>"
        text: str = self.content_html
        return text.removeprefix(heading)


class ChangeReason(models.TextChoices):
    """Why a version was replaced. The order is fixed; several are joined by `;`."""

    CONTENT = "content_fingerprint_changed"
    DELETED = "marked_deleted_by_source"
    FOLDED = "marked_folded_by_source"


class PostRevision(models.Model):
    """A floor as it read before a change."""

    id = IdField()
    post = models.ForeignKey(Post, models.CASCADE, related_name="revisions", db_comment="对应楼层（posts.id）")
    revision_created_at = WallTimeField(db_comment="我方发现变更时间（抓取时刻）")
    source_edited_at = WallTimeField(null=True, db_comment="来源提供的编辑时间（若可得）")
    content_html = HtmlField(db_comment="该版本内容快照")
    content_fingerprint_sha256 = DigestField(db_comment="该版本指纹")
    change_detected_reason = models.CharField(max_length=120, db_comment="变更原因（token 列表，以 ; 分隔）")
    crawl_run_thread_id = models.PositiveBigIntegerField(null=True, db_comment="关联抓取明细（crawl_run_threads.id）")

    class Meta:
        db_table = "post_revisions"
        db_table_comment = "NGA 楼层历史版本（内容变更/删除/折叠的快照审计）"
        indexes = [models.Index(fields=["crawl_run_thread_id"], name="post_revisions_run_thread_idx")]

    @property
    def reasons(self) -> list[str]:
        return self.change_detected_reason.split(";")


class PostAbsence(models.Model):
    """A stored floor that whole readings of its page no longer showed. Two in a row, in two runs, are a deletion."""

    post = models.OneToOneField(Post, models.CASCADE, primary_key=True, related_name="absence")
    reading_count = models.PositiveSmallIntegerField(default=1)
    crawl_run_id = models.PositiveBigIntegerField()
    first_absent_at = WallTimeField()
    last_absent_at = WallTimeField()

    class Meta:
        db_table = "post_absences"
        db_table_comment = "完整读取的页面上不再出现的楼层（连续两次即视为删除）"


class ThreadSearchDocument(models.Model):
    """Title and opening post of a topic as plain text."""

    thread = models.OneToOneField(
        Thread, models.CASCADE, primary_key=True, related_name="search_document", db_comment="主题（threads.id）"
    )
    title_text = models.CharField(max_length=200, db_comment="标题文本")
    first_post_plain_text = models.TextField(default="", db_comment="0 楼纯文本")
    updated_at = updated_at()

    class Meta:
        db_table = "thread_search_documents"
        db_table_comment = "主题搜索文档（标题 + 0 楼纯文本）"


class PostFact(models.Model):
    """What the site says about a post beside its text. Only the newest values are kept; a change is no version."""

    post = models.OneToOneField(Post, models.CASCADE, primary_key=True, related_name="facts")
    up_vote_count = models.IntegerField(default=0)
    source_edited_at = WallTimeField(null=True)
    client_text = models.CharField(max_length=80, default="")
    # All of them as one text, so that a page that is read again is compared without reading times.
    known_values = models.CharField(max_length=120)

    class Meta:
        db_table = "post_facts"
        db_table_comment = "楼层的点赞数、来源编辑时间与客户端（最近一次读取）"


class PageReadingQuerySet(models.QuerySet["ThreadPageReading"]):
    def oldest_of(self, thread_ids: Collection[int]) -> dict[int, datetime]:
        """When the page was read that was not read for the longest time, by topic: later edits are not known."""
        rows = self.filter(thread_id__in=thread_ids).order_by().values("thread_id")
        return dict(rows.annotate(oldest=models.Min("read_at")).values_list("thread_id", "oldest"))


class ThreadPageReading(models.Model):
    """When a page of twenty posts was last read whole, and when it should be read again for edits."""

    pk = models.CompositePrimaryKey("thread_id", "page_number")
    thread = models.ForeignKey(Thread, models.CASCADE, related_name="page_readings", db_index=False)
    # By post number, as the archive shows pages: where the site shows the newest posts first its pages are others.
    page_number = models.PositiveIntegerField()
    read_at = WallTimeField()
    # The newest post or edit on the page: the longer ago, the rarer the next edit.
    quiet_since = WallTimeField()
    # How likely edits are; more for pages with edits and with posts that reserve their place.
    weight = models.PositiveSmallIntegerField(default=1)
    next_reread_at = WallTimeField()

    objects = PageReadingQuerySet.as_manager()

    class Meta:
        db_table = "thread_page_readings"
        db_table_comment = "主题各页最近一次完整读取的时间与下次复读时间"
        indexes = [
            models.Index(fields=["weight", "next_reread_at"], name="page_readings_due_idx"),
            models.Index(fields=["weight", "quiet_since"], name="page_readings_newest_idx"),
        ]


class PostIndexing(models.Model):
    """How far posts from before posts were searched are in the search. One row; newer posts come with their page."""

    next_post_id = models.PositiveBigIntegerField(default=1)
    finished_at = WallTimeField(null=True)

    class Meta:
        db_table = "post_indexing"
        db_table_comment = "旧楼层写入搜索索引的进度"


class MediaAsset(models.Model):
    """A picture, stored once by what is in it. The bytes are in a file of the data folder named by the digest."""

    id = IdField()
    content_sha256 = DigestField(unique=True, db_comment="内容 SHA-256（文件名）")
    media_format_text = models.CharField(max_length=20, db_comment="按文件头识别的格式（jpeg/png/gif/webp）")
    byte_count = models.PositiveIntegerField(db_comment="字节数")
    created_at = created_at()

    class Meta:
        db_table = "media_assets"
        db_table_comment = "本地化媒体文件（按内容去重）"


class PostMediaMap(models.Model):
    """A picture that a floor shows: its address, and the file once it was fetched."""

    id = IdField()
    post = models.ForeignKey(
        Post, models.CASCADE, related_name="media_maps", db_index=False, db_comment="楼层（posts.id）"
    )
    media_asset = models.ForeignKey(
        MediaAsset, models.SET_NULL, null=True, related_name="post_maps", db_comment="媒体文件（media_assets.id）"
    )
    source_url = models.CharField(max_length=1000, db_comment="原始 URL")
    # A long address never meets an index limit.
    source_url_sha256 = DigestField(db_comment="原始 URL 的 SHA-256")
    attempt_count = models.PositiveSmallIntegerField(default=0, db_comment="下载尝试次数")
    last_attempted_at = WallTimeField(null=True, db_comment="最近一次尝试时间")
    error_summary = models.CharField(max_length=200, null=True, db_comment="失败摘要")
    created_at = created_at()

    class Meta:
        db_table = "post_media_maps"
        db_table_comment = "楼层与媒体文件关联表"
        constraints = [models.UniqueConstraint(fields=["post", "source_url_sha256"], name="post_media_once")]
        indexes = [
            models.Index(fields=["source_url_sha256"], name="post_media_url_idx"),
            models.Index(fields=["media_asset", "attempt_count"], name="post_media_wanted_idx"),
        ]


class NoteParent(models.Model):
    """The parent of a comment. The comment itself is a post with a number of its own."""

    id = IdField()
    thread = models.ForeignKey(
        Thread, models.CASCADE, related_name="note_parents", db_index=False, db_comment="所属主题（threads.id）"
    )
    source_post_id = models.PositiveBigIntegerField(db_comment="贴条 pid")
    parent_source_post_id = models.PositiveBigIntegerField(db_comment="所贴楼层 pid（0 为首帖）")
    created_at = created_at()

    class Meta:
        db_table = "note_parents"
        db_table_comment = "贴条所贴的楼层（贴条本身仍是一层）"
        constraints = [models.UniqueConstraint(fields=["thread", "source_post_id"], name="note_parents_once")]
        indexes = [models.Index(fields=["thread", "parent_source_post_id"], name="note_parents_parent_idx")]
