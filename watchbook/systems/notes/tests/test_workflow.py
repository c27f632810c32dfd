from __future__ import annotations

from datetime import timedelta

import pytest

from watchbook.base import clock
from watchbook.core.alerts.models import Alert
from watchbook.core.search.models import SearchDocument
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.notes import actions
from watchbook.systems.notes.models import Candidate, Execution, Note
from watchbook.systems.notes.rules import LockLost, NotesError
from watchbook.systems.notes.tests.data import (
    START,
    add_candidates,
    commit,
    held,
    holder,
    note_id,
    result_of,
    states,
)

pytestmark = pytest.mark.django_db

ERROR = {"code": "PLATFORM_ERROR", "message": "no", "retryable": True}


def at(minutes):
    return clock.set_to(START + timedelta(minutes=minutes))


def everything():
    return [list(model.objects.order_by("pk").values()) for model in (Candidate, Note, Execution, SearchDocument)]


def test_expired_lock_rejects_commit(n8n):
    [one] = add_candidates(1)
    with at(0):
        mine = holder()
        actions.claim(held(mine))
    before = everything()
    with at(31):
        answer = n8n.post("workflow/commit", {**held(mine), "note_id": one, "result": result_of(one)})
    assert (n8n.status, answer["error"]["code"], answer["error"]["retryable"]) == (409, "LOCK_LOST", False)
    assert everything() == before, "nothing was written"
    assert StreamEntry.objects.count() == 0


@pytest.mark.parametrize("step", ["heartbeat", "claim", "commit", "fail", "release"])
def test_every_step_of_a_lost_execution_is_refused(n8n, step):
    [one] = add_candidates(1)
    with at(0):
        mine = holder()
        actions.claim(held(mine))
    with at(31):
        heir = holder()
        before = everything()
        more = {
            "commit": {"note_id": one, "result": result_of(one)}, "fail": {"note_id": one, "error": ERROR},
            "release": {"status": "completed"},
        }  # fmt: skip
        answer = n8n.post(f"workflow/{step}", {**held(mine), **more.get(step, {})})
        assert (n8n.status, answer["error"]["code"]) == (409, "LOCK_LOST")
        assert everything() == before
        actions.heartbeat(held(heir))


def test_heartbeat_keeps_the_lock():
    with at(0):
        mine = holder()
    for minutes in (29, 58, 87):
        with at(minutes):
            actions.heartbeat(held(mine))
            assert actions.acquire({"workflow_name": "collect"})["locked"] is False
    with at(118):
        assert actions.acquire({"workflow_name": "collect"})["locked"] is True
    assert list(Execution.objects.order_by("pk").values_list("status", flat=True)) == ["timeout", "running"]


def test_wrong_fence_is_a_lost_lock():
    mine = holder()
    with pytest.raises(LockLost):
        actions.heartbeat({"execution_id": mine.execution_id, "fence": mine.fence + 1})
    with pytest.raises(LockLost):
        actions.heartbeat({"execution_id": "exec-nobody", "fence": mine.fence})


def test_repeated_commit_after_lost_lock_returns_skipped():
    [one] = add_candidates(1)
    with at(0):
        mine = holder()
        actions.claim(held(mine))
        first = commit(mine, one)
    with at(60):
        actions.recover()
        assert commit(mine, one) == {"action": "skipped", "id": first["id"]}
        heir = holder()
        with pytest.raises(LockLost):
            commit(heir, one)


def test_existing_note_is_skipped_and_candidate_collected():
    [one] = add_candidates(1)
    mine = holder()
    actions.claim(held(mine))
    commit(mine, one)
    Candidate.objects.filter(note_id=one).update(status="pending")
    actions.release({**held(mine), "status": "completed"})
    heir = holder()
    actions.claim(held(heir))
    assert commit(heir, one)["action"] == "skipped"
    assert states() == {one: "collected"}
    assert Note.objects.get().execution_id == mine.execution_id


def test_third_failure_is_final():
    [one] = add_candidates(1)
    seen = []
    for _ in range(3):
        mine = holder()
        actions.claim(held(mine))
        seen.append(actions.fail({**held(mine), "note_id": one, "error": ERROR}))
        actions.release({**held(mine), "status": "completed"})
    mine = holder()
    assert [(answer["status"], answer["retry_count"]) for answer in seen] == [
        ("pending", 1),
        ("pending", 2),
        ("failed", 3),
    ]
    assert actions.claim(held(mine))["locked_count"] == 0
    assert actions.retry_failed([one]) == 1
    assert states() == {one: "pending"}


def test_third_recovery_fails_the_candidate():
    [one] = add_candidates(1)
    seen = []
    for turn in range(3):
        with at(turn * 60):
            actions.claim(held(holder()))
        with at(turn * 60 + 31):
            actions.recover()
        seen.append(Candidate.objects.values_list("status", "retry_count").get(note_id=one))
    assert seen == [("pending", 1), ("pending", 2), ("failed", 3)]


def test_recovered_candidate_rejects_the_old_holder():
    [one] = add_candidates(1)
    with at(0):
        mine = holder()
        actions.claim(held(mine))
    for minutes in (20, 40):
        with at(minutes):
            actions.heartbeat(held(mine))
    with at(41):
        assert actions.recover() == {"executions_timed_out": 0, "candidates_returned": 1, "candidates_failed": 0}
        with pytest.raises(LockLost) as caught:
            commit(mine, one)
    assert caught.value.reason == "record"
    assert Note.objects.count() == 0


def test_notes_not_requested_are_returned_uncounted():
    ids = add_candidates(3)
    mine = holder()
    actions.claim(held(mine))
    actions.fail({**held(mine), "note_id": ids[0], "error": {"code": "COOKIE_EXHAUSTED", "retryable": False}})
    actions.fail({**held(mine), "note_id": ids[1], "error": {**ERROR, "reason": "not_asked"}})
    assert actions.release({**held(mine), "status": "failed"}) == {"status": "failed", "returned": 1}
    assert set(Candidate.objects.values_list("status", "retry_count", "processing_lock")) == {("pending", 0, None)}


def test_missing_note_fails_immediately():
    [one] = add_candidates(1)
    mine = holder()
    actions.claim(held(mine))
    answer = actions.fail({**held(mine), "note_id": one, "error": {"code": "NOT_FOUND", "retryable": False}})
    assert answer == {"status": "failed", "retry_count": 1}


def test_unknown_note_is_not_found(n8n):
    mine = holder()
    answer = n8n.post("workflow/commit", {**held(mine), "note_id": note_id(9), "result": result_of(note_id(9))})
    assert (n8n.status, answer["error"]["code"]) == (404, "NOT_FOUND")


def test_candidate_keeps_newest_token_encrypted():
    url = f"https://www.example.com/explore/{note_id(1)}?xsec_token=FIRST-TOKEN=&xsec_source=pc_search"
    actions.add_candidates({"items": [{"note_url": url, "platform": "xhs", "source_keyword": "灯"}]})
    row = Candidate.objects.get()
    assert row.note_url == f"https://www.example.com/explore/{note_id(1)}", "no token in what is shown"
    assert "FIRST" not in row.xsec_token
    actions.add_candidates({"items": [{"note_id": note_id(1), "xsec_token": "SECOND-TOKEN="}]})
    [record] = actions.claim(held(holder()))["records"]
    assert (record["xsec_token"], record["source_keyword"]) == ("SECOND-TOKEN=", "灯")


@pytest.mark.parametrize(
    "result",
    [None, [], "x", {"note_id": "another"}, {"counts": [1]}, {"tags": "x"}, {"media": {"a": 1}}],
)
def test_result_that_is_no_note_is_refused(result):
    [one] = add_candidates(1)
    mine = holder()
    actions.claim(held(mine))
    with pytest.raises(NotesError, match="INVALID_INPUT"):
        actions.commit({**held(mine), "note_id": one, "result": result})
    assert states() == {one: "processing"}


def test_hostile_result_is_kept_within_bounds():
    [one] = add_candidates(1)
    mine = holder()
    actions.claim(held(mine))
    nasty = {
        "title": "x" * 5000, "content": "a\x00b" + "y" * 200_000, "author_id": "z" * 500, "tags": ["t" * 500] * 500,
        "media": [{"url": "javascript:alert(1)", "width": 10**30, "kind": "?"}] * 500, "published_at": "never",
        "counts": {"liked": {"value": -5, "raw": "r" * 500}, "made up": 1},
    }  # fmt: skip
    actions.commit({**held(mine), "note_id": one, "result": nasty})
    note = Note.objects.get()
    assert len(note.title) == 300
    assert len(note.content) <= 100_000
    assert "\x00" not in note.content
    assert (len(note.tags), len(note.media), note.media[0]["url"]) == (100, 60, "")
    assert note.counts["liked"]["value"] is None
    assert set(note.counts) == {"liked", "collected", "comment", "share"}


def test_secrets_in_an_error_message_are_not_stored():
    [one] = add_candidates(1)
    mine = holder()
    actions.claim(held(mine))
    message = 'sent Cookie: web_session=made-up-secret-123; and {"cookie_value": "made-up-secret-456"}'
    actions.fail({**held(mine), "note_id": one, "error": {**ERROR, "message": message}})
    assert "made-up-secret" not in Candidate.objects.get().last_error_message


def test_claim_costs_the_same_for_one_and_for_many(django_assert_num_queries):
    add_candidates(30)
    mine = holder()
    for size in (1, 20):
        with django_assert_num_queries(7):
            actions.claim({**held(mine), "batch_size": size})


def test_failed_workflow_alert_resolves_on_completion(n8n):
    body = {"workflow_name": "collect", "message": "failed with web_session=made-up-secret-123"}
    assert n8n.post("workflow/report", body)["data"] == {"opened": True}
    assert n8n.post("workflow/report", body)["data"] == {"opened": False}
    alert = Alert.objects.open().get()
    assert (alert.level, "made-up-secret" in alert.message) == ("P1", False)
    actions.release({**held(holder()), "status": "failed"})
    assert Alert.objects.open().count() == 1
    actions.release({**held(holder()), "status": "completed"})
    assert Alert.objects.open().count() == 0


def test_token_in_candidate_url_is_returned_by_claim(n8n):
    one, other = note_id(1), note_id(2)
    address = f"https://www.xiaohongshu.com/explore/{one}?xsec_token=AB12=&xsec_source=pc_search"
    items = [
        {"note_id": one, "platform": "xhs", "note_url": address, "source_keyword": "lantern"},
        {"note_id": other, "platform": "xhs", "note_url": address, "source_keyword": "lantern"},
    ]
    n8n.post("workflow/candidates", {"items": items})
    records = n8n.post("workflow/claim", held(holder()))["data"]["records"]
    assert [(record["xsec_token"], record["xsec_source"]) for record in records] == [("AB12=", "pc_search"), ("", "")]
    assert records[0]["note_url"] == f"https://www.xiaohongshu.com/explore/{one}", "a token is not stored in the clear"


def test_commit_takes_a_whole_response_and_refuses_an_error(n8n):
    one, _ = add_candidates(2)
    mine = holder()
    actions.claim(held(mine))
    refused = {"success": False, "data": None, "error": ERROR, "meta": {}}
    answer = n8n.post("workflow/commit", {**held(mine), "note_id": one, "result": refused})
    assert (n8n.status, answer["error"]["code"]) == (400, "INVALID_INPUT")
    assert not Note.objects.exists()
    item = {"id": one, "success": True, "data": result_of(one)}
    assert n8n.post("workflow/commit", {**held(mine), "note_id": one, "result": item})["data"]["action"] == "created"
    assert Note.objects.get().title == "A lantern"
