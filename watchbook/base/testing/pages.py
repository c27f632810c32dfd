"""Pages in tests: their text without the whitespace of the layout, and the machine's own Chromium."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from django.conf import settings
from django.test import Client

from watchbook.base.testing import servers

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

_AROUND_TAGS = re.compile(r"\s*(<[^>]+>)\s*")
_RUNS = re.compile(r"\s+")


def squeezed(html: str) -> str:
    """Return the page without whitespace beside tags, and with single blanks elsewhere."""
    return _RUNS.sub(" ", _AROUND_TAGS.sub(lambda hit: _RUNS.sub(" ", hit[1]), html))


FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
needs_chromium = pytest.mark.skipif(not servers.chromium(), reason="no Chromium on this machine")


@contextmanager
def started() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright  # heavy, and only here

    before = os.environ.get("DJANGO_ALLOW_ASYNC_UNSAFE")
    # The driver's event loop in this thread would look to Django's fixtures like a mistake.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    try:
        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path=servers.chromium(), args=FLAGS)
            try:
                yield browser
            finally:
                browser.close()
    finally:
        if before is None:
            del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


def sign_in(context: BrowserContext, client: Client, url: str) -> None:
    """The window belongs to whoever is signed in at Django's own client."""
    name = settings.SESSION_COOKIE_NAME
    context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": url}])
