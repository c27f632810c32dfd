"""Something of every system that a person may see, so that a walk over the API meets real rows and not only 404."""

from __future__ import annotations

from typing import Any

from watchbook.base.testing.people import make_person
from watchbook.core.alerts.conditions import open_alert
from watchbook.library import actions as library
from watchbook.library.models import Page, Space
from watchbook.sources.nga.models import Thread
from watchbook.sources.nga.tests import desk as forum
from watchbook.sources.notes import actions as notes
from watchbook.sources.notes.models import Cookie
from watchbook.sources.notes.tests import desk as pipeline
from watchbook.sources.reddit.models import CommunityCache, CrawlDay, CrawlMetrics, PostRaw, PostSpan

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
    library.set_flags(person, workspace.pk, {"folders_enabled": False})
    library.create_page(person, space.pk, title="Left at the top", node_type="file")
    library.set_flags(person, workspace.pk, {"folders_enabled": True})
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


def furnish_more(person: Any) -> None:
    """What needs no id to be asked for: with it no list is empty."""
    open_alert("desk", level="P2", source="sitemaps", title="A lamp is out", message="It burned down.", link="/")
    _more_library(person)
    forum.index(Thread.objects.get(), "<p>A lantern</p>")
    _more_reddit()
    _notes()


def _more_library(person: Any) -> None:
    space = Space.objects.get()
    friend = make_person("bob")
    library.set_member(person, space.workspace_id, person=friend, role="member")
    library.set_space_member(person, space.pk, person=friend, role="reader")
    folder = Page.objects.get(title="Folder")
    library.set_favourite(person, folder.pk, kept=True)
    gone = library.create_page(person, space.pk, title="Gone", node_type="file", parent_page_id=folder.pk)
    library.trash_page(person, gone.pk)
    inner = Page.objects.get(title="File")
    library.create_page(person, space.pk, title="Below a file", node_type="file", parent_page_id=inner.pk)
    library.store_reconciliation(person, space.workspace_id)


def _more_reddit() -> None:
    post = PostRaw.objects.get()
    PostSpan.objects.create(post=post, source_post_id=post.source_post_id, version=1, valid_from=post.valid_from)
    day = forum.START.date()
    CrawlMetrics.objects.create(metric_date=day, metric_hour=7, tier_assignments={"tier1": 1})
    CrawlDay.objects.create(metric_date=day)


def _notes() -> None:
    Cookie.objects.create(cookie_name="one", cookie_encrypted="sealed")
    found = pipeline.add_candidates(2)
    mine = pipeline.holder()
    notes.claim(pipeline.held(mine))
    pipeline.commit(mine, found[0])
