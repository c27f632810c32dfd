"""`watchbook library …` from the first page to the way back."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from watchbook.systems.library import actions
from watchbook.systems.library.cli import group
from watchbook.systems.library.models import Page, PageNodeMeta

pytestmark = pytest.mark.django_db


def run(*words: str, code: int = 0):
    result = CliRunner().invoke(group, [*words, "--json"])
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def test_steps_of_an_operator(desk):
    actions.set_flags(desk.olga, desk.workspace.pk, {"folders_enabled": False})
    for n in range(3):
        desk.file(f"{n}")
    PageNodeMeta.objects.all().delete()
    assert run("backfill")["files"] == 3
    space = str(desk.space.pk)
    assert run("migrate-root", space, "--dry-run")["obstacles"] == ["folders_disabled"]
    assert run("migrate-root", space, code=1)["error"]["code"] == "folders_disabled"
    actions.set_flags(desk.olga, desk.workspace.pk, {"folders_enabled": True})
    job = run("migrate-root", space)
    assert (job["status"], job["success_count"]) == ("success", 3)
    assert run("reconcile", str(desk.workspace.pk))["ok"] is True
    assert run("rollback", job["id"])["status"] == "rolled_back"
    assert run("reconcile")["ok"] is True
    assert Page.objects.below(desk.space.pk, None).count() == 3


def test_page_types_are_cleared_only_while_folders_are_disabled(desk):
    desk.file("Page", desk.folder("Home"))
    workspace = str(desk.workspace.pk)
    assert run("clear-meta", workspace, code=1)["error"]["code"] == "folders_enabled"
    actions.set_flags(desk.olga, desk.workspace.pk, {"folders_enabled": False})
    assert run("clear-meta", workspace) == {"rows": 2, "folders": 1, "pins": 0}
    assert run("backfill")["folders"] == 1
    assert run("reconcile", workspace)["ok"] is True


def test_channel_is_set_only_by_its_deployment(desk):
    workspace = str(desk.workspace.pk)
    assert run("set-channel", workspace, "beta", code=1)["error"]["code"] == "invalid"
    assert run("set-channel", workspace, "staging")["release_channel"] == "staging"
    assert run("set-channel", workspace, "prod", code=1)["error"]["code"] == "wrong_release_channel"


def test_failed_consistency_check_is_an_error(desk):
    desk.folder("Home")
    PageNodeMeta.objects.all().delete()
    found = run("reconcile", code=1)
    wrong = [check["name"] for check in found["workspaces"][0]["checks"] if not check["ok"]]
    assert wrong == ["meta_rows"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("migrate-root", "7b0e6f0e-0000-4000-8000-000000000000"), 1),
        (("rollback", "7b0e6f0e-0000-4000-8000-000000000000"), 1),
        (("reconcile", "7b0e6f0e-0000-4000-8000-000000000000"), 1),
        (("migrate-root", "nonsense"), 2),
    ],
)
def test_wrong_names_are_one_sentence(desk, words, code):
    result = CliRunner().invoke(group, list(words))
    assert result.exit_code == code
    assert "Traceback" not in result.output
