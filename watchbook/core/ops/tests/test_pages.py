from __future__ import annotations

import pytest

from watchbook.core.accounts.models import AuditEvent
from watchbook.core.jobs.models import JobRun
from watchbook.core.ops import backup

PAGES = ["/operations/", "/operations/backups/"]


@pytest.mark.parametrize("path", PAGES)
def test_pages_are_for_operators(client, member_client, staff_client, path):
    assert client.get(path).status_code == 302
    assert member_client.get(path).status_code == 403
    assert staff_client.get(path).status_code == 200


def test_overview_says_what_is_wrong(staff_client, living):
    assert "Not ready" not in staff_client.get("/operations/").content.decode()
    living(worker_ago=100)
    page = staff_client.get("/operations/").content.decode()
    assert "Not ready" in page
    assert "No worker has sent a heartbeat for 30 s." in page
    assert "Not responding" in page


def test_overview_asks_a_bounded_number_of_queries(staff_client, living, make_run, django_assert_max_num_queries):
    for _ in range(30):
        make_run()
    # 20 of its own, and what the health of the six sources asks.
    with django_assert_max_num_queries(33):
        staff_client.get("/operations/")


def test_damaged_backup_is_shown_as_such_and_not_handed_out(staff_client, settings, tmp_path):
    settings.HOME = tmp_path
    backup.folder().mkdir()
    (backup.folder() / "watchbook-20260101-000000.tar").write_bytes(b"not a tar file" * 100)
    page = staff_client.get("/operations/backups/").content.decode()
    assert "Damaged" in page
    assert 'href="/operations/backups/watchbook' not in page


def test_only_backups_are_handed_out_and_the_audit_log_says_to_whom(staff_client, member_client, settings, tmp_path):
    settings.HOME = tmp_path
    backup.folder().mkdir()
    (tmp_path / "secret.tar").write_bytes(b"x")
    (backup.folder() / "watchbook-1.tar").write_bytes(b"backup")
    assert member_client.get("/operations/backups/watchbook-1.tar").status_code == 403
    for name in ("..%2Fsecret.tar", "secret.tar", "%2e%2e/secret.tar", "watchbook-2.tar"):
        assert staff_client.get(f"/operations/backups/{name}").status_code == 404
    assert not AuditEvent.objects.filter(event="export.made").exists()
    answer = staff_client.get("/operations/backups/watchbook-1.tar")
    assert b"".join(answer.streaming_content) == b"backup"
    assert "attachment" in answer["Content-Disposition"]
    assert AuditEvent.objects.get(event="export.made").subject == "watchbook-1.tar"


def test_back_up_now_puts_the_job_into_the_queue(staff_client, member_client):
    assert member_client.post("/operations/backups/new/").status_code == 403
    assert staff_client.get("/operations/backups/new/").status_code == 405
    assert staff_client.post("/operations/backups/new/").status_code == 302
    assert JobRun.objects.get().name == "ops.backup"
    assert "Backup running" in staff_client.get("/operations/backups/").content.decode()
