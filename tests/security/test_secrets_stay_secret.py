"""No secret is left in the clear: not in a log, a row, the cache, a mail, an answer, a backup or a report.

Real processes at the most talkative level, with everything used and everything in trouble. What is searched for is
each secret as it is, quoted, escaped, in hex, and inside base64 and compressed data.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.security.secrets import hunt as hunting
from tests.security.secrets import story
from tests.security.secrets.house import House, made_up, opened
from tests.security.secrets.hunt import Hunt
from watchbook.core.ops.tests.processes import run

# One installation for all of them, also where tests run side by side.
pytestmark = pytest.mark.xdist_group("secrets")

# In a mail these are the message itself.
MEANT_FOR_MAILS = {"confirmation key", "reset key", "unsubscribe token"}
KINDS = {
    "password", "wrong password", "session cookie", "API token", "feed token", "webhook path", "webhook query",
    "webhook header", "signing secret", "service address", "SMTP password", "SECRET_KEY", "secrets key", "TOTP key",
    "TOTP key on its way",
    "recovery code", "set-up code", "REDIS_URL password", "metrics token", "confirmation key", "reset key",
    "unsubscribe token", "refused address",
}  # fmt: skip


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[House, list[str]]]:
    """An installation in which everything happened, and the answers in which no secret belongs."""
    with opened(tmp_path_factory.mktemp("house") / "home") as house:
        answers = story.live(house)
        answers += story.break_everything(house)
        for command in (("doctor",), ("doctor", "--json"), ("jobs", "list", "--json"), ("users", "list"), ("backup",)):
            house.command(*command)
        yield house, answers


@pytest.fixture
def house(told: tuple[House, list[str]]) -> House:
    return told[0]


def test_the_story_knew_every_kind_of_secret(house: House) -> None:
    assert set(house.hunt.secrets) >= KINDS


def test_no_process_wrote_one_to_its_log(house: House) -> None:
    lines = "".join(house.output).splitlines()
    found = [(sorted(kinds), line[:300]) for line in lines if (kinds := house.hunt.search(line))]
    assert found == []
    assert any("DEBUG" in line for line in lines), "at the most talkative level"
    assert any("RuntimeError" in line for line in lines), "errors that quote secrets were logged"


def test_no_row_of_the_database_holds_one(house: House) -> None:
    assert hunting.in_database(house.hunt, house.home, house.database) == {}


def test_the_cache_holds_none(house: House) -> None:
    assert house.cache.dbsize() > 0
    assert hunting.in_redis(house.hunt, house.cache) == {}


def test_no_mail_holds_one_but_the_link_it_was_sent_for(house: House) -> None:
    mails = house.mails.messages()
    assert mails
    found = {mail.subject: house.hunt.search(mail.raw + mail.text.encode() + mail.html.encode()) for mail in mails}
    assert {subject: kinds for subject, kinds in found.items() if kinds - MEANT_FOR_MAILS} == {}


def test_no_answer_shows_one_again(told: tuple[House, list[str]]) -> None:
    house, answers = told
    assert [(house.hunt.search(text), text[:500]) for text in answers if house.hunt.search(text)] == []


def test_no_file_holds_one_but_the_keys(house: House) -> None:
    assert list((house.home / "backups").glob("*.tar")), "the backup is among them"
    assert hunting.in_files(house.hunt, house.home, besides=("keys/", "watchbook.sqlite3")) == {}


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
