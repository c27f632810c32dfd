"""No secret is left in the clear: not in a log, a row, the cache, a mail, an answer, a backup or a report.

Real processes at the most talkative level, with everything used and everything in trouble. What is searched for is
each secret as it is, quoted, escaped, in hex, and inside base64 and compressed data.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.security.secrets import hunt as hunting
from tests.security.secrets import story
from tests.security.secrets.house import House, made_up, opened
from tests.security.secrets.hunt import Hunt
from watchbook.core.ops.tests.processes import run

# In a mail these are the message itself.
MEANT_FOR_MAILS = {"confirmation key", "reset key", "unsubscribe token"}
KINDS = {
    "password", "wrong password", "session cookie", "API token", "feed token", "webhook path", "webhook query",
    "webhook header", "signing secret", "service address", "SMTP password", "SECRET_KEY", "secrets key", "TOTP key",
    "TOTP key on its way",
    "recovery code", "set-up code", "REDIS_URL password", "metrics token", "confirmation key", "reset key",
    "unsubscribe token", "refused address",
}  # fmt: skip


Found = dict[str, set[str]]


def test_no_secret_is_left_anywhere(tmp_path: Path) -> None:
    """One test, because one installation is enough: everything happens in it, and then every place is searched."""
    with opened(tmp_path / "home") as house:
        answers = [*story.live(house), *story.break_everything(house)]
        for command in (("doctor",), ("doctor", "--json"), ("jobs", "list", "--json"), ("users", "list"), ("backup",)):
            house.command(*command)
        places = {
            "logs": _in_logs(house),
            "database": hunting.in_database(house.hunt, house.home, house.database),
            "cache": hunting.in_redis(house.hunt, house.cache),
            "mails": _in_mails(house),
            "answers": {text[:300]: kinds for text in answers if (kinds := house.hunt.search(text))},
            # The database is looked at row by row, and keys are where they belong.
            "files": hunting.in_files(house.hunt, house.home, besides=("keys/", "watchbook.sqlite3")),
        }
        _story_was_whole(house)
    assert {place: found for place, found in places.items() if found} == {}


def _in_logs(house: House) -> Found:
    lines = "".join(house.output).splitlines()
    return {line[:300]: kinds for line in lines if (kinds := house.hunt.search(line))}


def _in_mails(house: House) -> Found:
    found = {}
    for mail in house.mails.messages():
        kinds = house.hunt.search(mail.raw + mail.text.encode() + mail.html.encode()) - MEANT_FOR_MAILS
        if kinds:
            found[mail.subject] = kinds
    return found


def _story_was_whole(house: House) -> None:
    """A search that finds nothing proves nothing unless there was something to find."""
    log = "".join(house.output)
    assert set(house.hunt.secrets) >= KINDS
    assert " DEBUG " in log, "at the most talkative level"
    assert "RuntimeError" in log, "errors that quote secrets were logged"
    assert house.mails.messages()
    assert house.cache.dbsize() > 0
    assert list((house.home / "backups").glob("*.tar"))


WRONG = {
    "a database that is not there": {"DATABASE_URL": "postgres://desk:{0}@127.0.0.1:1/desk"},
    "a slash in the password": {"DATABASE_URL": "postgres://desk:{0}/x@127.0.0.1:5432/desk"},
    "a hash in the password": {"DATABASE_URL": "postgres://desk:{0}#x@127.0.0.1:5432/desk"},
    "a bracket in the password": {"DATABASE_URL": "postgres://desk:{0}[x@127.0.0.1:5432/desk"},
    "an unknown kind": {"DATABASE_URL": "oracle://desk:{0}@127.0.0.1/desk"},
    "an option that is none": {"DATABASE_URL": "postgres://desk@127.0.0.1:1/desk?password={0}&pool=x"},
    "a password of the environment": {"DATABASE_URL": "postgres://desk@127.0.0.1:1/desk", "PGPASSWORD": "{0}"},
    "a cache that is not there": {"REDIS_URL": "redis://:{0}@127.0.0.1:1/0"},
    "a cache address that is none": {"REDIS_URL": "redis://:{0}/x@127.0.0.1:port/0"},
    "a broker that is not there": {"CELERY_BROKER_URL": "amqp://desk:{0}@127.0.0.1:1//"},
    "a broker address that is none": {"CELERY_BROKER_URL": "amqp://desk:{0}/y@127.0.0.1:one//"},
    "a mail server that is not there": {"EMAIL_HOST": "127.0.0.1", "EMAIL_PORT": "1", "EMAIL_HOST_PASSWORD": "{0}"},
    "keys without names": {"WATCHBOOK_SECRETS_KEYS": "{0}{0}"},
    "a short key": {"SECRET_KEY": "{0}"},
    "a wrong port": {"EMAIL_PORT": "many", "EMAIL_HOST_PASSWORD": "{0}"},
    "a password for a public address": {"WATCHBOOK_PUBLIC_URL": "desk.example.com", "SECRET_KEY": "{0}"},
}


# Ten seconds of waiting for each question that needs the database.
WAITING = {"a database that is not there", "a password of the environment"}


@pytest.mark.parametrize(
    "trouble", [pytest.param(name, marks=pytest.mark.slow) if name in WAITING else name for name in WRONG]
)
def test_wrong_settings_are_told_without_the_secret(trouble: str, tmp_path: Path) -> None:
    hunt = Hunt()
    secret = hunt.add("secret", made_up("setting"))
    extra = {name: value.format(secret) for name, value in WRONG[trouble].items()}
    for command in (("doctor",), ("--debug", "jobs", "list")):
        done = run(tmp_path / "home", *command, WATCHBOOK_LOG_LEVEL="DEBUG", **extra)
        assert hunt.search(done.stdout + done.stderr) == set(), done.stdout + done.stderr
        assert done.stdout + done.stderr, "something was said"
