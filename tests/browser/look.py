"""`python -m tests.browser.look DIR`: pictures of every page of a filled desk, for people who look at them.

Each page in two widths, two themes and two languages, named page-width-theme-language.png, and words.txt with what
holds English words on Chinese pages. `--only` takes a pattern of page names, `--pictures` writes the two pictures of
the README instead.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from playwright.sync_api import Browser

from tests.browser.crawl import Link, crawl
from tests.browser.driver import Visitor
from tests.browser.fill import NAMES
from tests.browser.findings import english_left
from tests.browser.world import MEMBER, OPERATOR, Desk, World
from watchbook.base.testing.pages import started

DAYS = 30
MOST_PAGES = 150
WIDTHS, THEMES, LANGUAGES = (1280, 390), ("light", "dark"), ("en-GB", "zh-CN")
# Not reached by any link, because a person types there.
TYPED = ("/search/?q=lantern", "/search/?q=元宵", "/search/?q=dromedary", "/nowhere/")
OUTSIDE = ("/accounts/login/", "/accounts/signup/", "/accounts/password/reset/")


def signed_in(browser: Browser, desk: Desk, email: str) -> dict[str, object]:
    """The cookies of somebody who has just signed in."""
    person = Visitor(browser, desk.url)
    person.sign_in(email)
    cookies: dict[str, object] = dict(person.context.storage_state())
    person.close()
    return cookies


def pages_of(browser: Browser, desk: Desk, email: str) -> Iterator[tuple[str, str]]:
    """Name and path of one page of every kind, and of each monitor."""
    person = Visitor(browser, desk.url, storage_state=signed_in(browser, desk, email))
    opened = crawl(person, look=lambda link, status: None, most=MOST_PAGES)
    names: set[str] = set()
    for link in (*opened, *map(Link, TYPED)):
        name = slug(link.shape if link.path not in TYPED else link.path)
        if not link.is_download and name not in names and not link.path.startswith("/api/openapi"):
            names.add(name)
            yield name, link.path
    person.go("/sitemaps/")
    for monitor in NAMES:
        found = person.page.get_by_role("link", name=NAMES[monitor])
        if found.count():
            yield f"monitor-{monitor}", str(found.first.get_attribute("href"))
    person.close()


def slug(path: str) -> str:
    return re.sub(r"[^\w]+", "-", path.replace("*", "x")).strip("-") or "home"


def shoot(browser: Browser, desk: Desk, pages: list[tuple[str, str]], folder: Path, **who: object) -> None:
    for width, theme, language in product(WIDTHS, THEMES, LANGUAGES):
        person = Visitor(browser, desk.url, width=width, color_scheme=theme, locale=language, **who)
        for name, path in pages:
            person.go(path)
            if path.startswith("/api/"):
                person.page.wait_for_load_state("networkidle")  # it draws itself after it has loaded
            person.page.screenshot(path=folder / f"{name}-{width}-{theme}-{language[:2]}.png", full_page=True)
        person.close()


def write_words(browser: Browser, desk: Desk, pages: list[tuple[str, str]], folder: Path, **who: object) -> None:
    """Data among it: somebody has to read it."""
    person = Visitor(browser, desk.url, locale="zh-CN", **who)
    seen: set[str] = set()
    with (folder / "words.txt").open("a", encoding="utf-8") as file:
        for name, path in pages:
            person.go(path)
            for text in english_left(person.page):
                if text not in seen:
                    seen.add(text)
                    file.write(f"{name}: {text}\n")
    person.close()


@contextlib.contextmanager
def filled(language: str = "en") -> Iterator[tuple[Browser, Desk]]:
    """A browser, and a desk with a month of history."""
    with contextlib.ExitStack() as stack:
        world = World(stack)
        desk = Desk(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="watchbook-look-"))), world)
        desk.fill(world, days=DAYS, language=language)
        stack.enter_context(desk.running())
        yield stack.enter_context(started()), desk


def shoot_readme(folder: Path) -> None:
    for name, language in (("home", "en-GB"), ("home-zh", "zh-CN")):
        with filled(language[:2]) as (browser, desk):
            cookies = signed_in(browser, desk, OPERATOR)
            person = Visitor(browser, desk.url, color_scheme="light", locale=language, storage_state=cookies)
            person.page.set_viewport_size({"width": 1280, "height": 1000})
            person.go("/")
            person.page.screenshot(path=folder / f"{name}.png")


def shoot_all(folder: Path, only: str) -> None:
    seen: set[str] = set()
    with filled() as (browser, desk):
        for email in (OPERATOR, MEMBER):
            found = [page for page in pages_of(browser, desk, email) if page[0] not in seen]
            seen |= {name for name, _ in found}
            wanted = [page for page in found if re.search(only, page[0])]
            cookies = signed_in(browser, desk, email)
            shoot(browser, desk, wanted, folder, storage_state=cookies)
            write_words(browser, desk, wanted, folder, storage_state=cookies)
        shoot(browser, desk, [(slug(path), path) for path in OUTSIDE], folder)


def main() -> None:
    parser = argparse.ArgumentParser(description="Pictures of every page.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="a pattern that the names of the pages must hold")
    parser.add_argument("--pictures", action="store_true", help="only the two pictures of the README")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    if given.pictures:
        shoot_readme(given.folder)
    else:
        shoot_all(given.folder, given.only)


if __name__ == "__main__":
    main()
