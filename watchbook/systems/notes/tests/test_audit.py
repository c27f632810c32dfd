from __future__ import annotations

import pytest
from django.conf import settings

from watchbook.core.alerts.models import Alert
from watchbook.systems.notes import actions
from watchbook.systems.notes.encryption import MASK, redacted
from watchbook.systems.notes.jobs.audit import audit
from watchbook.systems.notes.models import Candidate, Cookie
from watchbook.systems.notes.tests.data import add_candidates, command

pytestmark = [pytest.mark.django_db, pytest.mark.plants_secrets]

PLAIN = "a1=made-up-0123456789abcdef; web_session=made-up-session-12345"


@pytest.fixture
def cookie():
    return actions.add_cookie("one", PLAIN)[0]


@pytest.fixture
def said(capsys, tmp_path):
    """What the command says where it must not pass. The tree is an empty one: the real one is looked at elsewhere."""
    return lambda: _said(capsys, tmp_path)


def _said(capsys, tmp_path):
    with pytest.raises(SystemExit) as ended:
        command("security-audit", "--tree", str(tmp_path))
    assert ended.value.code == 1
    return capsys.readouterr().out


def test_cookie_planted_in_a_log_fails_the_audit(cookie, said):
    from pathlib import Path

    folder = Path(settings.HOME) / "logs"
    folder.mkdir(exist_ok=True)
    planted = folder / "watchbook.log"
    planted.write_text("2026-03-02 ok\n2026-03-02 asked with web_session=never-seen-before-98765\n")
    try:
        out = said()
    finally:
        planted.unlink()
    assert "passed=false" in out
    assert "watchbook.log:2" in out
    assert "98765" not in out, "a finding does not repeat the secret"


def test_value_of_the_pool_is_found_under_any_name(cookie, tmp_path):
    (tmp_path / "other.log").write_text("jar is made-up-0123456789abcdef\n")
    report = audit([tmp_path], trees=[])
    assert [finding.what for finding in report.findings] == ["a cookie of the pool"]


def test_masked_log_passes(cookie, tmp_path):
    lines = [f"web_session={MASK}", 'x {"cookie_value": "***REDACTED***"}', "web_session=***", redacted(PLAIN)]
    (tmp_path / "good.log").write_text("\n".join(lines))
    assert audit([tmp_path], trees=[]).passed


@pytest.mark.parametrize("where", ["json", "text", "another table"])
def test_cookie_planted_in_the_database_fails_the_audit(cookie, said, where):
    add_candidates(1)
    if where == "json":
        Candidate.objects.update(exec_meta={"headers": {"cookie": PLAIN}})
    elif where == "text":
        Candidate.objects.update(last_error_message="sent web_session=somebody-elses-4711")
    else:
        Alert.objects.create(key="x", level="P2", title="t", message="it was made-up-session-12345")
    out = said()
    assert "passed=false" in out
    assert "made-up-session" not in out


def test_unencrypted_cookie_fails_the_audit(cookie, said):
    Cookie.objects.update(cookie_encrypted=PLAIN)
    assert "not encrypted" in said()


def test_row_that_names_another_key_fails_the_audit(cookie):
    Cookie.objects.update(encryption_key_id="k9")
    assert [finding.where for finding in audit(trees=[]).findings] == ["tbl_cookie one"]


def test_cookie_planted_in_the_tree_fails_the_audit(cookie, tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "a.py").write_text('COOKIE = "web_session=made-up-for-a-test-123"')
    assert audit(trees=[tmp_path]).passed
    (tmp_path / "b.py").write_text('COOKIE = "web_session=made-up-for-real-123"')
    assert not audit(trees=[tmp_path]).passed


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("web_session=abc123", f"web_session={MASK}"),
        ('{"cookie_value": "abc"}', f'{{"cookie_value": "{MASK}"}}'),
        ("a1=18c5; gid=yj; web_session_sec=1", f"a1={MASK}; gid={MASK}; web_session_sec={MASK}"),
        ("?xsec_token=AB12=&x=1", f"?xsec_token={MASK}&x=1"),
        ("the cookie pool is empty", "the cookie pool is empty"),
    ],
)
def test_texts_are_redacted_in_the_documents_form(text, wanted):
    shown = redacted(text)
    assert shown == wanted
    assert redacted(shown) == shown
