"""The pages of comments: list, thread with its folded tree, what is new to each user, and the switch."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from watchbook.base import clock
from watchbook.core.accounts.models import AuditEvent
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.reddit import clip, inbox
from watchbook.systems.reddit.actions import comments as threads
from watchbook.systems.reddit.health import community_health, health
from watchbook.systems.reddit.models import Comment, ThreadLook
from watchbook.systems.reddit.tests.pages import boss, reader, text_of

__all__ = ["boss", "reader"]


@pytest.fixture
def talked(scanner):
    """One thread: two answers below the first comment, one of them edited, and a comment whose parent is not stored."""
    (post,) = scanner.add_with_comments("webdev")
    first = scanner.world.comment(post, "Brass lamps tarnish.", author="keeper", score=7)
    answer = scanner.world.comment(post, "Use vinegar.", parent=first, author="second")
    hidden = scanner.world.comment(post, "Never seen", parent=first)
    orphan = scanner.world.comment(post, "Below what is not stored", parent=hidden)
    scanner.world.remove(hidden)
    scanner.crawl_comments("webdev")
    scanner.world.edit(answer, "Use lemon.")
    scanner.wait(hours=3)
    scanner.run("reddit.recheck")
    with clock.set_to(scanner.now):
        yield {"post": post, "first": first, "answer": answer, "orphan": orphan}


def test_thread_shows_the_post_and_the_tree(talked, reader):
    answer = reader.get(f"/reddit/threads/{talked['post']}/")
    text = text_of(answer)
    first, orphan = answer.context["comments"]
    assert (first.row.comment_id, [child.row.comment_id for child in first.children]) == (
        talked["first"],
        [talked["answer"]],
    )
    assert orphan.shown.node.is_orphan
    for words in ("Text 0", "Brass lamps tarnish.", "Use lemon.", "Use vinegar.", "1 earlier version", "not stored"):
        assert words in text
    assert first.answers == 1


def test_thread_shows_a_comment_by_its_link(talked, reader):
    row = Comment.objects.get(comment_id=talked["answer"])
    address = f"/reddit/threads/{talked['post']}/?comment={row.comment_id}"
    (branch,) = reader.get(address).context["comments"]
    assert branch.row.comment_id == talked["first"]
    assert branch.children[0].is_focus
    assert len(reader.get(f"/reddit/threads/{talked['post']}/?comment=nonsense").context["comments"]) == 2


def test_new_since_you_looked_is_of_each_user(talked, scanner, reader, boss, alice):
    address = f"/reddit/threads/{talked['post']}/"
    first = reader.get(address)
    assert first.context["found"].new == 0
    assert not ThreadLook.objects.exists()  # reading writes nothing
    assert (
        reader.post(
            f"{address}looked/", {"at": first.context["looked_now"]}, headers={"HX-Request": "true"}
        ).status_code
        == 204
    )
    scanner.wait(hours=1)
    made = scanner.world.comment(talked["post"], "A new word", parent=talked["answer"])
    scanner.crawl_comments("webdev")
    with clock.set_to(scanner.now):
        again = reader.get(address)
        assert "1 new comment since you looked." in text_of(again)
        assert [node.comment_id for node in again.context["found"].nodes.values() if node.is_new] == [made]
        assert boss.get(address).context["found"].new == 0  # never looked
        assert ThreadLook.objects.get().user == alice
        reader.post(f"{address}looked/", {"at": "2999-01-01T00:00:00+00:00"})
        assert ThreadLook.objects.get().looked_at == clock.now()
        assert reader.get(address).context["found"].new == 0


def test_thread_without_stored_post_and_unknown_thread(talked, reader):
    Comment.objects.filter(comment_id=talked["first"]).update(post_id="zzz999", parent_id="t3_zzz999")
    answer = reader.get("/reddit/threads/zzz999/")
    assert "The post itself is not stored" in text_of(answer)
    assert "Thread 0" in text_of(answer)
    for unknown in ("zzz998", "Not-an-ID"):
        assert reader.get(f"/reddit/threads/{unknown}/").status_code == 404
        assert reader.post(f"/reddit/threads/{unknown}/looked/").status_code == 404


def test_large_and_deep_threads_are_split(scanner, reader):
    (post,) = scanner.add_with_comments("webdev")
    parent = ""
    for number in range(15):
        parent = scanner.world.comment(post, f"Deep {number}", parent=parent)
    for number in range(450):
        scanner.world.comment(post, f"Wide {number}")
    scanner.crawl_comments("webdev")
    scanner.run("reddit.deep_walk")
    assert Comment.objects.count() == 465
    with clock.set_to(scanner.now):
        with CaptureQueriesContext(connection) as queries:
            first = reader.get(f"/reddit/threads/{post}/")
        seen, count = first.context["comments"], 0
        top = seen[0]
        assert (top.answers, top.shown.hidden) == (14, 0)
        while top.children:
            (top,), count = top.children, count + 1
        assert (count, top.shown.hidden) == (threads.MAX_DEPTH, 14 - threads.MAX_DEPTH)
        assert first.context["last_page"] == 3
        last = reader.get(f"/reddit/threads/{post}/?page=99")
        assert last.context["number"] == 3
        assert "Wide 449" in text_of(last)
    assert len(queries) <= 22


def test_list_filters_searches_and_exports(talked, reader):
    def ids(query):
        answer = reader.get(f"/reddit/comments/?{query}")
        return [each.row.comment_id for each in answer.context["rows"]]

    assert set(ids("")) == {talked["first"], talked["answer"], talked["orphan"]}
    assert ids("author=u/Keeper") == [talked["first"]]
    assert ids("state=edited") == [talked["answer"]]
    assert ids(f"thread={talked['post']}&least_score=7") == [talked["first"]]
    assert ids("q=lemon") == [talked["answer"]]
    assert ids("q=lemon&author=keeper") == []
    file = b"".join(reader.get("/reddit/comments/?format=csv&author=keeper").streaming_content).decode()
    assert "Brass lamps tarnish." in file
    assert "lemon" not in file


def test_operator_switches_comments_and_members_cannot(scanner, reader, boss, site):
    scanner.add("webdev")
    scanner.crawl("webdev")
    assert reader.post("/reddit/r/webdev/comments/", {"comments": "on"}).status_code == 403
    assert boss.post("/reddit/r/webdev/comments/", {"comments": "on"}).status_code == 302
    assert scanner.comments("webdev").is_on is True
    assert "Comments per day" in text_of(reader.get("/reddit/r/webdev/"))
    boss.post("/reddit/r/webdev/comments/", {"comments": "default"})
    assert scanner.comments("webdev").is_on is None
    assert AuditEvent.objects.filter(event="reddit.comments").count() == 2


def test_gap_and_failure_of_comments_are_in_health(talked, scanner):
    listing, row = scanner.comments("webdev"), scanner.community("webdev")
    listing.next_due = row.next_due = scanner.now
    listing.possible_gap = True
    listing.save()
    row.save()
    now = clock.now()
    assert community_health(row, None, now, listing).reason == "Comments may be missing."
    assert health().reason == "Comments of 1 community may be missing."
    listing.failures_in_row, listing.last_outcome = 1, "upstream"
    listing.save()
    assert "The last crawl of comments failed" in community_health(row, None, now, listing).reason
    assert "The last crawl of comments failed for 1 community." in health().reason
    listing.is_on = False
    listing.save()
    assert health().state == "healthy"


def test_inbox_and_clip_know_comments(talked, scanner, alice):
    edited = StreamEntry.objects.get(kind="comment_edited")
    words = [
        piece.text for part in inbox.detail(edited, alice).compared.difference.paragraphs for piece in part.segments
    ]
    assert any("lemon" in text for text in words)
    saved = clip.clip("reddit_comment", talked["answer"], alice)
    assert (saved.title, saved.text, saved.version) == ("Thread 0", "Use lemon.", "2")
    assert clip.origins("reddit_comment", [talked["first"]])[talked["first"]].author == "u/keeper"
    scanner.wait(hours=1)
    scanner.world.comment(talked["post"], "Fresh words")
    scanner.crawl_comments("webdev")
    found = StreamEntry.objects.get(kind="commented")
    assert "Fresh words" in inbox.detail(found, alice).html
    assert inbox.words([found]).summary == "1 comment, 1 crawl"


def test_api_lists_comments_threads_and_versions(talked, reader):
    def get(path):
        answer = reader.get(f"/api/v1/reddit/{path}", headers={"Accept": "application/json"})
        assert answer.status_code == 200, answer.content
        return answer.json()

    assert {row["comment_id"] for row in get("comments")["items"]} == {
        talked["first"],
        talked["answer"],
        talked["orphan"],
    }
    assert [row["comment_id"] for row in get("comments?q=lemon")["items"]] == [talked["answer"]]
    assert get("comments?since=beginning")["since"]
    thread = get(f"threads/{talked['post']}?limit=2")
    assert (thread["title"], thread["post"]["source_post_id"], len(thread["items"])) == ("Thread 0", talked["post"], 2)
    assert len(get(f"threads/{talked['post']}?cursor={thread['next']}")["items"]) == 1
    versions = get(f"comments/{talked['answer']}/versions?limit=1")
    assert [one["content"] for one in versions["items"]] == ["Use vinegar."]
    assert get(f"comments/{talked['answer']}/versions?cursor={versions['next']}")["items"][0]["content"] == "Use lemon."
    assert get("communities/webdev")["comments"]["is_crawled"] is True
    for unknown in ("threads/zzz", "comments/zzz/versions"):
        assert reader.get(f"/api/v1/reddit/{unknown}").status_code == 404
