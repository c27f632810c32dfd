"""What the document leaves room for: words to search in, pictures kept here, and where notes hang."""

from __future__ import annotations

from django.db import models

from watchbook.base.store.fields import WallTimeField
from watchbook.sources.nga.models.columns import DigestField, IdField, created_at, updated_at
from watchbook.sources.nga.models.floors import Post
from watchbook.sources.nga.models.forum import Thread


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
    """The post under which a note hangs. The note itself is a floor like any other, with a number of its own."""

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
