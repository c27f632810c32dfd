"""Topics and authors that are followed: crawled beyond the lists, and users who are notified of them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db import models

from watchbook.base.store.fields import WallTimeField
from watchbook.core.accounts.models import User
from watchbook.core.notify.models import NotificationChannel
from watchbook.systems.nga.models.forum import IdField, Thread, updated_at
from watchbook.systems.nga.models.posts import Post


class FollowedThread(models.Model):
    """A topic that is checked for new posts beyond the window of the list, until it is quiet."""

    thread = models.OneToOneField(Thread, models.CASCADE, primary_key=True, related_name="following")
    followed_at = WallTimeField()
    next_check_at = WallTimeField(db_index=True)
    failure_count = models.PositiveIntegerField(default=0)
    updated_at = updated_at()

    class Meta:
        db_table = "followed_threads"
        db_table_comment = "持续关注的主题（超出三天窗口后继续抓取，直到无新回复）"


class FollowedAuthor(models.Model):
    """An author whose topics and replies are archived, in whichever board, as far as the site lists them."""

    author_source_user_id = models.PositiveBigIntegerField(primary_key=True)
    author_name = models.CharField(max_length=80, default="")
    followed_at = WallTimeField()
    next_check_at = WallTimeField(db_index=True)
    failure_count = models.PositiveIntegerField(default=0)
    # Next page of the older topics; NULL: they are not wanted, or all were listed.
    past_page_number = models.PositiveIntegerField(null=True)
    updated_at = updated_at()

    class Meta:
        db_table = "followed_authors"
        db_table_comment = "持续关注的作者（归档其在任意版块新发的主题）"

    def __str__(self) -> str:
        return self.author_name or str(self.author_source_user_id)


class SubscriptionQuerySet(models.QuerySet["Subscription"]):
    def of(self, user: User) -> SubscriptionQuerySet:
        return self.filter(user=user)

    def about(self, thread_id: int, uids: Collection[int]) -> SubscriptionQuerySet:
        """Those of this topic and of these authors, with their channels."""
        wanted = models.Q(thread_id=thread_id) | models.Q(author_source_user_id__in=uids)
        return self.filter(wanted).select_related("user").prefetch_related("channels__user").order_by("pk")


class Subscription(models.Model):
    """What one user is notified of: posts of a topic, or of an author in all archived topics."""

    id = IdField()
    user = models.ForeignKey(User, models.CASCADE, related_name="forum_subscriptions", db_index=False)
    thread = models.ForeignKey(Thread, models.CASCADE, null=True, related_name="subscriptions")
    author_source_user_id = models.PositiveBigIntegerField(null=True, db_index=True)
    author_name = models.CharField(max_length=80, default="")
    notifies_posts = models.BooleanField(default=True)
    notifies_edits = models.BooleanField(default=True)
    # Of a topic: only posts of its author.
    is_starter_only = models.BooleanField(default=False)
    channels: models.ManyToManyField[NotificationChannel, Any] = models.ManyToManyField(
        NotificationChannel, related_name="+", db_table="forum_subscription_channels"
    )
    created_at = WallTimeField()

    objects = SubscriptionQuerySet.as_manager()

    class Meta:
        db_table = "forum_subscriptions"
        db_table_comment = "用户对主题或作者的通知订阅"
        constraints = [
            models.UniqueConstraint(fields=["user", "thread"], name="forum_subscriptions_thread_once"),
            models.UniqueConstraint(fields=["user", "author_source_user_id"], name="forum_subscriptions_author_once"),
        ]

    def __str__(self) -> str:
        return self.thread.title if self.thread else self.author_name

    @property
    def rule_thread(self) -> str:
        """Names its rule of notifications."""
        return f"nga.subscription:{self.pk}"


class SubscriptionNews(models.Model):
    """A post to notify of, stored with its page. All posts of a topic that one crawl brought are one notification."""

    id = IdField()
    subscription = models.ForeignKey(Subscription, models.CASCADE, related_name="news")
    thread = models.ForeignKey(Thread, models.CASCADE, related_name="+")
    post = models.ForeignKey(Post, models.CASCADE, related_name="+", db_index=False)
    news_kind = models.CharField(max_length=10)
    created_at = WallTimeField()

    class Meta:
        db_table = "forum_subscription_news"
        db_table_comment = "待通知的楼层（一次抓取合并为一条通知）"
        constraints = [
            models.UniqueConstraint(fields=["post", "subscription", "news_kind"], name="forum_subscription_news_once")
        ]
