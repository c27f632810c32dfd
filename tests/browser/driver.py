"""A visitor who writes down whatever his browser complains about."""

from __future__ import annotations

import base64
import hashlib
import hmac
import struct
import time
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, Response, TimeoutError

from tests.browser.world import PASSWORD

MILLISECONDS = 20_000
# The browser's own word about a refused page or a failed form; the test says itself which status it expects.
STATUS_WORDS = "Failed to load resource: the server responded with a status of"


class Visitor:
    """A browser window with its own cookies. `complaints` holds console lines, policy violations, foreign requests."""

    def __init__(self, browser: Browser, url: str, *, width: int = 1280, **options: Any) -> None:
        self.url = url
        self.complaints: list[str] = []
        self.context = browser.new_context(
            base_url=url, viewport={"width": width, "height": 900}, **{"locale": "en-GB", **options}
        )
        self.context.set_default_timeout(MILLISECONDS)
        self.page: Page = self.context.new_page()
        self.page.on("console", lambda said: self._note(f"console {said.type}: {said.text}", said.type))
        self.page.on("pageerror", lambda error: self.complaints.append(f"{self.path}: {error}"))
        self.page.on("request", lambda request: self._look_where(request.url))

    def close(self) -> None:
        self.context.close()

    @property
    def path(self) -> str:
        return urlsplit(self.page.url).path

    def go(self, path: str) -> Response:
        answer = self.page.goto(path if "://" in path else self.url + path)
        assert answer is not None
        return answer

    def sign_in(self, email: str, password: str = PASSWORD) -> None:
        self.go("/accounts/login/")
        self.page.get_by_label("E-mail").fill(email)
        self.page.get_by_label("Password").fill(password)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url(lambda address: "/accounts/login/" not in address)

    def press(self, name: str, *, exact: bool = True) -> None:
        self.page.get_by_role("button", name=name, exact=exact).first.click()

    def send(self, name: str) -> None:
        """Press a button and wait for the page that follows: whoever goes elsewhere at once takes the form back."""
        with self.page.expect_navigation():
            self.press(name)

    def follow(self, name: str, *, exact: bool = True) -> None:
        self.page.get_by_role("link", name=name, exact=exact).first.click()

    def arrives(self, address: str) -> None:
        """Wait for this address; `**` and `*` stand for any text."""
        try:
            self.page.wait_for_url(address)
        except TimeoutError:
            raise AssertionError(f"{self.path} is open instead of {address}: {self._shown('body')}") from None

    def sees(self, text: str) -> None:
        """Wait until the main part of the page shows it."""
        try:
            self.page.locator("#main").get_by_text(text).first.wait_for()
        except TimeoutError:
            raise AssertionError(f"{self.path} does not show {text!r} but: {self._shown('#main')}") from None

    def _shown(self, part: str) -> str:
        return " | ".join(self.page.locator(part).inner_text().split("\n"))[:1500]

    def _note(self, text: str, kind: str) -> None:
        if kind in ("error", "warning") and STATUS_WORDS not in text:
            self.complaints.append(f"{self.path}: {text}")

    def _look_where(self, address: str) -> None:
        parts = urlsplit(address)
        if parts.scheme in ("http", "https") and f"{parts.scheme}://{parts.netloc}" != self.url:
            self.complaints.append(f"{self.path}: asked {address}")


def totp(secret: str) -> str:
    """The six digits of an authenticator app (RFC 6238, 30 seconds), with time left to type them."""
    left = 30 - time.time() % 30
    if left < 6:
        time.sleep(left)
    key = base64.b32decode(secret.upper() + "=" * (-len(secret) % 8))
    digest = hmac.new(key, struct.pack(">Q", int(time.time() // 30)), hashlib.sha1).digest()
    start = digest[-1] & 15
    number = int.from_bytes(digest[start : start + 4]) & 0x7FFFFFFF
    return f"{number % 1_000_000:06}"
