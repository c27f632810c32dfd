"""Selected rows of every list: each has a box, the actions change exactly these rows, and only for who may do it."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from tests.lists.test_every_list import (
    make_core_rows,
    make_monitors,
    make_notes,
    make_pages,
    make_posts,
    make_topics,
)
from watchbook.base import clock
from watchbook.base.testing.fixtures import SharedRows
from watchbook.base.testing.people import client_of, make_person
from watchbook.core.accounts.models import AuditEvent
from watchbook.core.jobs.models import JobRun, JobSchedule, State
from watchbook.core.stream import reading
from watchbook.core.stream.entries import Entry, record
from watchbook.systems.nga.models import FollowedThread, Thread
from watchbook.systems.notes.models import Note
from watchbook.systems.pages.models import Site
from watchbook.systems.reddit.models import CommunityCache, CommunityPool
from watchbook.systems.sitemaps.models import ChangeRecord

pytestmark = pytest.mark.django_db
BOX = re.compile(r'<input[^>]*type="checkbox"[^>]*name="(item|pk|name|note_id)"[^>]*value="([^"]+)"', re.S)


@pytest.fixture(scope="module")
def made(shared_rows: SharedRows) -> dict[str, Any]:
    with shared_rows():
        operator = make_person("operator", is_staff=True)
        member = make_person("member")
        make_core_rows(operator)
        monitor = make_monitors(operator)
        make_pages(operator)
        make_topics()
        make_posts()
        make_notes()
        now = clock.now()
        CommunityPool.objects.bulk_create(
            CommunityPool(name=row.community_name, categories=["sea"], updated_at=now, created_at=now)
            for row in CommunityCache.objects.all()
        )
        JobRun.objects.bulk_create(
            JobRun(
                name="reddit.daily_metrics", queue="maintenance_queue", key=f"k{n}", due_at=now, created_at=now,
                state=State.FAILED if n % 2 else State.QUEUED,
            )
            for n in range(4)
        )  # fmt: skip
        site = Site.objects.get().pk
    return {"operator": operator, "member": member, "monitor": monitor, "site": site}


@pytest.fixture
def boss(made: dict[str, Any], db: None) -> Client:
    return client_of(made["operator"])


@pytest.fixture
def member(made: dict[str, Any], db: None) -> Client:
    return client_of(made["member"])


LISTS = {
    "/nga/": "item",
    "/reddit/": "name",
    "/reddit/posts/": "item",
    "/notes/": "note_id",
    "/notes/notes/": "item",
    "/notes/notes/?view=list": "item",
    "/sitemaps/": "pk",
    "/sitemaps/{monitor}/changes/": "item",
    "/pages/changes/": "item",
    "/pages/sites/{site}/": "item",
    "/deliveries/": "pk",
    "/operations/jobs/": "name",
    "/operations/runs/": "pk",
}


@pytest.mark.parametrize("path", LISTS)
def test_every_row_of_a_list_has_one_box(boss: Client, made: dict[str, Any], path: str) -> None:
    answer = boss.get(path.format(**made))
    shown = answer.content.decode()
    boxes = [value for name, value in BOX.findall(shown) if name == LISTS[path]]
    rows = answer.context.get("page") or answer.context.get("rows") or answer.context["lines"]
    assert "data-bulk" in shown
    assert len(boxes) == len(list(answer.context["lines"] if path == "/operations/jobs/" else rows))
    if path not in ("/pages/changes/",):  # one page can have many changes
        assert len(set(boxes)) == len(boxes)


SAVED = {
    "/nga/": "nga_thread",
    "/reddit/posts/": "reddit_post",
    "/notes/notes/": "note",
    "/sitemaps/{monitor}/changes/": "sitemap_change",
    "/pages/sites/{site}/": "web_page",
}


@pytest.mark.parametrize(("path", "kind"), SAVED.items())
def test_selected_rows_are_offered_to_the_library(boss: Client, made: dict[str, Any], path: str, kind: str) -> None:
    """The boxes name what the page that saves can find, each with its title."""
    shown = boss.get(path.format(**made)).content.decode()
    chosen = [value for name, value in BOX.findall(shown) if name == "item"][:3]
    answer = boss.post("/stream/items/", {"act": "save", "item": chosen, "next": path.format(**made)})
    asked = parse_qs(urlsplit(answer["Location"]).query)
    assert urlsplit(answer["Location"]).path == "/library/clip/"
    found = asked.get("item") or [f"{asked['kind'][0]}:{asked['id'][0]}"]
    assert found == chosen
    assert all(text.startswith(f"{kind}:") for text in found)
    assert boss.get(answer["Location"]).status_code == 200


def test_marking_topics_read_marks_only_their_entries(boss: Client, member: Client, made: dict[str, Any]) -> None:
    first, second = Thread.objects.order_by("pk")[:2]
    record(
        Entry(source="nga", kind="edited", object_id=str(row.pk), object_kind="nga_thread", scope="members",
              title=row.title, summary="", url_path="/", occurred_at=clock.now())
        for row in (first, second)
    )  # fmt: skip
    answer = member.post("/stream/items/", {"act": "read", "item": [f"nga_thread:{first.pk}"], "next": "/nga/"})
    assert answer["Location"] == "/nga/"
    reader = reading.reader_of(made["member"])
    unread = {entry.object_id for entry in reading.unread_entries(reader, reader.entries)}
    assert unread == {str(second.pk)}
    others = reading.reader_of(made["operator"])
    assert len(reading.unread_entries(others, others.entries)) == 2


@pytest.mark.parametrize("given", [[], ["nonsense"], [":1"], ["nga_thread:"], ["nga_thread:\x00"], ["x" * 900 + ":1"]])
@pytest.mark.parametrize("act", ["save", "read"])
def test_nonsense_selects_nothing_and_says_so(member: Client, act: str, given: list[str]) -> None:
    answer = member.post("/stream/items/", {"act": act, "item": given, "next": "https://evil.example/"}, follow=True)
    assert answer.status_code == 200
    assert answer.redirect_chain[-1][0] == "/stream/"
    assert [str(one) for one in answer.context["messages"]]


def test_unknown_act_is_not_found(member: Client) -> None:
    assert member.post("/stream/items/", {"act": "delete", "item": ["note:n1"]}).status_code == 404
    assert member.get("/stream/items/").status_code == 405


def test_topics_are_followed_together_by_operators_only(boss: Client, member: Client) -> None:
    rows = list(Thread.objects.order_by("pk")[:3])
    given = {"act": "follow", "item": [f"nga_thread:{row.pk}" for row in rows], "next": "/nga/"}
    assert member.post("/nga/topics/selected/", given).status_code == 403
    assert not FollowedThread.objects.exists()
    assert boss.post("/nga/topics/selected/", given)["Location"] == "/nga/"
    assert {one.thread_id for one in FollowedThread.objects.all()} == {row.pk for row in rows}
    assert AuditEvent.objects.filter(event="nga.topic_followed").count() == 3
    boss.post("/nga/topics/selected/", {**given, "act": "unfollow", "item": given["item"][:2]})
    assert [one.thread_id for one in FollowedThread.objects.all()] == [rows[2].pk]


def chosen_names(*numbers: int) -> list[str]:
    return [f"made{number:03}" for number in numbers]


def test_communities_are_switched_tagged_and_removed_together(boss: Client, member: Client) -> None:
    def send(act: str, **more: Any) -> Any:
        return boss.post("/reddit/selected/", {"act": act, "name": chosen_names(1, 2), "next": "/reddit/", **more})

    assert member.post("/reddit/selected/", {"act": "disable", "name": chosen_names(1)}).status_code == 403
    send("disable")
    switched = dict(CommunityCache.objects.values_list("community_name", "is_active"))
    assert (switched["r/made001"], switched["r/made002"], switched["r/made003"]) == (False, False, True)
    send("edit", add_tags="tools, 灯塔", remove_tags="Sea", tier="high")
    listed = {row.name: row for row in CommunityPool.objects.all()}
    assert listed["r/made001"].categories == listed["r/made002"].categories == ["tools", "灯塔"]
    assert (listed["r/made001"].tier, listed["r/made003"].tier) == ("high", "medium")
    assert listed["r/made003"].categories == ["sea"]
    asked = send("remove")
    assert asked.status_code == 200
    assert "r/made001" in asked.content.decode()
    assert CommunityCache.objects.filter(community_name="r/made001").exists(), "asked first"
    send("remove", sure="1")
    assert set(switched) - set(CommunityCache.objects.values_list("community_name", flat=True)) == {
        "r/made001", "r/made002"
    }  # fmt: skip
    for event in ("reddit.switched", "reddit.tagged", "reddit.wished", "reddit.removed"):
        assert AuditEvent.objects.filter(event=event).count() == 2, event


def test_one_unknown_community_changes_none(boss: Client) -> None:
    answer = boss.post("/reddit/selected/", {"act": "disable", "name": ["made001", "nowhere"]}, follow=True)
    assert "nowhere" in answer.content.decode()
    assert CommunityCache.objects.get(community_name="r/made001").is_active


def test_api_changes_many_communities_or_none(boss: Client, member: Client) -> None:
    def send(client: Client, **body: Any) -> Any:
        return client.post("/api/v1/reddit/bulk", body, content_type="application/json")

    names = chosen_names(1, 2)
    assert send(member, names=names, is_active=False).status_code == 403
    assert send(boss, names=[*names, "nowhere"], is_active=False).status_code == 422
    assert send(boss, names=names, tier="royal").status_code == 422
    assert CommunityCache.objects.filter(community_name="r/made001", is_active=True).exists()
    answer = send(boss, names=names, is_active=False, add_tags=["tools"], remove_tags=["sea"])
    assert (answer.status_code, answer.json()) == (
        200,
        {"changed": 2, "added_tags": ["tools"], "unused_tags": []},
    )
    assert CommunityPool.objects.get(name="r/made002").categories == ["tools"]
    assert not CommunityCache.objects.get(community_name="r/made002").is_active


def test_notes_are_deleted_after_a_question_by_operators_only(boss: Client, member: Client) -> None:
    given = {"act": "delete", "item": ["note:n1", "note:n2", "note:gone"], "next": "/notes/notes/?keyword=x"}
    assert member.post("/notes/notes/selected/", {**given, "sure": "1"}).status_code == 403
    asked = boss.post("/notes/notes/selected/", given)
    shown = asked.content.decode()
    assert asked.status_code == 200
    assert "Delete 2 notes" in shown
    assert Note.objects.filter(note_id__in=("n1", "n2")).count() == 2
    fields = re.findall(r'type="hidden" name="(item)" value="([^"]+)"', shown)
    assert sorted(value for _name, value in fields) == ["note:n1", "note:n2"]
    answer = boss.post("/notes/notes/selected/", {**given, "sure": "1"})
    assert answer["Location"] == "/notes/notes/?keyword=x"
    assert not Note.objects.filter(note_id__in=("n1", "n2")).exists()
    assert Note.objects.filter(note_id="n3").exists()
    assert AuditEvent.objects.filter(event="notes.note_deleted").count() == 2


def test_allowed_member_reads_notes_again_and_deletes_none(member: Client, made: dict[str, Any]) -> None:
    from watchbook.systems.notes.models import AllowedUser

    AllowedUser.objects.create(user=made["member"])
    given = {"item": ["note:n1"], "sure": "1"}
    assert member.post("/notes/notes/selected/", {**given, "act": "delete"}).status_code == 403
    assert member.post("/notes/notes/selected/", {**given, "act": "read_again"}).status_code == 302
    assert Note.objects.filter(note_id="n1").exists()


def test_jobs_are_run_paused_and_resumed_together(boss: Client, member: Client) -> None:
    names = ["reddit.daily_metrics", "nga.audit", "no.such.job"]
    JobRun.objects.all().delete()

    def send(act: str, client: Client = boss) -> Any:
        return client.post("/operations/jobs/selected/", {"act": act, "name": names, "next": "/operations/jobs/"})

    assert send("run", member).status_code == 403
    assert send("erase").status_code == 404
    send("run")
    assert sorted(JobRun.objects.values_list("name", flat=True)) == ["nga.audit", "reddit.daily_metrics"]
    send("pause")
    assert set(JobSchedule.objects.filter(is_enabled=False).values_list("name", flat=True)) == set(names[:2])
    send("resume")
    assert not JobSchedule.objects.filter(is_enabled=False).exists()
    events = AuditEvent.objects.filter(event__in=("job.started", "job.paused", "job.resumed"))
    assert events.count() == 6


def test_ended_runs_are_repeated_and_waiting_ones_cancelled(boss: Client, member: Client) -> None:
    ids = list(JobRun.objects.order_by("pk").values_list("pk", flat=True))
    given = {"pk": [*ids, 2**70, "x"], "next": "/operations/runs/"}
    assert member.post("/operations/runs/selected/", {**given, "act": "stop"}).status_code == 403
    boss.post("/operations/runs/selected/", {**given, "act": "again"})
    assert JobRun.objects.count() == len(ids) + 2, "only the two that had failed"
    boss.post("/operations/runs/selected/", {**given, "act": "stop"})
    states = list(JobRun.objects.filter(pk__in=ids).order_by("pk").values_list("state", flat=True))
    assert states == [State.CANCELLED, State.FAILED] * 2


def test_changes_are_searched_by_words_of_their_urls(boss: Client, made: dict[str, Any]) -> None:
    changed = list(ChangeRecord.objects.filter(change_type="changed").order_by("created_at"))
    urls = ["https://example.com/lanterns/red", "https://example.com/lamps/red", "https://example.com/%E7%81%AF/1"]
    for row, url in zip(changed, urls, strict=False):
        row.changes = {"added": [{"url": url}], "removed": [], "modified": []}
        row.save(update_fields=["changes"])
    path = f"/sitemaps/{made['monitor']}/changes/"

    def found(words: str) -> set[Any]:
        return {row.pk for row in boss.get(path, {"q": words}).context["listing"].page}

    assert found("RED") == {changed[0].pk, changed[1].pk}
    assert found("lanterns red") == {changed[0].pk}
    assert found("灯") == {changed[2].pk}
    assert found("added") == set(), "names of fields are no words of a URL"
    api = boss.get(f"/api/v1/sitemaps/monitors/{made['monitor']}/changes", {"q": "lamps"}).json()
    assert [item["id"] for item in api["items"]] == [str(changed[1].pk)]
    file = b"".join(boss.get(path, {"q": "lamps", "format": "csv"}).streaming_content).decode()  # type: ignore[arg-type]
    assert str(changed[1].pk) in file
    assert file.count("\n") == 2
