"""Every page that links lead to, as a member and as an operator: what the browser says, and what a reader would."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser import findings
from tests.browser.crawl import QUERIES_PER_PAGE, Link, crawl
from tests.browser.driver import Visitor
from tests.browser.world import MEMBER, OPERATOR, Desk
from watchbook.base.testing.environment import NIGHTLY

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

MOST = 320
# No link leads to a search: people type it.
STARTS = ("/", "/search/?q=lantern", "/search/")
EXPECTED = {
    "/", "/stream/", "/stream/feeds/", "/sitemaps/", "/sitemaps/add/", "/sitemaps/*/", "/sitemaps/*/edit/",
    "/sitemaps/*/parts/", "/sitemaps/*/snapshots/", "/sitemaps/changes/*/", "/sitemaps/changes/*/urls.csv",
    "/channels/", "/channels/*/", "/channels/add/",
    "/channels/add/telegram/", "/deliveries/*/", "/alerts/", "/account/", "/keys/",
    "/account/tokens/", "/accounts/2fa/", "/api/docs",
    "/nga/", "/nga/search/", "/nga/topics/*/", "/nga/topics/*/floors/*/", "/nga/runs/", "/nga/runs/*/", "/nga/audits/",
    "/nga/audits/*/", "/nga/forums/", "/reddit/", "/reddit/r/*/", "/reddit/posts/", "/reddit/posts/*/",
    "/reddit/metrics/", "/reddit/crawls/", "/reddit/u/*/", "/notes/", "/notes/notes/", "/notes/note/*/", "/library/",
    "/library/workspaces/*/", "/library/spaces/*/", "/library/pages/*/", "/library/favourites/",
}  # fmt: skip
OF_OPERATORS = {
    "/operations/", "/operations/jobs/", "/operations/backups/", "/operations/runs/*/", "/people/", "/audit/",
    "/reddit/pool/", "/reddit/add/", "/notes/keywords/", "/notes/cookies/", "/notes/executions/", "/notes/alerts/",
}  # fmt: skip
MAIN_PAGES = (
    "/", "/stream/", "/sitemaps/", "/sitemaps/add/", "/channels/", "/alerts/", "/search/?q=lantern", "/account/",
    "/operations/", "/operations/jobs/", "/nga/", "/reddit/", "/reddit/posts/", "/reddit/metrics/", "/notes/",
    "/notes/notes/", "/notes/cookies/", "/library/",
)  # fmt: skip


def is_ours(link: Link) -> bool:
    """The page of the API is drawn by somebody else's program."""
    return not link.is_download and not link.path.startswith("/api/")


def walk(
    person: Visitor, *checks: Callable[..., object], queries_per_page: int = QUERIES_PER_PAGE
) -> tuple[set[str], list[str]]:
    """The kinds of pages that were opened, and everything that is wrong with any of them."""
    wrong: list[str] = []

    def look(link: Link, status: int) -> None:
        if status != 200:
            wrong.append(f"{link.path}: answered {status}")
        for check in checks if is_ours(link) else ():
            wrong.extend(f"{link.path}: {text}" for text in check(person.page))

    opened = crawl(person, look=look, most=MOST, starts=STARTS, queries_per_page=queries_per_page)
    return {link.shape for link in opened}, wrong


def test_member_pages_have_no_findings_in_english_and_light(desk: Desk, visitor: Callable[..., Visitor]) -> None:
    member = visitor(desk, MEMBER, color_scheme="light")
    shapes, wrong = walk(member, findings.sideways, findings.unlabelled, findings.odd_headings, findings.pale)
    assert not wrong, "\n".join(wrong)
    assert shapes >= EXPECTED
    assert not [shape for shape in shapes if shape.startswith("/operations/")]


def test_operator_pages_have_no_findings_in_chinese_and_dark(desk: Desk, visitor: Callable[..., Visitor]) -> None:
    operator = visitor(desk, OPERATOR, color_scheme="dark", locale="zh-CN")
    checks = (findings.sideways, findings.unlabelled, findings.pale, findings.untranslated)
    # Filters and further pages are looked at as a member; every night here as well.
    shapes, wrong = walk(operator, *checks, queries_per_page=QUERIES_PER_PAGE if NIGHTLY else 0)
    assert not wrong, "\n".join(wrong)
    assert shapes >= EXPECTED | OF_OPERATORS


# Each language and each theme is looked at above; the pages of the systems in Chinese and light by their own tests.
@pytest.mark.nightly
@pytest.mark.parametrize(("language", "theme"), [("en-GB", "dark"), ("zh-CN", "light")])
def test_main_pages_have_no_findings_in_swapped_settings(
    desk: Desk, visitor: Callable[..., Visitor], language: str, theme: str
) -> None:
    operator = visitor(desk, OPERATOR, color_scheme=theme, locale=language)
    for path in MAIN_PAGES:
        operator.go(path)
        page = operator.page
        assert [*findings.sideways(page), *findings.pale(page), *findings.odd_headings(page)] == [], path


@pytest.mark.nightly
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("email", [MEMBER, OPERATOR])
def test_no_page_has_accessibility_violations(
    desk: Desk, visitor: Callable[..., Visitor], email: str, theme: str
) -> None:
    shapes, wrong = walk(visitor(desk, email, color_scheme=theme), findings.axe)
    print(f"{email}, {theme}: axe-core on {len(shapes)} kinds of pages, {len(wrong)} violations")
    assert not wrong, "\n".join(wrong)


def test_api_docs_page_loads_from_this_server_only(desk: Desk, visitor: Callable[..., Visitor]) -> None:
    member = visitor(desk, MEMBER)
    member.go("/api/docs")
    member.page.locator(".opblock", has_text="/api/v1/sitemaps/monitors").first.wait_for()


def test_missing_page_shows_a_message(desk: Desk, visitor: Callable[..., Visitor]) -> None:
    member = visitor(desk, MEMBER)
    assert member.go("/sitemaps/nowhere/").status == 404
    member.sees("Page not found")
