"""Reads one HTML page for the library, in the limited child: main text with headings, lists, links and pictures."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import lxml.html  # type: ignore[import-untyped]
import trafilatura
from lxml.etree import LxmlError  # type: ignore[import-untyped]

from watchbook.base.text import cut
from watchbook.systems.pages.parse import text as page_text

MARKUP_LENGTH, TITLE_LENGTH, ADDRESS_LENGTH = 1_000_000, 500, 2048
MOST_PICTURES = 200


def article_task(argument: dict[str, Any]) -> dict[str, Any]:
    """Task of the child: the file `input_path`, what HTTP says about it, and its address; see `Article.of`."""
    body = Path(argument["input_path"]).read_bytes()
    return read_article(body, argument["url"], argument["charset"], is_plain=argument["is_plain"])


def read_article(body: bytes, url: str, charset: str = "", *, is_plain: bool = False) -> dict[str, Any]:
    """Read a page with its markup. The signs are those that the reader of versions knows."""
    read = page_text.read_page(body, charset, is_plain=is_plain)
    text, fields = read["text"], read["fields"]
    title = cut(fields.get("title") or fields.get("h1") or urlsplit(url).path.strip("/") or url, TITLE_LENGTH)
    signs = read["signs"] if text else [*read["signs"], "unreadable"]
    html, pictures = ("", []) if is_plain or signs else _markup(page_text.decode(body, charset), url)
    return {
        "title": title,
        "html": html or "".join(f"<p>{escape(line)}</p>" for line in text.split("\n") if line),
        "text": text,
        "pictures": pictures,
        "signs": signs,
    }


def _markup(page: str, url: str) -> tuple[str, list[str]]:
    """The main part as markup with whole addresses, and the addresses of its pictures; empty if there is none."""
    try:
        tree = lxml.html.document_fromstring(page.encode("utf-8"), parser=lxml.html.HTMLParser(encoding="utf-8"))
        tree.make_links_absolute(url, resolve_base_href=True, handle_failures="discard")
        made = trafilatura.extract(
            tree, fast=True, output_format="html", include_images=True, include_links=True, include_formatting=True,
            include_comments=False, include_tables=True, deduplicate=False,
        )  # fmt: skip
        found = lxml.html.document_fromstring(made).find("body") if made else None
    except (LxmlError, ValueError, RecursionError, AssertionError):
        return "", []
    if found is None:
        return "", []
    pictures = _pictures(found)
    _tidy(found)
    html = "".join(lxml.html.tostring(node, encoding="unicode") for node in found)
    return (html, pictures) if len(html) <= MARKUP_LENGTH else ("", [])


def _pictures(found: Any) -> list[str]:
    """Addresses of pictures in order; a picture of another scheme is dropped."""
    addresses: dict[str, None] = {}
    for node in list(found.iter("img")):
        address = str(node.get("src") or "")
        if address.startswith(("http://", "https://")) and len(address) <= ADDRESS_LENGTH:
            addresses[address] = None
        else:
            node.drop_tree()
    return list(addresses)[:MOST_PICTURES]


def _tidy(found: Any) -> None:
    """Remove the line breaks and indents that the extractor writes between elements, and a block inside its like."""
    for node in list(found.iter("pre")):
        if node.getparent() is not None and node.getparent().tag == "pre":
            node.drop_tag()
    for node in found.iter():
        is_code = any(above.tag == "pre" for above in (node, *node.iterancestors()))
        if node.text and not node.text.strip() and not is_code:
            node.text = None
        if node.tag == "pre" and node.text:
            node.text = node.text.strip("\n ")
        if node.tail and "\n" in node.tail and not node.tail.strip():
            node.tail = None
