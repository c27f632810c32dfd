"""What the pages of the site say, in a template with noise, and a ledger of everything they said.

Every answer has a menu and a footer that all pages share, a token in its head, a counter and a time inside the article,
and a promotion that is another one at each request. Only what `write` gets is content.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Literal

from standins.messages import Answer

Mood = Literal["plain", "wall", "login", "soft_404", "gone", "trouble", "huge", "bomb", "broken", "empty"]
MENU = "Home Timetables Piers Contact Search the whole harbour"
FOOTER = "All harbour pages may be copied with their source named, since the year of the great flood"
PROMOTIONS = (
    "Lanterns half price until Sunday, only at pier seven",
    "New: moonlight cruises with supper and an accordion",
    "Have you insured your rowing boat against gulls yet",
    "Rope by the metre, tarred or plain, knots for free",
    "Harbour choir seeks basses, rehearsals each Tuesday",
)
FILLER = (
    "The harbour office keeps this page up to date and answers questions by letter, by telephone and at the counter "
    "between nine and four on every working day of the year, holidays excepted."
)


@dataclass(frozen=True)
class PageText:
    """The content of one page, and how the site is disposed to show it."""

    title: str = "A page"
    paragraphs: tuple[str, ...] = ("A page of the harbour.",)
    description: str = ""
    price: str = ""
    robots: str = ""
    language: str = "en"
    # A part of the article with the class "berths"; not content
    berths: str = ""
    # Addresses of pictures in the article; not content
    pictures: tuple[str, ...] = ()
    encoding: str = "utf-8"
    # The encoding that the page says it has; empty: the true one
    declared: str = ""
    # One byte of the footer fits no encoding; not content
    has_stray_byte: bool = False
    # Further header fields of the answer; not content
    headers: tuple[tuple[str, str], ...] = ()
    mood: Mood = "plain"

    @property
    def content(self) -> tuple[Any, ...]:
        """What a perfect reader knows of the page."""
        return (self.title, self.paragraphs, self.description, self.price, self.robots)


class Texts:
    """Pages by path. `history` has every content that a page had, one after the other."""

    def __init__(self) -> None:
        self.pages: dict[str, PageText] = {}
        self.history: dict[str, list[PageText]] = {}
        # Files beside the pages, by path
        self.files: dict[str, Answer] = {}
        self.has_noise = True
        self._served = 0

    def write(self, path: str, **given: Any) -> PageText:
        """Change only what is given. A new content is one more entry of the history."""
        if "paragraphs" in given:
            given["paragraphs"] = tuple(given["paragraphs"])
        old = self.pages.get(path)
        page = replace(old or PageText(), **given)
        self.pages[path] = page
        past = self.history.setdefault(path, [])
        if not past or past[-1].content != page.content:
            past.append(page)
        return page

    def answer(self, path: str) -> Answer | None:
        if path in self.files:
            return self.files[path]
        page = self.pages.get(path)
        if page is None:
            return None
        self._served += 1
        if page.mood != "plain":
            return _moody(page)
        body = self._html(path, page).encode(page.encoding, "replace")
        if page.has_stray_byte:
            body = body.replace(b"<footer><p>", b"<footer><p>\xff", 1)
        said = page.declared or page.encoding
        kind = "text/html" if said == "utf-8" else f"text/html; charset={said}"
        return Answer(200, body, page.headers, content_type=kind)

    def _html(self, path: str, page: PageText) -> str:
        number = self._served
        lines = [f"<p>{escape(paragraph)}</p>" for paragraph in page.paragraphs]
        if self.has_noise:
            lines.insert(1, f"<p>Page called {number} times, most recently at {number % 24:02d}:{number % 60:02d}</p>")
            lines.insert(len(lines) // 2 + 1, f"<p>{PROMOTIONS[number % len(PROMOTIONS)]}</p>")
        lines += [f'<p><img src="{escape(address)}" alt="Picture"></p>' for address in page.pictures]
        if page.berths:
            lines.append(f'<div class="berths"><p>{escape(page.berths)}</p></div>')
        data: dict[str, Any] = {"@type": "WebPage", "name": page.title}
        if page.price:
            data["offers"] = {"@type": "Offer", "price": page.price, "priceCurrency": "EUR"}
        robots = f'<meta name="robots" content="{escape(page.robots)}">' if page.robots else ""
        return (
            f'<!DOCTYPE html><html lang="{page.language}"><head><meta charset="{page.declared or page.encoding}">'
            f"<title>{escape(page.title)}</title>"
            f'<meta name="description" content="{escape(page.description)}">{robots}'
            f'<meta name="csrf-token" content="{number:08x}"><link rel="canonical" href="{escape(path)}">'
            f'<script type="application/ld+json">{json.dumps(data, ensure_ascii=False)}</script></head><body>'
            f"<nav><ul><li>{MENU}</li></ul></nav><main><article><h1>{escape(page.title)}</h1>{''.join(lines)}"
            f"<p>{FILLER}</p></article></main><footer><p>{FOOTER}</p></footer></body></html>"
        )


def _moody(page: PageText) -> Answer:
    """What the site shows in the place of the page."""
    html = "text/html; charset=utf-8"
    answers: dict[str, Answer] = {
        "wall": Answer.html("<html><title>Please log in</title><body><form><input type=password></form></body></html>"),
        "login": Answer.redirect("/login?next=back", 302),
        "soft_404": Answer.html("<html><title>404 Not found</title><body><h1>Page not found</h1></body></html>"),
        "gone": Answer.html("<html><title>Gone</title><body><p>Gone.</p></body></html>", 410),
        "trouble": Answer.html("<html><title>Oops</title><body><p>Oops.</p></body></html>", 503),
        "empty": Answer.html(""),
        "broken": Answer(200, b"\x00\xff\xfe\x00garbled", content_type=html),
    }
    if page.mood == "huge":
        return Answer(200, b"<html><body>" + b"<p>wide water</p>" * 1_300_000, content_type=html)
    if page.mood == "bomb":
        packed = gzip.compress(b"<p>water</p>" * 5_000_000)
        return Answer(200, packed, (("Content-Encoding", "gzip"),), content_type=html)
    return answers[page.mood]
