"""Rows of the forum archive for the walks over all addresses, API responses and pages."""

from __future__ import annotations

from watchbook.core.accounts.models import User
from watchbook.core.notify.models import NotificationChannel
from watchbook.systems.nga.models import FollowedAuthor, Subscription
from watchbook.systems.nga.tests import desk


def furnish(owner: User) -> dict[str, list[str]]:
    """Fill every list of the archive, and return ids by the name that paths give them."""
    thread = desk.fill(desk.make_thread(), range(3))
    post = thread.posts.get(floor_number=1)
    desk.edit(post, "<p>Before</p>")
    desk.index(thread, "<p>A lantern</p>")
    run = desk.make_run()
    desk.read(run, thread)
    desk.read_page(thread)
    audit = desk.make_audit(thread, [1])
    chosen = Subscription.objects.create(user=owner, thread=thread, created_at=desk.START)
    chosen.channels.set(NotificationChannel.objects.of(owner)[:1])
    FollowedAuthor.objects.create(
        author_source_user_id=post.author_source_user_id, followed_at=desk.START, next_check_at=desk.START
    )
    return {
        "tid": [str(thread.source_thread_id)],
        "uid": [str(post.author_source_user_id)],
        "post_id": [str(post.pk)],
        "forum_id": [str(thread.forum_id)],
        "nga run_id": [str(run.pk)],
        "audit_id": [str(audit.pk)],
    }
