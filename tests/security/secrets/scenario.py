"""What people do with secrets in an installation, so that every kind was used, and every kind was in trouble, too."""

from __future__ import annotations

import base64
import hmac
import re
import secrets
import struct
import time
from typing import Any

from tests.security.secrets import crawling
from tests.security.secrets.installation import Browser, Installation, made_up
from watchbook.core.ops.tests.processes import until

OPERATOR, MEMBER = "operator@example.com", "member@example.com"


def live(installation: Installation) -> list[str]:
    """Everything on the ordinary program. Gives the answers in which no secret belongs any more."""
    with installation.web() as browser:
        _first_account(installation, browser)
        later = [
            *_second_step(installation, browser),
            *_tokens(installation, browser),
            *_channels(installation, browser),
        ]
        later += _mails_with_links(installation, browser)
        later += crawling.share(installation, browser)
        later += _every_page(browser)
    return later


def _first_account(installation: Installation, browser: Browser) -> None:
    """As through a proxy: the set-up code is asked for, once wrong, once right."""
    file = installation.home / "keys" / "setup_code"
    until(file.exists)
    code = installation.hunt.add("set-up code", file.read_text().strip())
    password = installation.hunt.add("password", made_up("password"))
    installation.hunt.add("wrong password", wrong := made_up("wrong"))
    proxied = Browser(str(browser.http.base_url), **{"X-Forwarded-For": "198.51.100.7"})
    fields = {"email": OPERATOR, "password1": password, "password2": password}
    assert proxied.post("/accounts/signup/", {**fields, "setup_code": f"{code}x"}).status_code == 200
    assert proxied.post("/accounts/signup/", {**fields, "setup_code": code}).status_code == 302
    browser.post("/accounts/login/", {"login": OPERATOR, "password": wrong})
    browser.post("/accounts/login/", {"login": OPERATOR, "password": password})
    installation.hunt.add("session cookie", browser.http.cookies["watchbook_session"])
    assert browser.get("/account/").status_code == 200


def _second_step(installation: Installation, browser: Browser) -> list[str]:
    """Set up with a wrong and a right code, used with a wrong one."""
    password = installation.hunt.first("password")
    browser.post("/accounts/reauthenticate/", {"password": installation.hunt.first("wrong password")})
    browser.post("/accounts/reauthenticate/", {"password": password})
    page = browser.get("/accounts/2fa/totp/activate/").text
    key = installation.hunt.add("TOTP key", re.findall(r'class="mono">\s*([A-Z2-7]{32})\s*<', page)[0])
    browser.post("/accounts/2fa/totp/activate/", {"code": "000000"})
    key = installation.hunt.add("TOTP key", re.findall(r'class="mono">\s*([A-Z2-7]{32})\s*<', browser.seen[-1])[0])
    _activate(browser, key)
    for code in re.findall(r"<li>\s*([a-z0-9-]{8,})\s*</li>", browser.get("/accounts/2fa/recovery-codes/").text):
        installation.hunt.add("recovery code", code)
    assert "recovery code" in installation.hunt.secrets
    other = Browser(str(browser.http.base_url))
    other.post("/accounts/login/", {"login": OPERATOR, "password": password})
    installation.hunt.add("session cookie", other.http.cookies["watchbook_session"])
    other.post("/accounts/2fa/authenticate/", {"code": "123456"})
    return [browser.get("/accounts/2fa/").text, browser.get("/account/").text]


def _activate(browser: Browser, key: str) -> None:
    """With a code that may run out on its way; then the next one is taken."""
    page = browser.seen[-1]
    for _ in range(2):
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        answer = browser.http.post(
            "/accounts/2fa/totp/activate/",
            data={"code": _totp(key), "csrfmiddlewaretoken": token[1] if token else ""},
            headers={"Referer": str(browser.http.base_url)},
        )
        if answer.status_code == 302:
            return
        page = answer.text
    raise AssertionError(page)


def _totp(key: str) -> str:
    counter = struct.pack(">Q", int(time.time()) // 30)
    mark = hmac.new(base64.b32decode(key), counter, "sha1").digest()
    start = mark[-1] & 15
    return f"{(struct.unpack('>I', mark[start : start + 4])[0] & 0x7FFFFFFF) % 10**6:06}"


def _tokens(installation: Installation, browser: Browser) -> list[str]:
    browser.post("/account/tokens/", {"name": "n8n", "scopes": ["read", "write", "staff"], "days": "30"})
    token = installation.hunt.add("API token", re.findall(r'id="token">\s*(wb_[\w-]+)\s*<', browser.seen[-1])[0])
    installation.environment["TEST_TOKEN"] = token
    browser.post("/stream/feeds/", {"name": "reader", "source": "", "kind": ""})
    feed = installation.hunt.add("feed token", re.findall(r"/feeds/(wb_[\w-]+)/stream.atom", browser.seen[-1])[0])
    for ending in ("atom", "json"):
        assert browser.http.get(f"/feeds/{feed}/stream.{ending}").status_code == 200
    # Wrong, cut, in the wrong place: all of it is logged somehow.
    browser.http.get(f"/feeds/{feed}x/stream.atom")
    browser.http.get(f"/feeds/{token}/stream.atom")
    answers = [
        browser.api("GET", path, token) for path in ("/api/v1/jobs", f"/api/v1/stream?token={token}", "/api/v1/x")
    ]
    answers.append(browser.api("GET", f"/api/v1/deliveries/{token}/replay", token))
    answers.append(browser.http.get("/api/v1/jobs", headers={"Authorization": f"Basic {token}"}))
    answers.append(browser.http.get("/metrics", headers={"Authorization": f"Bearer {token}"}))
    pages = [browser.get(path) for path in ("/account/tokens/", "/stream/feeds/", "/audit/")]
    return [answer.text for answer in [*answers, *pages]]


def _channels(installation: Installation, browser: Browser) -> list[str]:
    hunt, hooks = installation.hunt, installation.hooks
    token = installation.environment["TEST_TOKEN"]
    made: list[str] = []
    for way in ("ok", "fail", "raise"):
        path = hunt.add("webhook path", made_up("path"))
        query = hunt.add("webhook query", made_up("query"))
        secret = hunt.add("signing secret", "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode())
        header = hunt.add("webhook header", made_up("header"))
        config = {
            "url": hooks.address(f"/{way}/{path}?room=7&k={query}"), "secret": secret,
            "headers": {"Authorization": f"Bearer {header}", "X-Room": hunt.add("webhook header", made_up("room"))},
        }  # fmt: skip
        given = {"name": way, "channel_type": "webhook", "config": config}
        made.append(browser.api("POST", "/api/v1/channels", token, given).json()["id"])
    user, key = hunt.add("service address", made_up("user")), hunt.add("service address", made_up("service"))
    for way in ("ok", "fail"):
        config = {"url": f"json://{user}:{key}@{hooks.netloc}/{way}/{hunt.add('service address', made_up('room'))}"}
        given = {"name": "service", "channel_type": "apprise", "config": config}
        made.append(browser.api("POST", "/api/v1/channels", token, given).json()["id"])
    given = {"name": "mail", "channel_type": "email", "config": {"email": OPERATOR}}
    made.append(browser.api("POST", "/api/v1/channels", token, given).json()["id"])
    return _used(installation, browser, made)


def _used(installation: Installation, browser: Browser, channels: list[str]) -> list[str]:
    token = installation.environment["TEST_TOKEN"]
    later = []
    installation.mails.on(stage="auth", first=1).refuse(535, "No")
    for channel in channels:
        later.append(browser.api("POST", f"/api/v1/channels/{channel}/test", token).text)
        wrong = {
            "config": {"url": installation.hunt.add("refused address", f"http://u:{made_up('refused')}@10.0.0.1/")}
        }
        later.append(browser.api("PATCH", f"/api/v1/channels/{channel}", token, wrong).text)
        later += [browser.get(f"/channels/{channel}/").text, browser.get(f"/channels/{channel}/edit/").text]
    browser.post(f"/channels/{channels[-1]}/test/", {}, form_at=f"/channels/{channels[-1]}/")
    rotated = browser.post(f"/channels/{channels[0]}/secret/", {}, form_at=f"/channels/{channels[0]}/").text
    installation.hunt.add("signing secret", re.findall(r"whsec_[\w+/=]+", rotated)[0])
    log = browser.api("GET", "/api/v1/deliveries", token)
    later += [log.text, browser.api("GET", "/api/v1/channels", token).text]
    return later + [browser.get(f"/deliveries/{one['id']}/").text for one in log.json()["items"]]


def _mails_with_links(installation: Installation, browser: Browser) -> list[str]:
    """A second account, confirmed and reset by links, and a mail that can be unsubscribed from."""
    password = installation.hunt.add("password", made_up("password"))
    stranger = Browser(str(browser.http.base_url))
    stranger.post("/accounts/signup/", {"email": MEMBER, "password1": password, "password2": password})
    confirm = _link(installation, MEMBER, r"/accounts/confirm-email/([^/\s]+)/")
    installation.hunt.add("confirmation key", confirm)
    stranger.post(f"/accounts/confirm-email/{confirm}/", {})
    _half_a_second_step(installation, Browser(str(browser.http.base_url)), password)
    stranger.post("/accounts/password/reset/", {"email": MEMBER})
    reset = _link(installation, MEMBER, r"/accounts/password/reset/key/([^/\s]+)/")
    installation.hunt.add("reset key", reset.partition("-")[2])
    stranger.get(f"/accounts/password/reset/key/{reset}/", follow_redirects=True)
    end = _link(installation, OPERATOR, r"/unsubscribe/([^/\s]+)/")
    installation.hunt.add("unsubscribe token", end)
    stranger.post(f"/unsubscribe/{end}/", {})
    stranger.get(f"/unsubscribe/{end}x/")
    return []


def _half_a_second_step(installation: Installation, browser: Browser, password: str) -> None:
    """Begun and left alone: the key waits in the session."""
    browser.post("/accounts/login/", {"login": MEMBER, "password": password})
    browser.post("/accounts/reauthenticate/", {"password": password})
    page = browser.get("/accounts/2fa/totp/activate/").text
    installation.hunt.add("TOTP key on its way", re.findall(r'class="mono">\s*([A-Z2-7]{32})\s*<', page)[0])


def _link(installation: Installation, to: str, pattern: str) -> str:
    def found() -> str | None:
        hits = [hit for mail in installation.mails.messages(to) if (hit := re.search(pattern, mail.text))]
        return hits[-1][1] if hits else None

    return str(until(found))


def _every_page(browser: Browser) -> list[str]:
    paths = ("/", "/account/", "/people/", "/audit/", "/channels/", "/operations/", "/operations/jobs/", "/stream/")
    return [browser.get(path).text for path in (*paths, "/search/?q=S3ntinel", "/operations/backups/")]


def break_everything(installation: Installation) -> list[str]:
    """The program with mistakes that quote all they know. Gives the answers."""
    token = installation.environment["TEST_TOKEN"]
    answers: list[Any] = []
    with installation.web("tests.security.secrets.leaky") as browser:
        browser.http.cookies.set("watchbook_session", installation.hunt.first("session cookie"))
        answers.append(browser.http.get("/stream/"))
        answers.append(browser.http.get("/account/?leak=1&token=abc", headers={"Authorization": f"Bearer {token}"}))
        password = installation.hunt.add("password", made_up("typed"))
        answers.append(browser.http.post("/accounts/login/?leak=1", data={"login": OPERATOR, "password": password}))
        answers.append(browser.api("GET", "/api/v1/stream", token))
        answers.append(browser.api("GET", "/api/v1/stream?leak=1", token))
        for channel in browser.api("GET", "/api/v1/channels", token).json()["items"]:
            answers.append(browser.api("POST", f"/api/v1/channels/{channel['id']}/test", token))
        run = browser.api("POST", "/api/v1/jobs/stream.clean/run", token).json()["id"]
        until(lambda: browser.api("GET", f"/api/v1/jobs/runs/{run}", token).json()["error"])
        answers.append(browser.api("GET", f"/api/v1/jobs/runs/{run}", token))
    assert {answer.status_code for answer in answers} >= {500, 200}
    return [answer.text for answer in answers]
