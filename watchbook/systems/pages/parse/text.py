"""Reads one HTML page in the limited child: head fields, structured data, main text, and signs of error pages."""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import Any

import lxml.html  # type: ignore[import-untyped]
import trafilatura
from lxml.etree import LxmlError  # type: ignore[import-untyped]

from watchbook.base.text import clean_text, cut
from watchbook.systems.pages.parse import FIELD_LENGTH, Selectors
from watchbook.systems.pages.parse.headers import refresh_target
from watchbook.systems.pages.parse.structured import structured_fields

TEXT_LENGTH = 1_000_000
ALTERNATES, MOST_METAS = 100, 10
SHORT_TEXT = 1_500
# A form for a password on a page with less text than this replaces the page.
SHORT_FORM = 200
MOST_NODES = 5_000
# So many characters beyond ASCII must be right for each one that is broken.
SOUND_CHARACTERS = 4
NO_SELECTORS = Selectors()
BLOCKS = (
    "p", "div", "li", "tr", "br", "section", "article", "table", "ul", "ol", "dl", "dt", "dd", "blockquote", "pre",
    "h1", "h2", "h3", "h4", "h5", "h6",
)  # fmt: skip
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([a-zA-Z0-9_-]{2,40})", re.IGNORECASE)
# The number stands alone: a car and a motorway are called 404, too.
_SOFT_404 = re.compile(
    r"(?:^|[|–—:·>!.(]| -) *404(?: *(?:error|page|错误)){0,2}(?= *(?:$|[|–—:·>!.,)]|- ))|\b(?:error|http|fehler) 404\b"
    r"|错误 *404|not found|page (?:does not|doesn.t) exist|no longer (?:available|exists)|seite nicht gefunden"
    r"|页面不存在|找不到(?:该|此|您)?.{0,6}页|网页不存在|内容不存在|已被删除|ページが見つかりません",
    re.IGNORECASE | re.MULTILINE,
)
_LOGIN = re.compile(
    r"\b(?:log|sign)[ -]?(?:in|on|up)\b|\b(?:password|passwort|anmelden|einloggen)\b|登录|登入|密码|ログイン",
    re.IGNORECASE,
)
_WALL = re.compile(
    r"\b(?:sign|log) ?in (?:to|required)|please (?:sign|log) ?in|just a moment|are you (?:a )?human|access denied"
    r"|verify you are|enable javascript and cookies|请(?:先)?登录|登录后(?:查看|可见)|人机验证|安全验证",
    re.IGNORECASE,
)
_CONSENT = re.compile(
    r"before you continue|(?:accept|allow|agree to) (?:all )?cookies|cookie (?:consent|wall|settings)"
    r"|we value your privacy|alle (?:cookies )?akzeptieren|cookies (?:akzeptieren|zustimmen)|bevor sie fortfahren"
    r"|(?:同意|接受).{0,6}cookie",
    re.IGNORECASE,
)
_MARKUP = re.compile(
    r"<(?:!doctype|html|head|body|title|meta|main|article|section|div|p|h[1-6]|a|table|ul|frameset)\b", re.IGNORECASE
)
_BLANKS = re.compile(r"[^\S\n]+")


def read_task(argument: dict[str, Any]) -> dict[str, Any]:
    """Task of the child: the file `input_path` and what HTTP says about it; returns what PageRecord.of reads."""
    body = Path(argument["input_path"]).read_bytes()
    selectors = Selectors(tuple(argument.get("only", ())), tuple(argument.get("ignore", ())))
    return read_page(body, argument["charset"], is_plain=argument["is_plain"], selectors=selectors)


def read_page(
    body: bytes, charset: str = "", *, is_plain: bool = False, selectors: Selectors = NO_SELECTORS
) -> dict[str, Any]:
    """Read a page. Bytes without any markup are unreadable, unless the site calls them plain text."""
    text = decode(body, charset)
    if is_plain:
        return {"fields": {}, "text": _lines(text), "size": len(body), "signs": []}
    if not _MARKUP.search(text):
        return {"fields": {}, "text": "", "size": len(body), "signs": ["unreadable"]}
    tree = _tree(text)
    if tree is None:
        return {"fields": {}, "text": "", "size": len(body), "signs": []}
    fields = {name: cut(value, FIELD_LENGTH) for name, value in _head(tree).items() if value}
    fields.update({name: cut(value, 200) for name, value in structured_fields(_scripts(tree)).items()})
    # A selected part is short on a whole page, too: then all text of the page decides.
    judged = str(tree.text_content()) if selectors.only else ""
    main, is_selected = _selected(text, tree, selectors)
    signs = signs_of(fields, judged or main, tree) + ([] if is_selected else ["unselected"])
    return {"fields": fields, "text": main, "size": len(body), "signs": signs}


def decode(body: bytes, charset: str = "") -> str:
    """Text of a page: byte order mark, then HTTP, then the page's own declaration, then UTF-8, then a guess."""
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if body.startswith(mark):
            return clean_text(body[len(mark) :].decode(name, "replace"))
    named = _META_CHARSET.search(body[:4096])
    declared = [charset, named.group(1).decode("ascii") if named else "", "utf-8"]
    for read, names in ((_strict, declared), (_with_gaps, declared), (_strict, ["gb18030", "cp1252"])):
        for name in filter(None, names):
            found = read(body, name)
            if found is not None:
                return clean_text(found)
    return clean_text(body.decode("utf-8", "replace"))


def _strict(body: bytes, name: str) -> str | None:
    try:
        return body.decode(_codec(name), "strict")
    except (UnicodeDecodeError, LookupError):
        return None


def _with_gaps(body: bytes, name: str) -> str | None:
    """A text of which a few bytes are broken: another encoding would turn all of it into other characters."""
    try:
        text = body.decode(_codec(name), "replace")
    except LookupError:
        return None
    gaps = text.count("\ufffd")
    foreign = len(text) - len(text.encode("ascii", "ignore"))
    return text if gaps * SOUND_CHARACTERS <= foreign - gaps else None


def _codec(name: str) -> str:
    """Browsers read these names as their supersets."""
    known = codecs.lookup(name).name
    if known == "utf-7":  # turns harmless bytes into markup
        raise LookupError(name)
    return {"gb2312": "gb18030", "gbk": "gb18030", "iso8859-1": "cp1252", "ascii": "utf-8"}.get(known, known)


def _tree(text: str) -> Any:
    if not text.strip():
        return None
    try:
        # A declaration of an encoding inside a text is refused by lxml; the text is decoded already.
        parser = lxml.html.HTMLParser(encoding="utf-8", huge_tree=False)
        return lxml.html.document_fromstring(text.encode("utf-8"), parser=parser)
    except (LxmlError, ValueError, AssertionError):
        return None


def _head(tree: Any) -> dict[str, str]:
    found = {
        "title": _first(tree, "//title/text()"),
        "h1": " ".join("".join(node.itertext()) for node in tree.xpath("//h1")[:1]),
        "description": _meta(tree, "description") or _meta(tree, "og:description"),
        "canonical": _first(tree, "//link[translate(@rel,'CANONICAL','canonical')='canonical']/@href"),
        "robots": ", ".join(dict.fromkeys([*_metas(tree, "robots"), *_metas(tree, "googlebot")])),
        "language": str(tree.get("lang") or tree.get("{http://www.w3.org/XML/1998/namespace}lang") or ""),
        "hreflang": "\n".join(sorted(_alternates(tree))),
        "published": _meta(tree, "article:published_time"),
        "modified": _meta(tree, "article:modified_time"),
        "author": _meta(tree, "author"),
        "refresh": refresh_target(_first(tree, "//meta[translate(@http-equiv,'REFSH','refsh')='refresh']/@content")),
        "price": _meta(tree, "product:price:amount"),
        "currency": _meta(tree, "product:price:currency"),
    }
    found["title"] = found["title"] or _meta(tree, "og:title")
    return {name: " ".join(clean_text(value).split(" ")).strip() for name, value in found.items()}


def _first(tree: Any, path: str) -> str:
    values = tree.xpath(path)
    return " ".join(str(values[0]).split()) if values else ""


def _meta(tree: Any, name: str) -> str:
    """Content of the first meta element of this name."""
    return next(iter(_metas(tree, name)), "")


def _metas(tree: Any, name: str) -> list[str]:
    """Contents of all meta elements by name or property, in any case. Two that say robots both count."""
    lower = "'ABCDEFGHIJKLMNOPQRSTUVWXYZ','abcdefghijklmnopqrstuvwxyz'"
    path = f"//meta[translate(@name,{lower})='{name}' or translate(@property,{lower})='{name}']/@content"
    return [words for value in tree.xpath(path)[:MOST_METAS] if (words := " ".join(str(value).split()))]


def _alternates(tree: Any) -> set[str]:
    links = tree.xpath("//link[@hreflang][@href]")[:ALTERNATES]
    return {f"{link.get('hreflang')} {link.get('href')}" for link in links}


def _scripts(tree: Any) -> list[str]:
    nodes = tree.xpath("//script[contains(translate(@type,'LDJSON','ldjson'),'ld+json')]")[:50]
    return ["".join(node.itertext()) for node in nodes]


def _selected(text: str, tree: Any, selectors: Selectors) -> tuple[str, bool]:
    """The text of the selected parts, and whether there are any; without selectors the main text."""
    if not selectors.digest:
        return _main_text(text, tree), True
    for node in _found(tree, selectors.ignore):
        if node.getparent() is not None:
            node.drop_tree()
    if not selectors.only:
        return _main_text(lxml.html.tostring(tree, encoding="unicode"), tree), True
    chosen = _found(tree, selectors.only)
    inside = set(chosen)
    outer = [node for node in chosen if not any(above in inside for above in node.iterancestors())]
    return _lines("\n".join(_block_text(node) for node in outer)), bool(outer)


def _found(tree: Any, selectors: tuple[str, ...]) -> list[Any]:
    """Nodes of these selectors in the order of the page."""
    if not selectors:
        return []
    from lxml.cssselect import CSSSelector  # type: ignore[import-untyped]  # only for pages with such rules

    return list(CSSSelector(", ".join(selectors), translator="html")(tree))[:MOST_NODES]


def _block_text(node: Any) -> str:
    """Text of a part, with a line for each block in it."""
    for each in node.iter("script", "style", "noscript", "template"):
        each.text, each[:] = None, []
    for each in node.iter(*BLOCKS):
        each.text, each.tail = f"\n{each.text or ''}", f"\n{each.tail or ''}"
    return str(node.text_content())


def _main_text(text: str, tree: Any) -> str:
    """Main text by trafilatura; of a page without any, all text that is no script or style."""
    try:
        main = (
            trafilatura.extract(text, fast=True, include_comments=False, include_tables=True, deduplicate=False) or ""
        )
    except (LxmlError, ValueError, RecursionError):
        main = ""
    if not main:
        for node in tree.xpath("//script|//style|//noscript|//template"):
            node.drop_tree()
        body = tree.xpath("//body")
        main = "\n".join(part for part in body[0].itertext()) if body else ""
    return _lines(main)


def _lines(text: str) -> str:
    lines = (_BLANKS.sub(" ", line).strip() for line in clean_text(text).splitlines())
    return "\n".join(line for line in lines if line)[:TEXT_LENGTH]


def signs_of(fields: dict[str, str], text: str, tree: Any) -> list[str]:
    """Signs of an error page, or of a login or cookie page, that the site sent with status 200."""
    if len(text) > SHORT_TEXT:
        return []
    named = f"{fields.get('title', '')}\n{fields.get('h1', '')}"
    found = []
    if _SOFT_404.search(named):
        found.append("soft_404")
    is_short = len(text) < 400
    asks_consent = _CONSENT.search(named) or (is_short and not fields.get("h1") and _CONSENT.search(text))
    if _asks_login(named, text, tree) or asks_consent or _WALL.search(named) or (is_short and _WALL.search(text)):
        found.append("wall")
    return found


def _asks_login(named: str, text: str, tree: Any) -> bool:
    """Whether a page is a form for a password. Many have one in their head, which is no part of their text."""
    if tree is None or not tree.xpath("//input[@type='password']"):
        return False
    return len(text) < SHORT_FORM or bool(_LOGIN.search(f"{named}\n{text}"))
