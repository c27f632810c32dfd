"""E-mails drawn from a letter: both parts say the same, in both languages, with nothing loaded from elsewhere."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.utils import translation
from lxml import html as markup

from watchbook.kit.letter import Counts, Item, Letter, Link, Piece, Section, from_json

SITE, OURS = "https://ferry.example.com", "https://watch.example.org"


def change() -> Letter:
    news = (
        Item("Winter ferries start", f"{SITE}/news/winter", sign="+"),
        Item("Storm warnings", f"{SITE}/news/storm", sign="~", note="modified 16 Nov 13:20"),
        Item("Summer pass", f"{SITE}/news/summer", sign="−"),
    )
    return Letter(
        title="Example Ferry: 6 new pages",
        name="Example Ferry",
        label="16 Nov 13:58",
        lead=("1 page was removed and 3 were updated.",),
        counts=Counts(6, 1, 3),
        button=Link("See the difference", f"{OURS}/changes/1/"),
        sections=(Section("News", "/news/", Counts(2, 1, 1), news, more=14, more_url=f"{OURS}/changes/1/?all"),),
        after=(Link("12 frequently changing URLs are not listed.", f"{OURS}/changes/1/?noisy"), Link("48,211 URLs.")),
        foot=("Sent to the channel Ferry team.",),
        links=(Link("Unsubscribe", f"{OURS}/unsubscribe/x/"),),
    )


def match() -> Letter:
    found = Item(
        "今晚的渡轮还开吗",
        f"{SITE}/read?tid=1",
        here=f"{OURS}/forum/1/",
        note="NGA 7 · 港口小贩",
        excerpt=(Piece("末班船"), Piece("改", True), Piece("到 22:40 <b>")),
        side="#14",
        kind="forum_post",
        id="9",
    )
    return Letter("4 new matches", sections=(Section(items=(found,)),), figures=(("4", "matches"),))


def alert() -> Letter:
    return Letter(
        title="Notes: success rate below 90%",
        badge="P1 Open alert",
        paragraphs=(("Effect.", "214 candidates are waiting."), ("", "Replace the cookies.")),
        button=Link("Open cookie pool", f"{OURS}/notes/"),
        under_button="The link works once.",
        facts=(("Opened", "16 Nov 07:41", ""), ("Last run", "run 20,377", f"{OURS}/runs/20377/")),
    )


LETTERS = [change(), match(), alert()]


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def shown(letter: Letter) -> markup.HtmlElement:
    page = markup.document_fromstring(letter.html("en"))
    for hidden in page.xpath("//head | //*[@class='peek']"):
        hidden.drop_tree()
    for span in page.xpath("//span[@class='plain' or @class='match']"):
        span.drop_tag()  # words may go through a match
    return page


@pytest.mark.parametrize("letter", LETTERS, ids=lambda letter: letter.title)
@pytest.mark.parametrize("lang", ["en", "zh-hans"])
def test_text_and_html_have_the_same_words_and_links(letter: Letter, lang: str) -> None:
    with translation.override(lang):
        page, text = shown(letter), letter.text()
    links = set(page.xpath("//a/@href"))
    assert {word.rstrip(":") for word in text.split() if word.startswith("https://")} >= links
    in_html = words(" ".join(page.itertext())) | words(" ".join(links))
    removed = words(" ".join(item.url for item in letter.items if item.is_removed or item.note))
    # The address of a removed page is no link; "Open in Watchbook" is the address itself in plain text.
    assert words(text) - in_html <= removed
    with translation.override(lang):
        assert in_html - words(text) <= words("Open in Watchbook") | words(translation.gettext("Open in Watchbook"))


@pytest.mark.parametrize("letter", LETTERS, ids=lambda letter: letter.title)
def test_letter_is_the_same_after_it_was_stored(letter: Letter) -> None:
    stored = from_json(letter.as_json())
    assert stored.sections == letter.sections
    assert (stored.button, stored.facts, stored.after) == (letter.button, letter.facts, letter.after)


def test_every_class_has_its_style_in_the_element_and_nothing_is_loaded() -> None:
    drawn = change().html("en")
    assert not re.search(r"<(?:img|link|script|iframe)|url\(|@import", drawn)
    bare = [tag for tag in re.findall(r'<[^>]*class="[^"]*"[^>]*>', drawn) if "style=" not in tag]
    assert bare == []
    assert "prefers-color-scheme: dark" in drawn
    assert len(drawn.encode()) < 100_000  # some mail programs cut longer ones


def test_markup_in_titles_is_text() -> None:
    evil = '"><img src=x onerror=alert(1)> class="bg"'
    letter = Letter(evil, lead=(evil,), sections=(Section(evil, items=(Item(evil, excerpt=(Piece(evil, True),)),)),))
    drawn = letter.html("en")
    assert "<img" not in drawn
    assert unescape(drawn).count("onerror") >= 4
