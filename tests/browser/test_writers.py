"""Two and three browsers that type into one page at random places: no word lost, none doubled, no choice asked."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Route, expect

from tests.browser.driver import Visitor
from tests.browser.editing import open_new, ready, stored
from tests.browser.library_desk import ADA, MOSS, LibraryDesk
from watchbook.base.testing.environment import examples

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("own-desks")]

ROUNDS = 3
LINES = [" ".join(f"w{line}x{place}" for place in range(8)) for line in range(4)]
TEXT = "".join(f"<p>{line}</p>" for line in LINES)
FEW = settings(max_examples=examples(2), deadline=None, suppress_health_check=list(HealthCheck), database=None)
# Puts the cursor behind a word of a paragraph; the texts of the windows differ while they write.
PUT = """([line, place]) => {
    const { editor } = document.getElementById("text");
    const blocks = [];
    editor.state.doc.forEach((node, offset) => node.textContent && blocks.push([node, offset]));
    const [node, offset] = blocks[line % blocks.length];
    const ends = [...node.textContent.matchAll(/\\S+/g)].map((hit) => hit.index + hit[0].length);
    // Not by the editor's own command: it waits for the next frame, and the first letters would go elsewhere.
    editor.view.focus();
    editor.commands.setTextSelection(offset + 1 + ends[place % ends.length]);
}"""


@pytest.mark.parametrize("count", [2, 3])
@given(seed=st.integers(0, 10_000))
@FEW
def test_browsers_that_type_at_random_places_lose_no_word(
    shelf: LibraryDesk, visitor: Callable[..., Visitor], count: int, seed: int
) -> None:
    dice = random.Random(seed)
    windows = [visitor(shelf, email) for email in (ADA, MOSS, ADA)[:count]]
    path = open_new(windows[0], shelf, "Together", TEXT)
    for window in windows[1:]:
        window.go(path)
        ready(window)
    added = []
    for turn in range(ROUNDS):
        for number in dice.sample(range(count), count):
            page = windows[number].page
            page.evaluate(PUT, [dice.randrange(40), dice.randrange(40)])
            word = f"n{number}t{turn}"
            page.keyboard.type(f" {word}")
            added.append(word)
            # Sometimes longer than the autosave waits, sometimes not: saves overlap in every way.
            page.wait_for_timeout(dice.choice([0, 300, 2500]))
    windows[0].page.locator(".title-input").press("End")
    windows[0].page.locator(".title-input").press_sequentially(" 2026")
    for window in windows:
        window.page.keyboard.press("Control+s")
        expect(window.page.locator("[data-state]")).to_contain_text("Saved")
        expect(window.page.locator("#conflict")).to_be_hidden()
    texts = set()
    for window in windows:
        window.page.reload()
        ready(window)
        texts.add(stored(window))
        expect(window.page.locator(".title-input")).to_have_value("Together 2026")
        window.close()
    assert len(texts) == 1
    words = texts.pop().replace("<p>", " ").replace("</p>", " ").split()
    assert sorted(word for word in words if word[0] == "n") == sorted(added)
    assert [word for word in words if word[0] == "w"] == " ".join(LINES).split()


def test_word_stays_whole_while_the_words_of_others_arrive(shelf: LibraryDesk, visitor: Callable[..., Visitor]) -> None:
    """The answer to a save comes in the middle of a word, with words of others in the same line and in another."""
    other, writer = visitor(shelf, ADA), visitor(shelf, MOSS)
    path = open_new(other, shelf, "Together", "<p>a b</p><p>c d</p>")
    writer.go(path)
    ready(writer)
    for line, place, word in ((0, 0, " X"), (1, 0, " Y"), (1, 2, " Z")):
        other.page.evaluate(PUT, [line, place])
        other.page.keyboard.type(word)
    other.page.keyboard.press("Control+s")
    expect(other.page.locator("[data-state]")).to_contain_text("Saved")
    held: list[Route] = []
    writer.page.route("**/save/", lambda route: held.append(route), times=1)
    writer.page.evaluate(PUT, [1, 1])
    with writer.page.expect_request("**/save/"):
        writer.page.keyboard.type(" wo")
        writer.page.keyboard.press("Control+s")
    writer.page.keyboard.type("rd")
    held.pop().continue_()
    expect(writer.page.locator("#text")).to_contain_text("Y")
    writer.page.keyboard.type("s")
    writer.page.keyboard.press("Control+s")
    expect(writer.page.locator("[data-state]")).to_contain_text("Saved")
    assert stored(writer) == "<p>a X b</p><p>c Y d Z words</p>"
    writer.page.reload()
    ready(writer)
    assert stored(writer) == "<p>a X b</p><p>c Y d Z words</p>"
    for window in (other, writer):
        window.close()
