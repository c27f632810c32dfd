"""The editor of a page in a real browser: every block, by keyboard, by mouse, by paste, on a phone, in Chinese.

A visitor fails its test on any policy violation and on any request to another server.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from tests.browser.driver import Visitor
from tests.browser.editing import emptied, open_new, pressed, put_cursor, ready, stored
from tests.browser.library_desk import MOSS, LibraryDesk
from tests.browser.paste_samples import EXPECTED, SAMPLES
from watchbook.systems import library

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("own-desks")]

BUNDLE = Path(library.__file__).parent / "static/library/editor.js"
PASTE_FILE = """async ([kind, name, type]) => {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 2;
    const blob = await new Promise((done) => canvas.toBlob(done, type));
    const data = new DataTransfer();
    data.items.add(new File([blob], name, {type}));
    const text = document.getElementById("text");
    const box = text.getBoundingClientRect();
    const place = {clientX: box.left + 60, clientY: box.top + 40};
    const given = {bubbles: true, cancelable: true, ...place};
    if (kind === "paste") text.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, ...given}));
    else text.dispatchEvent(new DragEvent("drop", {dataTransfer: data, ...given}));
}"""
MARKS = "<p><strong>bold</strong> <em>slanted</em> <code>code</code> <s>gone</s> </p>"
PASTE = """async ([html, words]) => {
    const text = document.getElementById("text");
    text.editor.commands.focus();
    const data = new DataTransfer();
    if (html) data.setData("text/html", html);
    data.setData("text/plain", words);
    const before = text.stored();
    text.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
    for (let tries = 0; tries < 100 && text.stored() === before; tries += 1) {
        await new Promise((done) => setTimeout(done, 20));
    }
    return text.stored();
}"""


def test_markdown_shortcuts_make_blocks(ada: Visitor, shelf: LibraryDesk) -> None:
    open_new(ada, shelf, "Shortcuts")
    keyboard = ada.page.keyboard
    typed = {
        "# Tides": "<h1>Tides</h1>",
        "### Low": "<h3>Low</h3>",
        "- one\ntwo": "<ul><li>one</li><li>two</li></ul>",
        "3. three": '<ol start="3"><li>three</li></ol>',
        "[] open": '<ul data-type="taskList"><li data-type="taskItem" data-checked="false">open</li></ul>',
        "[x] done": '<ul data-type="taskList"><li data-type="taskItem" data-checked="true">done</li></ul>',
        "- [ ] both": '<ul data-type="taskList"><li data-type="taskItem" data-checked="false">both</li></ul>',
        "> said": "<blockquote><p>said</p></blockquote>",
        "[!warning] hot": '<blockquote data-callout="warning"><p>hot</p></blockquote>',
        "**bold** *slanted* `code` ~~gone~~ ": MARKS,
        "---x": "<hr><p>x</p>",
    }
    for words, expected in typed.items():
        emptied(ada)
        keyboard.type(words)
        assert stored(ada) == expected
    emptied(ada)
    keyboard.type("```python ")
    keyboard.type("x = 1")
    # A code block is left by Enter three times, by Down at its end, and by Ctrl+Enter.
    for _number in range(3):
        keyboard.press("Enter")
    keyboard.type("after")
    assert stored(ada) == '<pre><code class="language-python">x = 1</code></pre><p>after</p>'
    expect(ada.page.locator(".hljs-number")).to_have_text("1")
    ada.page.locator(".code select").select_option("json")
    assert 'class="language-json"' in stored(ada)
    keyboard.press("Control+z")
    assert 'class="language-python"' in stored(ada)


def test_slash_menu_inserts_every_block(ada: Visitor, shelf: LibraryDesk) -> None:
    open_new(ada, shelf, "Slash")
    page = ada.page
    wanted = {
        "/task": "<ul data-type", "/heading 2": "<h2>", "/numbered": "<ol>", "/quote": "<blockquote>", "/tip": '"tip"',
        "/code b": "<pre>", "/divider": "<hr>", "/table": "<thead>", "、表格": "<thead>",
    }  # fmt: skip
    for words, expected in wanted.items():
        emptied(ada)
        page.keyboard.type(words, delay=40)
        page.locator(".pop .pop-item").first.wait_for()
        page.keyboard.press("Enter")
        page.keyboard.type("x")
        assert expected in stored(ada), words
        assert words not in page.locator("#text").inner_text()
    emptied(ada)
    page.keyboard.type("/")
    expect(page.locator(".pop .pop-item")).to_have_count(18)
    assert page.locator("#text").get_attribute("aria-activedescendant") == page.locator(
        ".pop-item"
    ).first.get_attribute("id")
    page.keyboard.press("ArrowUp")
    expect(page.locator('.pop-item[aria-selected="true"]')).to_contain_text("Mention")
    page.keyboard.press("Escape")
    expect(page.locator(".pop")).to_have_count(0)
    page.keyboard.type("km")
    assert stored(ada) == "<p>/km</p>"


def test_pages_and_people_are_found_while_typing(ada: Visitor, shelf: LibraryDesk) -> None:
    open_new(ada, shelf, "Links")
    page = ada.page
    page.locator("#text").click()
    page.keyboard.type("See [[night b")
    page.locator(".pop-item", has_text="Night bus connections").first.wait_for()
    expect(page.locator(".pop-item").first).to_contain_text("Timetables / Reports / 2026 / Winter timetable")
    page.keyboard.press("Enter")
    bus = shelf.places["nested"]
    link = f'<a href="{bus}" data-page="{bus.split("/")[3]}">Night bus connections</a>'
    assert stored(ada) == f"<p>See {link}</p>"
    page.keyboard.type(" and @mo")
    page.locator(".pop-item", has_text="moss@example.com").wait_for()
    page.keyboard.press("Enter")
    page.keyboard.type("【【Fog signals")
    page.locator(".pop-item", has_text="Create page").wait_for()
    page.keyboard.press("Enter")
    expect(page.locator("#text a", has_text="Fog signals")).to_be_visible()
    page.keyboard.press("Control+s")
    expect(page.locator("[data-state]")).to_contain_text("Saved")
    before = stored(ada)
    assert ">@moss</a>" in before
    page.reload()
    ready(ada)
    assert stored(ada) == before
    with ada.context.expect_page() as coming:
        page.locator("#text a", has_text="Fog signals").click(modifiers=["Control"])
    expect(coming.value).to_have_title(re.compile("Fog signals"))


def row(cell: str, *words: str) -> str:
    return "<tr>" + "".join(f"<{cell}>{one}</{cell}>" for one in words) + "</tr>"


def test_table_by_keyboard_and_menu(ada: Visitor, shelf: LibraryDesk) -> None:
    open_new(ada, shelf, "Table")
    page = ada.page
    page.locator("#text").click()
    page.get_by_label("Table", exact=True).click()
    for words in ("Line", "2025", "2026", "Pier 4", "22:10", "22:40", "Pier 2", "23:00", "23:00"):
        page.keyboard.type(words, delay=40)
        page.keyboard.press("Tab")
    page.keyboard.type("new row")
    head = f"<thead>{row('th', 'Line', '2025', '2026')}</thead>"
    rows = [row("td", "Pier 4", "22:10", "22:40"), row("td", "Pier 2", "23:00", "23:00"), row("td", "new row", "", "")]
    assert stored(ada) == f"<table>{head}<tbody>{''.join(rows)}</tbody></table>"

    def choose(menu: str, item: str) -> None:
        ada.press(menu, exact=False)
        page.get_by_role("menuitem", name=item, exact=True).click()

    choose("Row", "Move up")
    assert stored(ada) == f"<table>{head}<tbody>{rows[0]}{rows[2]}{rows[1]}</tbody></table>"
    choose("Row", "Duplicate row")
    assert stored(ada) == f"<table>{head}<tbody>{rows[0]}{rows[2]}{rows[2]}{rows[1]}</tbody></table>"
    choose("Row", "Delete row")
    choose("Row", "Delete row")
    choose("Column", "Insert column after")
    choose("Column", "Align right")
    assert stored(ada).count("<th>") == 4
    assert stored(ada).count('align="right"') == 1
    choose("Column", "Delete column")
    choose("Row", "Insert row above")
    assert stored(ada).count("<tr>") == 4
    choose("Column", "Delete table")
    assert stored(ada) == ""
    expect(page.get_by_role("button", name="Row")).to_be_hidden()


def test_table_at_the_end_of_a_page_is_left_by_keys_and_by_a_tap(
    shelf: LibraryDesk, visitor: Callable[..., Visitor]
) -> None:
    phone = visitor(shelf, MOSS, width=390, has_touch=True, is_mobile=True)
    page, keyboard = phone.page, phone.page.keyboard

    def in_table(path: str) -> str:
        return open_new(phone, shelf, path, "<table><tbody><tr><td>one</td><td>two</td></tr></tbody></table>")

    for number, keys in enumerate((["Control+Enter"], ["ArrowDown"], ["Control+End"])):
        in_table(f"Keys {number}")
        put_cursor(phone, "two")
        pressed(phone, *keys)
        keyboard.type("below")
        assert stored(phone).endswith("</table><p>below</p>"), keys
    in_table("Tap")
    put_cursor(phone, "two")
    box = page.locator("#text table").bounding_box()
    assert box is not None
    page.touchscreen.tap(box["x"] + 20, box["y"] + box["height"] + 25)
    keyboard.type("below")
    assert stored(phone).endswith("</table><p>below</p>")


def test_keys_right_after_a_menu_reach_the_text(ada: Visitor, shelf: LibraryDesk) -> None:
    """Both keys in one frame: a focus that comes with the next frame would be too late for the second."""
    open_new(ada, shelf, "At once", "<table><tbody><tr><td>one</td></tr></tbody></table>")
    put_cursor(ada, "one")
    ada.page.get_by_role("button", name="Column").click()
    script = """words => {
      [...document.querySelectorAll('.pop-item')].find((one) => one.textContent.includes(words)).click();
      return document.activeElement.id;
    }"""
    assert ada.page.evaluate(script, "Insert column after") == "text"


def test_blocks_are_moved_by_drag_and_by_keys(ada: Visitor, shelf: LibraryDesk) -> None:
    open_new(ada, shelf, "Order", "<h2>One</h2><p>two</p><ul><li>a</li><li>b</li></ul><h2>Three</h2>")
    page = ada.page
    put_cursor(ada, "two")
    page.keyboard.press("Alt+Shift+ArrowUp")
    assert stored(ada).startswith("<p>two</p><h2>One</h2>")
    put_cursor(ada, "a")
    page.keyboard.press("Alt+Shift+ArrowDown")
    assert "<ul><li>b</li><li>a</li></ul>" in stored(ada)
    expect(page.locator("[data-outline] a")).to_have_text(["One", "Three"])
    assert page.locator("#h-three").inner_text() == "Three"

    page.locator("#text h2", has_text="Three").hover()
    grip = page.get_by_label("Move block")
    start, end = grip.bounding_box(), page.locator("#text > p").first.bounding_box()
    assert start is not None
    assert end is not None
    page.mouse.move(start["x"] + 5, start["y"] + 8)
    page.mouse.down()
    page.mouse.move(end["x"] + 2, end["y"] + 4, steps=6)
    page.mouse.up()
    expect(page.locator("#text > :first-child")).to_have_text("Three")
    expect(page.locator("[data-outline] a")).to_have_text(["Three", "One"])
    page.locator("#text h2", has_text="One").hover()
    grip.click()
    page.get_by_role("menuitem", name="Duplicate").click()
    assert stored(ada).count("<h2>One</h2>") == 2
    expect(page.locator("#h-one-2")).to_be_visible()
    expect(page.locator("#text")).to_be_focused()
    page.keyboard.press("Control+z")
    expect(page.locator("#h-one-2")).to_have_count(0)
    assert stored(ada).count("<h2>One</h2>") == 1


def test_everything_by_keyboard_alone(ada: Visitor, shelf: LibraryDesk) -> None:
    open_new(ada, shelf, "Keys")
    page, keyboard = ada.page, ada.page.keyboard
    page.locator(".title-input").focus()
    keyboard.press("Enter")
    keyboard.type("plain ")
    keyboard.press("Control+b")
    keyboard.type("bold")
    keyboard.press("Control+b")
    keyboard.press("Alt+F10")
    expect(page.get_by_label("Paragraph style")).to_be_focused()
    keyboard.press("ArrowRight")
    keyboard.press("ArrowRight")
    expect(page.get_by_label("Italic")).to_be_focused()
    keyboard.press("Enter")
    keyboard.type(" slanted")
    keyboard.press("Control+i")
    assert stored(ada) == "<p>plain <strong>bold</strong><em> slanted</em></p>"
    keyboard.press("Enter")
    keyboard.press("Control+Shift+9")
    keyboard.type("task")
    keyboard.press("Enter")
    keyboard.press("Tab")
    keyboard.type("inner")
    inner = '<ul data-type="taskList"><li data-type="taskItem" data-checked="false">inner</li></ul>'
    assert f'data-checked="false">task{inner}</li>' in stored(ada)
    keyboard.press("Control+s")
    expect(page.locator("[data-version-shown]")).not_to_have_text("1")
    expect(page.locator("#text")).to_be_focused()


def test_chinese_is_composed_letter_by_letter(ada: Visitor, shelf: LibraryDesk) -> None:
    open_new(ada, shelf, "输入", "<p>从。</p>")
    page = ada.page
    put_cursor(ada, "从。")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    session = ada.context.new_cdp_session(page)
    for words in ("m", "ma", "ma t", "ma to", "mato u", "码头"):
        session.send(
            "Input.imeSetComposition", {"text": words, "selectionStart": len(words), "selectionEnd": len(words)}
        )
    session.send("Input.insertText", {"text": "码头"})
    page.keyboard.type("4")
    for words in ("c", "chuan", "船"):
        session.send(
            "Input.imeSetComposition", {"text": words, "selectionStart": len(words), "selectionEnd": len(words)}
        )
    session.send("Input.insertText", {"text": "船"})
    assert stored(ada) == "<p>从码头4船。</p>"
    expect(page.locator("[data-version-shown]")).to_have_text("3")
    page.reload()
    ready(ada)
    assert stored(ada) == "<p>从码头4船。</p>"


def test_pasted_samples_become_blocks_and_come_back_the_same(ada: Visitor, shelf: LibraryDesk) -> None:
    open_new(ada, shelf, "Paste")
    page, wrong = ada.page, []
    for sample in SAMPLES:
        emptied(ada)
        found = page.evaluate(PASTE, [sample.html, sample.text])
        if found != EXPECTED[sample.name]:
            wrong.append(f"{sample.name}: {found}")
    assert wrong == []
    # All of them in one page: saved, opened again, the same.
    emptied(ada)
    page.evaluate(
        "html => document.getElementById('text').editor.commands.setContent(html)", "".join(EXPECTED.values())
    )
    before = stored(ada)
    page.keyboard.press("Control+s")
    expect(page.locator("[data-state]")).to_contain_text("Saved")
    page.reload()
    ready(ada)
    assert stored(ada) == before
    assert page.evaluate("window.evil === undefined")


def test_plain_text_is_pasted_where_the_cursor_is(ada: Visitor, shelf: LibraryDesk) -> None:
    """Into a list, a line and a table: what is pasted goes on there."""
    page, bus = ada.page, shelf.places["nested"]
    link = f'<a href="{bus}#h-x" data-page="{bus.split("/")[3]}">Night bus connections</a>'
    head = "<table><thead><tr><th>x</th><th>y</th></tr></thead>"
    pasted = [
        ("<ul><li>a</li><li>b</li></ul>", "- x\n- y", "<ul><li>ax</li><li>y</li><li>b</li></ul>"),
        ("<p>a</p>", "**b**, `c`", "<p>a<strong>b</strong>, <code>c</code></p>"),
        ("<p>a</p>", f"{ada.url}{bus}#h-x", f"<p>a{link}</p>"),
        (
            f"{head}<tbody>{row('td', 'a', '2')}</tbody></table>",
            "x\ty\nz\tw\n",
            f"{head}<tbody>{row('td', 'x', 'y')}{row('td', 'z', 'w')}</tbody></table>",
        ),
    ]
    open_new(ada, shelf, "Places")
    for before, words, after in pasted:
        page.evaluate("html => document.getElementById('text').editor.commands.setContent(html)", before)
        put_cursor(ada, "a")
        page.keyboard.press("End")
        assert page.evaluate(PASTE.replace("text.editor.commands.focus();", ""), ["", words]) == after


def test_links_are_opened_changed_and_removed_at_the_cursor(ada: Visitor, shelf: LibraryDesk) -> None:
    bus = shelf.places["nested"]
    gone = open_new(ada, shelf, "Gone")
    far, near = '<a href="https://example.org/a">far</a>', '<a href="{0}" data-page="{1}">{2}</a>'
    page_link, broken = near.format(bus, bus.split("/")[3], "bus"), near.format(gone, gone.split("/")[3], "lost")
    path = open_new(ada, shelf, "Bubble", f"<p>{far} {page_link} {broken}</p>")
    page, keyboard, bubble = ada.page, ada.page.keyboard, ada.page.locator(".bubble--link")
    expect(page.locator("#text .broken-link")).to_have_count(0)
    ada.page.evaluate(
        """path => fetch(`${path}trash/`, {method: "POST", body: new URLSearchParams({
        csrfmiddlewaretoken: document.querySelector("[name=csrfmiddlewaretoken]").value})})""",
        gone,
    )
    page.reload()
    ready(ada)
    expect(page.locator("#text .broken-link")).to_have_text("lost")
    page.locator("#text a", has_text="far").click()
    expect(bubble.get_by_role("link")).to_have_text("example.org/a")
    expect(bubble.get_by_role("link")).to_have_attribute("target", "_blank")
    bubble.get_by_label("Edit link").click()
    keyboard.type("no address")
    keyboard.press("Enter")
    expect(page.locator(".pop-wrong")).to_contain_text("Enter an address")
    keyboard.press("Control+a")
    keyboard.type("example.org/b")
    keyboard.press("Enter")
    assert stored(ada).startswith('<p><a href="https://example.org/b">far</a> ')
    keyboard.press("Control+k")
    keyboard.press("Escape")
    expect(page.locator("#text")).to_be_focused()
    bubble.get_by_label("Remove link").click()
    assert stored(ada).startswith("<p>far <a ")
    # A page of the library opens in this window, with what was typed saved.
    page.locator("#text a", has_text="bus").click()
    expect(bubble.get_by_role("link")).to_have_text("Open page")
    keyboard.press("End")
    expect(bubble).to_have_count(0)
    keyboard.type("!")
    page.locator("#text a", has_text="bus").click()
    expect(bubble).to_be_visible()
    keyboard.press("Alt+Enter")
    page.wait_for_url(f"**{bus}")
    ada.go(path)
    ready(ada)
    assert stored(ada).endswith(f"{page_link} {broken}!</p>")


def test_keys_of_headings_and_code(ada: Visitor, shelf: LibraryDesk) -> None:
    open_new(ada, shelf, "Keys", "<h2>Tides</h2><pre><code>x\ny</code></pre>")
    put_cursor(ada, "Tides")
    pressed(ada, "Home", "Backspace")
    assert stored(ada).startswith("<p>Tides</p>")
    ada.page.locator("#text code").click()
    pressed(ada, "Control+a")
    ada.page.keyboard.type("z")
    assert stored(ada) == "<p>Tides</p><pre><code>z</code></pre>"
    pressed(ada, "Control+a", "Control+a")
    ada.page.keyboard.type("all")
    assert stored(ada) == "<p>all</p>"


def test_several_pictures_keep_their_order_and_are_removed_by_a_key(ada: Visitor, shelf: LibraryDesk) -> None:
    """Whichever is uploaded first: the answers come in another order than the pictures were pasted."""
    many = "for (const n of [1, 2, 3]) data.items.add(new File([blob], n + name, {type}));"
    paste = PASTE_FILE.replace("data.items.add(new File([blob], name, {type}));", many)
    page, held = ada.page, list[Route]()
    page.route("**/files/", lambda route: held.append(route))
    for before in ("", "<p>words</p>"):
        open_new(ada, shelf, "Order", before)
        held.clear()
        page.locator("#text").click()
        page.keyboard.press("Control+End")
        page.evaluate(paste, ["paste", ".png", "image/png"])
        while len(held) < 3:
            page.wait_for_timeout(20)
        for number, shown in ((1, 1), (2, 2), (0, 3)):
            held[number].continue_()
            expect(page.locator("#text figure")).to_have_count(shown)
        assert re.sub(r"/library/files/[^/]+/", "", stored(ada)) == before + "".join(
            f'<figure><img src="{number}.png" alt=""></figure>' for number in (1, 2, 3)
        )
    page.locator("#text figure img").nth(1).click()
    expect(page.locator("#text figure.is-picked")).to_have_count(1)
    page.keyboard.press("Backspace")
    assert re.findall(r"/(\d)\.png", stored(ada)) == ["1", "3"]


def test_pictures_and_files_are_uploaded_by_paste_drop_and_choice(ada: Visitor, shelf: LibraryDesk) -> None:
    open_new(ada, shelf, "Pictures")
    page = ada.page
    page.locator("#text").click()
    page.evaluate(PASTE_FILE, ["paste", "pier.png", "image/png"])
    figure = page.locator("#text figure")
    expect(figure.locator("img")).to_be_visible()
    page.locator("#text figcaption").click()
    page.keyboard.type("Pier 4 at night")
    page.keyboard.press("Enter")
    page.keyboard.type("after")
    assert stored(ada).startswith('<figure><img src="/library/files/')
    assert stored(ada).endswith("<figcaption>Pier 4 at night</figcaption></figure><p>after</p>")
    figure.hover()
    ada.press("Alt text")
    page.keyboard.type("A ferry")
    page.keyboard.press("Enter")
    assert 'alt="A ferry"' in stored(ada)
    expect(page.locator("#text")).to_be_focused()
    with page.expect_file_chooser() as chooser:
        page.get_by_label("Upload picture or file").click()
    chooser.value.set_files({"name": "plan.txt", "mimeType": "text/plain", "buffer": b"words"})
    expect(page.locator("#text a[data-file]")).to_have_text("plan.txt")
    page.evaluate(PASTE_FILE, ["drop", "fog.png", "image/png"])
    expect(page.locator("#text figure")).to_have_count(2)
    page.keyboard.press("Control+s")
    expect(page.locator("[data-state]")).to_contain_text("Saved")
    before = stored(ada)
    page.reload()
    ready(ada)
    assert stored(ada) == before
    assert (
        page.locator("#text figure img").first.evaluate("image => image.decode().then(() => image.naturalWidth)") == 2
    )


def test_markdown_view_stores_the_same_page(ada: Visitor, shelf: LibraryDesk, chromium: Any) -> None:
    path = open_new(ada, shelf, "Views", "<h2>Tides</h2><p>High at <strong>six</strong>.</p>")
    page = ada.page
    page.locator("#text p").first.click()
    page.keyboard.press("End")
    page.keyboard.type(" Typed.")
    ada.follow("Markdown")
    field = page.get_by_label("Text as Markdown")
    expect(field).to_have_value("## Tides\n\nHigh at **six**. Typed.\n")
    field.press("Control+End")
    field.press_sequentially("\n- [x] done\n")
    page.keyboard.press("Control+s")
    expect(page.locator("[data-state]")).to_contain_text("Saved")
    ada.follow("Formatted view")
    ready(ada)
    assert stored(ada).startswith("<h2>Tides</h2><p>High at <strong>six</strong>. Typed.</p><ul")
    # Without a script the same form is sent by its button.
    plain = Visitor(chromium, ada.url, storage_state=ada.context.storage_state(), java_script_enabled=False)
    plain.go(path)
    plain.follow("Markdown")
    plain.page.get_by_label("Text as Markdown").fill("Only this.\n")
    plain.press("Save")
    expect(plain.page.locator("#text")).to_have_text("Only this.")
    plain.close()


def test_passage_is_commented_and_the_other_member_replies(
    ada: Visitor, shelf: LibraryDesk, visitor: Callable[..., Visitor]
) -> None:
    path = open_new(ada, shelf, "Talk", "<p>The night bus waits five minutes for it.</p>")
    moss = visitor(shelf, MOSS)
    moss.go(path)
    ready(moss)
    ada.page.reload()
    ready(ada)
    expect(ada.page.locator("[data-here] .faces")).to_have_attribute("aria-label", f"Viewing now: {MOSS}")
    put_cursor(ada, "The night bus waits five minutes for it.")
    ada.page.keyboard.press("Home")
    for _word in range(3):
        ada.page.keyboard.press("Control+Shift+ArrowRight")
    ada.page.locator("[data-comment-bubble]").click()
    ada.page.keyboard.type("Still true? @moss")
    ada.page.keyboard.press("Control+Enter")
    thread = ada.page.locator("[data-thread]")
    expect(thread).to_contain_text("Still true? @moss")
    expect(thread.locator(".thread-quote")).to_have_text("The night bus")
    expect(ada.page.locator("#comments > summary .count")).to_have_text("1")
    marked = "[...CSS.highlights.get('commented')].map((range) => range.toString().trim())"
    assert ada.page.evaluate(marked) == ["The night bus"]
    moss.page.reload()
    moss.page.get_by_label("Reply").fill("Until March.")
    moss.press("Send")
    expect(moss.page.locator("[data-thread]")).to_contain_text("Until March.")
    moss.press("Resolve")
    expect(moss.page.locator("[data-thread]")).to_have_count(0)


def test_phone_has_the_toolbar_and_the_menus(shelf: LibraryDesk, visitor: Callable[..., Visitor]) -> None:
    phone = visitor(shelf, MOSS, width=390, has_touch=True, is_mobile=True)
    open_new(phone, shelf, "On the way")
    page = phone.page
    page.locator("#text").tap()
    page.keyboard.type("words")
    page.get_by_label("Bold").tap()
    page.keyboard.type("bold")
    assert stored(phone) == "<p>words<strong>bold</strong></p>"
    page.get_by_label("Task list").scroll_into_view_if_needed()
    page.get_by_label("Task list").tap()
    box = page.locator('#text input[type="checkbox"]')
    box.tap()
    assert 'data-checked="true"' in stored(phone)
    page.keyboard.press("Enter")
    page.keyboard.type("/")
    pop = page.locator(".pop")
    pop.wait_for()
    area = pop.bounding_box()
    assert area is not None
    assert area["x"] >= 0
    assert area["x"] + area["width"] <= 390
    pop.locator(".pop-item", has_text="Heading 2").tap()
    page.keyboard.type("Head")
    assert "<h2>" in stored(phone)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_size_and_time_to_ready_are_printed(
    ada: Visitor, shelf: LibraryDesk, capsys: pytest.CaptureFixture[str]
) -> None:
    ada.go(shelf.places["file"])
    took = ready(ada).locator("#editor").get_attribute("data-ready")
    size = len(gzip.compress(BUNDLE.read_bytes(), 9))
    with capsys.disabled():
        print(f"\n  editor: {size / 1000:.0f} kB gzip, ready {took} ms after the page was asked for")
    assert size < 250_000
