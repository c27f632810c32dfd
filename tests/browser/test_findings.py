"""What is looked for on every page is found where it is: without this, silence would prove nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser import findings
from tests.browser.driver import Visitor
from tests.browser.world import Desk

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

BAD_PAGE = """<!doctype html><html lang="zh-Hans"><title>x</title><body>
<h1>One</h1><h1>Two</h1><h3>Three</h3>
<form><input name="nobody"><button></button></form>
<p style="color: #999; background: #aaa">Where Watchbook sends notifications</p>
<p>3 deliveries failed in a row</p><p>Rosebud</p><p><code>Sign in</code></p>
<div style="width: 350px; height: 9px"></div></body></html>"""


def test_every_kind_of_mistake_is_found(desk: Desk, visitor: Callable[..., Visitor]) -> None:
    page = visitor(desk).page
    page.set_content(BAD_PAGE)
    assert [text.partition(" px at ")[2] for text in findings.sideways(page)] == ["320 px"]
    assert len(list(findings.unlabelled(page))) == 2
    assert len(list(findings.odd_headings(page))) == 2
    assert [text for text in findings.pale(page) if "Where Watchbook sends notifications" in text]
    left = {text.partition(": ")[2] for text in findings.untranslated(page)}
    assert left == {"Where Watchbook sends notifications", "3 deliveries failed in a row"}
    assert "Rosebud" in findings.english_left(page)


def test_visitor_reports_errors_of_the_browser(desk: Desk, visitor: Callable[..., Visitor]) -> None:
    person = visitor(desk)
    person.go("/accounts/login/")
    person.page.evaluate("document.body.setAttribute('style', 'color: red')")
    person.page.evaluate("fetch('http://127.0.0.1:9/').catch(() => {})")
    person.page.wait_for_function("1")
    said = " ".join(person.complaints)
    person.complaints.clear()
    assert "style" in said
    assert "127.0.0.1:9" in said
