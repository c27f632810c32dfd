"""The secrets of the systems that fetch, and of a shared page: used as meant, then at sites that say them back."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack

from standins.nga_board import NgaBoard
from standins.note_platform import NotePlatform
from standins.reddit import RedditSite
from tests.security.secrets.installation import Browser, Echo, Installation, made_up
from watchbook.core.ops.tests.processes import SECONDS, environment


def crawl(installation: Installation) -> None:
    """Every system once at its stand-in and once at an echo."""
    hunt = installation.hunt
    with ExitStack() as stack:
        board, reddit, platform, echo = (
            stack.enter_context(site) for site in (NgaBoard(), RedditSite(), NotePlatform(), Echo())
        )
        reddit.clients = {"made-up-client": hunt.add("REDDIT_CLIENT_SECRET", made_up("reddit"))}
        hosts = ",".join(site.netloc for site in (installation.hooks, board, reddit, platform, echo))
        own = {
            "WATCHBOOK_TRUSTED_HOSTS": hosts,
            "NGA_BASE_URL": board.url,
            "NGA_FORUMS": "7",
            "NGA_COOKIE": f"ngaPassportUid=1; ngaPassportCid={hunt.add('NGA_COOKIE', made_up('nga'))}",
            **reddit.environment(),
            "NOTES_ADAPTER": "standin",
            "NOTES_STANDIN_URL": platform.url,
            "COOKIE_MASTER_KEY": hunt.add("COOKIE_MASTER_KEY", made_up("master") * 2),
        }
        _use(installation, board, reddit, platform, own)
        for token in reddit.tokens:
            hunt.add("Reddit token", token)
        _meet_an_echo(installation, echo, own)


def _use(
    installation: Installation, board: NgaBoard, reddit: RedditSite, platform: NotePlatform, own: dict[str, str]
) -> None:
    board.world.fill(board.world.add_topic("[讨论]灯会"), 5)
    installation.command("nga", "crawl", **own)
    reddit.world.add_community("lanterns")
    reddit.world.post("lanterns", "A made-up walk")
    pool = installation.home.parent / "pool.json"
    pool.write_text(json.dumps([{"name": "lanterns"}]))
    installation.command("reddit", "load-pool", str(pool), **own)
    installation.command("reddit", "crawl", "lanterns", **own)
    assert any(request.headers.get("Cookie") for request in board.log.all())
    assert reddit.tokens
    line = platform.add_account(installation.hunt.add("crawl cookie", made_up("account")))
    told = subprocess.run(
        [sys.executable, "-m", "watchbook", "notes", "cookies", "add", "account_01"],
        env=environment(installation.home, **{**installation.environment, **own}), input=line,
        capture_output=True, text=True, timeout=SECONDS, check=True,
    )  # fmt: skip
    installation.output.append(told.stdout + told.stderr)
    platform.add("Lantern walk")
    installation.command("notes", "keywords", "add", "Lantern", **own)
    installation.command("notes", "keywords", "search", **own)
    assert '"collected": 1' in installation.command("notes", "collect", "--json", **own)


def _meet_an_echo(installation: Installation, echo: Echo, own: dict[str, str]) -> None:
    """A site that writes what it was sent into its answer, which is then no answer that anybody can read."""
    away = {**own, "NGA_BASE_URL": echo.url, "REDDIT_OAUTH_URL": echo.url, "NOTES_STANDIN_URL": echo.url}
    installation.command("nga", "crawl", **away)
    installation.command("reddit", "crawl", "lanterns", "--force", **away)
    installation.command(
        "reddit", "crawl", "lanterns", "--force", **{**away, "REDDIT_TOKEN_URL": echo.address("/token")}
    )
    installation.command("notes", "cookies", "probe", "account_01", **away)
    remote = {
        **away, "NOTES_ADAPTER": "remote", "NOTES_TERMS_CONFIRMED": "on", "NOTES_REMOTE_URL": echo.url,
        "NOTES_REMOTE_TOKEN": installation.hunt.add("NOTES_REMOTE_TOKEN", made_up("remote")),
    }  # fmt: skip
    installation.command("notes", "cookies", "probe", "account_01", **remote)
    installation.command("doctor", "--json", **remote)
    assert echo.log.count() >= 4, "the echo was asked by each of them"


def share(installation: Installation, browser: Browser) -> list[str]:
    """A page that whoever has its link may read; the link is shown once."""
    token = installation.environment["TEST_TOKEN"]
    made = browser.api("POST", "/api/v1/library/workspaces", token, {"name": "Desk"}).json()
    space = browser.api("POST", f"/api/v1/library/workspaces/{made['id']}/spaces", token, {"name": "Files"}).json()
    pages = f"/api/v1/library/spaces/{space['id']}/pages"
    folder = browser.api("POST", pages, token, {"node_type": "folder", "title": "Open"}).json()
    given = {"node_type": "file", "title": "Shared", "content": "x", "parent_page_id": folder["id"]}
    page = browser.api("POST", pages, token, given).json()
    link = browser.api("POST", f"/api/v1/library/pages/{page['id']}/shares", token).json()
    secret = installation.hunt.add("share link", link["token"])
    assert browser.http.get(f"/library/shared/{secret}/").status_code == 200
    browser.http.get(f"/library/shared/{secret}x/")
    return [browser.api("GET", f"/api/v1/library/pages/{page['id']}/shares", token).text, browser.get("/audit/").text]


def send_to_a_broker(installation: Installation) -> list[str]:
    """Work that is handed to a broker and lies there, since nobody works."""
    token = installation.environment["TEST_TOKEN"]
    installation.environment["CELERY_BROKER_URL"] = installation.environment["REDIS_URL"]
    with installation.web() as browser:
        channels = browser.api("GET", "/api/v1/channels", token).json()["items"]
        answers = [browser.api("POST", f"/api/v1/channels/{one['id']}/test", token).text for one in channels]
        jobs = ("nga.crawl", "reddit.incremental", "notes.collect", "stream.clean")
        answers += [browser.api("POST", f"/api/v1/jobs/{name}/run", token).text for name in jobs]
    del installation.environment["CELERY_BROKER_URL"]
    return answers
