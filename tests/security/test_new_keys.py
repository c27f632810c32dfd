"""Keys are changed without losing a secret: the old key can be removed when the job reports that it is unused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret

from watchbook.base import clock
from watchbook.base.crypto import encrypt, key_of
from watchbook.base.testing import servers
from watchbook.core.jobs.runner import run_now
from watchbook.core.notify import actions as channels
from watchbook.core.notify import channels as keep
from watchbook.core.notify.models import NotificationChannel
from watchbook.systems.notes.models import Candidate
from watchbook.systems.notes.store.candidates import FoundNote, decrypt_token, store_found
from watchbook.systems.reddit.fetch.client import BINDING
from watchbook.systems.reddit.models import Access

pytestmark = pytest.mark.django_db

OLD, NEW = "the-first-made-up-key-0123456789", "the-second-made-up-key-0123456789"
ADDRESS = "https://example.com/hook-sentinel"


@pytest.fixture
def secrets(alice: Any, settings: Any) -> Any:
    """One of each kind, sealed with the old key; then the new one comes before it."""
    settings.SECRETS_KEYS = {"k1": OLD}
    channels.create(alice, name="hook", channel_type="webhook", given={"url": ADDRESS})
    channels.create(alice, name="mail", channel_type="email", given={"email": "alice@example.com"})
    TOTP.activate(alice, generate_totp_secret())
    RecoveryCodes.activate(alice)
    store_found([FoundNote("68000001", "xhs", xsec_token="AB12=")], clock.now())
    Access.objects.create(name="x", sealed_token=encrypt("made-up-token", bound_to=BINDING))
    settings.SECRETS_KEYS = {"k2": NEW, "k1": OLD}
    return settings


def keys_in_use() -> set[str]:
    texts = [*NotificationChannel.objects.exclude(secret="").values_list("secret", flat=True)]
    texts += [*Candidate.objects.values_list("xsec_token", flat=True)]
    texts += [*Access.objects.values_list("sealed_token", flat=True)]
    for data in Authenticator.objects.values_list("data", flat=True):
        texts += [value for value in data.values() if isinstance(value, str)]
    return {key_of(text) for text in texts}


def test_all_secrets_are_reencrypted_with_the_new_key(secrets: Any, alice: Any) -> None:
    codes = Authenticator.objects.get(type=Authenticator.Type.RECOVERY_CODES).wrap().get_unused_codes()
    run = run_now("ops.reencrypt")
    assert (run.outcome, run.progress["sealed"], run.progress["locked"]) == ("done", 6, 0)
    assert (run.progress["key"], run.progress["missing_keys"]) == ("k2", {})
    assert keys_in_use() == {"k2"}
    secrets.SECRETS_KEYS = {"k2": NEW}
    assert keep.read(NotificationChannel.objects.get(name="hook"))["url"] == ADDRESS
    assert decrypt_token(Candidate.objects.get()) == "AB12="
    again = Authenticator.objects.get(type=Authenticator.Type.RECOVERY_CODES).wrap().get_unused_codes()
    assert again == codes
    assert run_now("ops.reencrypt").outcome == "nothing_to_do"


@pytest.mark.crash
@pytest.mark.django_db(transaction=True)
def test_killed_reencryption_is_finished_by_the_next_run(secrets: Any) -> None:
    own = {
        "DATABASE_URL": servers.same_database(), "WATCHBOOK_HOME": str(secrets.HOME),
        "WATCHBOOK_SECRETS_KEYS": f"k2:{NEW},k1:{OLD}", "CRASH_AT": "job.after_commit:3",
    }  # fmt: skip
    command = [sys.executable, "-m", "watchbook", "jobs", "run", "ops.reencrypt"]
    killed = subprocess.run(command, env={**os.environ, **own}, capture_output=True, timeout=120, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert keys_in_use() == {"k1", "k2"}
    done = run_now("ops.reencrypt").progress
    assert (done["sealed"], done["current"]) == (3, 3)
    assert keys_in_use() == {"k2"}


def test_secret_without_its_key_is_kept_and_reported(secrets: Any) -> None:
    secrets.SECRETS_KEYS = {"k2": NEW}
    before = list(NotificationChannel.objects.order_by("pk").values_list("secret", flat=True))
    run = run_now("ops.reencrypt")
    assert (run.outcome, run.progress["sealed"], run.progress["missing_keys"]) == ("partly", 0, {"k1": 6})
    assert list(NotificationChannel.objects.order_by("pk").values_list("secret", flat=True)) == before
