"""Something of every system that a person may see, so that a walk over the API meets real rows and not only 404."""

from __future__ import annotations

from typing import Any

from watchbook.library import actions as library
from watchbook.sources.nga.tests import desk as forum
from watchbook.sources.reddit.models import CommunityCache, PostRaw

Ids = dict[str, list[str]]


def furnish(person: Any) -> Ids:
    """Ids by the name of a path's part; what two systems call the same has the system before it."""
    return {**_library(person), **_forum(), **_reddit()}


def _library(person: Any) -> Ids:
    workspace = library.create_workspace(person, "Desk")
    space = library.create_space(person, workspace.pk, "Files")
    folder = library.create_page(person, space.pk, title="Folder", node_type="folder")
    file = library.create_page(
        person, space.pk, title="File", node_type="file", parent_page_id=folder.pk, content="One\n\nTwo"
    )
    link, _token = library.share_page(person, file.pk)
    job = library.start_migration(person, space.pk)
    return {
        "workspace_id": [str(workspace.pk)],
        "space_id": [str(space.pk)],
        "page_id": [str(file.pk), str(folder.pk)],
        "user_id": [str(person.pk)],
        "number": ["1"],
        "link_id": [str(link.pk)],
        "job_id": [str(job.pk)],
    }


def _forum() -> Ids:
    thread = forum.fill(forum.make_thread(), range(3))
    post = thread.posts.get(floor_number=1)
    forum.edit(post, "<p>Before</p>")
    run = forum.make_run()
    forum.read(run, thread)
    audit = forum.make_audit(thread, [1])
    return {
        "tid": [str(thread.source_thread_id)],
        "post_id": [str(post.pk)],
        "forum_id": [str(thread.forum_id)],
        "nga run_id": [str(run.pk)],
        "audit_id": [str(audit.pk)],
    }


def _reddit() -> Ids:
    now = forum.START
    community = CommunityCache.objects.create(community_name="r/lanterns", last_crawled_at=now)
    post = PostRaw.objects.create(
        source_post_id="1abcde", subreddit=community.community_name, title="A walk", content="By the river.",
        created_at=now, text_norm_hash="0" * 64, first_seen_at=now, valid_from=now, observed_at=now,
    )  # fmt: skip
    return {"reddit name": ["lanterns", community.community_name], "source_post_id": [post.source_post_id]}
