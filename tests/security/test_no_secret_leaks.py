"""No secret is left in the clear: not in a log, a row, the cache, a mail, an answer, a backup or a report.

Real processes at the most talkative level, with everything used and everything in trouble. What is searched for is
each secret as it is, quoted, escaped, in hex, and inside base64 and compressed data.
"""

from __future__ import annotations

import base64
import io
import tarfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import zstandard

from tests.security.secrets import crawling, scenario, search
from tests.security.secrets.installation import Installation, made_up, opened
from tests.security.secrets.search import Hunt
from watchbook.base.testing.environment import NIGHTLY
from watchbook.core.ops.tests.processes import prepare_tables, run

# In a mail these are the message itself.
MEANT_FOR_MAILS = {"confirmation key", "reset key", "unsubscribe token"}
KINDS = {
    "password", "wrong password", "session cookie", "API token", "feed token", "webhook path", "webhook query",
    "webhook header", "signing secret", "service address", "SMTP password", "SECRET_KEY", "secrets key", "TOTP key",
    "TOTP key on its way", "recovery code", "set-up code", "REDIS_URL password", "metrics token", "confirmation key", "reset key",
    "unsubscribe token", "refused address", "share link", "NGA_COOKIE", "REDDIT_CLIENT_SECRET", "Reddit token",
    "COOKIE_MASTER_KEY", "NOTES_REMOTE_TOKEN", "crawl cookie",
}  # fmt: skip


Found = dict[str, set[str]]


def test_no_secret_is_found_in_any_output(tmp_path: Path) -> None:
    """One test, because one installation is enough: everything happens in it, and then every place is searched."""
    with opened(tmp_path / "home") as installation:
        answers = scenario.live(installation)
        crawling.crawl(installation)
        answers += [*scenario.break_everything(installation), *crawling.send_to_a_broker(installation)]
        for command in (("doctor",), ("doctor", "--json"), ("jobs", "list", "--json"), ("users", "list"), ("backup",)):
            installation.command(*command)
        places = {
            "logs": _in_logs(installation),
            "database": search.in_database(installation.hunt, installation.home, installation.database),
            "cache": search.in_redis(installation.hunt, installation.cache),
            "mails": _in_mails(installation),
            "answers": {text[:300]: kinds for text in answers if (kinds := installation.hunt.search(text))},
            # The database is looked at row by row, and keys are where they belong.
            "files": search.in_files(installation.hunt, installation.home, besides=("keys/", "watchbook.sqlite3")),
        }
        _story_was_whole(installation)
    assert {place: found for place, found in places.items() if found} == {}


def _in_logs(installation: Installation) -> Found:
    lines = "".join(installation.output).splitlines()
    return {line[:300]: kinds for line in lines if (kinds := installation.hunt.search(line))}


def _in_mails(installation: Installation) -> Found:
    found = {}
    for mail in installation.mails.messages():
        kinds = installation.hunt.search(mail.raw + mail.text.encode() + mail.html.encode()) - MEANT_FOR_MAILS
        if kinds:
            found[mail.subject] = kinds
    return found


def _story_was_whole(installation: Installation) -> None:
    """A search that finds nothing proves nothing unless there was something to find."""
    log = "".join(installation.output)
    assert set(installation.hunt.secrets) >= KINDS
    assert " DEBUG " in log, "at the most talkative level"
    assert "RuntimeError" in log, "errors that quote secrets were logged"
    assert installation.mails.messages()
    assert installation.cache.dbsize() > 0
    assert installation.cache.llen("crawler_queue") > 0, "messages lie in the broker"
    assert list((installation.home / "backups").glob("*.tar"))


Settings = dict[str, str]
WRONG: dict[str, Settings] = {
    "a slash in the password": {"DATABASE_URL": "postgres://desk:{0}/x@127.0.0.1:5432/desk"},
    "a hash in the password": {"DATABASE_URL": "postgres://desk:{0}#x@127.0.0.1:5432/desk"},
    "a bracket in the password": {"DATABASE_URL": "postgres://desk:{0}[x@127.0.0.1:5432/desk"},
    "an unknown kind": {"DATABASE_URL": "oracle://desk:{0}@127.0.0.1/desk"},
    "an option that is none": {"DATABASE_URL": "postgres://desk@127.0.0.1:1/desk?password={0}&pool=x"},
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
AWAY: tuple[Settings, ...] = (
    {"DATABASE_URL": "postgres://desk:{0}@127.0.0.1:1/desk"},
    {"DATABASE_URL": "postgres://desk@127.0.0.1:1/desk", "PGPASSWORD": "{0}"},
)
Commands = tuple[tuple[str, ...], ...]
COMMANDS: Commands = (("doctor",), ("--debug", "jobs", "list"))


@pytest.mark.parametrize("trouble", WRONG)
def test_error_about_a_setting_does_not_show_its_secret(trouble: str, tmp_path: Path) -> None:
    """Each trouble is met by one of the commands, every night by all of them."""
    first = list(WRONG).index(trouble) % len(COMMANDS)
    _tell_no_secret(tmp_path, WRONG[trouble], commands=COMMANDS if NIGHTLY else (COMMANDS[first],))


@pytest.mark.slow
def test_database_error_does_not_show_the_password(tmp_path: Path) -> None:
    """A connection is waited for, so all of them wait at once."""
    said = _tell_no_secret(tmp_path, *AWAY)
    assert all("does not respond" in text or "get a connection" in text for text in said)


def _tell_no_secret(folder: Path, *troubles: Settings, commands: Commands = COMMANDS) -> list[str]:
    """What each command says under each of the settings."""
    hunt = Hunt()
    secret = hunt.add("secret", made_up("setting"))

    def told(number: int, trouble: Settings, command: tuple[str, ...]) -> str:
        given = {name: value.format(secret) for name, value in trouble.items()}
        if "DATABASE_URL" not in given:
            prepare_tables(folder / f"home{number}")
        done = run(folder / f"home{number}", *command, WATCHBOOK_LOG_LEVEL="DEBUG", **given)
        return done.stdout + done.stderr

    cases = [(trouble, command) for trouble in troubles for command in commands]
    with ThreadPoolExecutor(len(cases)) as pool:
        said = list(pool.map(lambda case: told(case[0], *case[1]), enumerate(cases)))
    for text in said:
        assert text, "something was said"
        assert hunt.search(text) == set(), text
    return said


def _archived(data: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo("database.zst")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return packed.getvalue()


def test_search_finds_encoded_and_compressed_secrets(tmp_path: Path) -> None:
    """Else finding nothing would be no news."""
    hunt = Hunt()
    secret = hunt.add("secret", 'S3n"tinel/<ä>')
    plain = f"before {secret} after".encode()
    hidden = {
        "plain": plain,
        "address": b"GET /?k=S3n%22tinel%2F%3C%C3%A4%3E HTTP/1.1",
        "page": b"<p>S3n&quot;tinel/&lt;\xc3\xa4&gt;</p>",
        "json": b'{"k": "S3n\\"tinel/<\\u00e4>"}',
        "hex": secret.encode().hex().encode(),
        "base64": b"session=" + base64.urlsafe_b64encode(plain),
        "zlib": zlib.compress(plain),
        "zlib in base64": base64.b64encode(zlib.compress(plain)),
        "zstd": zstandard.compress(plain),
    }
    assert [name for name, data in hidden.items() if hunt.search(data) != {"secret"}] == []
    assert hunt.search(b"S3n-tinel") == set()
    (tmp_path / "backup.tar").write_bytes(_archived(zstandard.compress(plain)))
    assert search.in_files(hunt, tmp_path) == {"backup.tar": {"secret"}}
