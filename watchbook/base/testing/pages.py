"""Pages in tests: their text without the whitespace of the layout, and the machine's own Chromium.

EPUB files in tests: their structure read back, and the judgement of epubcheck where it is installed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import urldefrag

import pytest
from django.conf import settings
from django.test import Client
from lxml import etree  # type: ignore[import-untyped]

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
    """The window has the session of Django's own client."""
    name = settings.SESSION_COOKIE_NAME
    context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": url}])


OPF = "{http://www.idpf.org/2007/opf}"
XHTML = "{http://www.w3.org/1999/xhtml}"


def read(path: Path) -> dict[str, etree._Element]:
    """Each XHTML page by name, in the order of the spine, the table of contents last. A broken book fails here."""
    with zipfile.ZipFile(path) as book:
        first = book.infolist()[0]
        assert (first.filename, first.compress_type, first.extra) == ("mimetype", zipfile.ZIP_STORED, b"")
        assert book.read("mimetype") == b"application/epub+zip"
        names = book.namelist()
        assert len(names) == len(set(names))
        package = etree.fromstring(book.read("EPUB/package.opf"))
        items = {item.get("id"): item for item in package.iter(f"{OPF}item")}
        files = {f"EPUB/{item.get('href')}" for item in items.values()}
        assert files == set(names) - {"mimetype", "META-INF/container.xml", "EPUB/package.opf"}
        spine = [items[each.get("idref")].get("href") for each in package.iter(f"{OPF}itemref")]
        pages = {name: etree.fromstring(book.read(f"EPUB/{name}")) for name in [*spine, "nav.xhtml"]}
    _check_links(pages, {PurePosixPath(name).name for name in files})
    return pages


def _check_links(pages: dict[str, etree._Element], files: set[str]) -> None:
    ids = {name: [each.get("id") for each in page.iter() if each.get("id")] for name, page in pages.items()}
    for name, page in pages.items():
        assert len(ids[name]) == len(set(ids[name]))
        for image in page.iter(f"{XHTML}img"):
            assert image.get("src") in files, image.get("src")
            assert image.get("alt") is not None
        for link in page.iter(f"{XHTML}a"):
            target, fragment = urldefrag(link.get("href"))
            if not target.startswith(("http://", "https://", "mailto:")):
                assert (target or name) in pages, target
                assert not fragment or fragment in ids[target or name], fragment


def epubcheck(path: Path) -> None:
    """Fail with what epubcheck says about a book; skip where it is not installed."""
    found = shutil.which("epubcheck")
    if found is None:
        pytest.skip("epubcheck is not installed on this machine.")
    real = os.path.realpath(found)
    # Debian installs the archive itself under that name.
    command = ["java", "-jar", real] if real.endswith(".jar") else [real]
    command.append(str(path))
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)  # noqa: S603 - a tool's name
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 errors / 0 warnings" in done.stdout
