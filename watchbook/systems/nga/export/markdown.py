"""The cleaned HTML of a post as Markdown. What Markdown has no mark for stays a tag, which Markdown allows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml import etree  # type: ignore[import-untyped]
from lxml import html as reader

_BLOCKS = {"blockquote", "details", "div", "h4", "hr", "li", "ol", "p", "pre", "table", "ul"}
_MARKS = {"b": "**", "strong": "**", "i": "*", "em": "*", "del": "~~", "s": "~~"}
_KEPT_TAGS = {"u", "sup", "sub", "code"} | set(_MARKS)
_SIGNS = re.compile(r"([\\`*_{}\[\]<>~|&!#])")
_LINE_START = re.compile(r"^([-+=]|\d{1,9}[.)])", re.MULTILINE)
_SPACES = re.compile(r"[ \t\r\n\f]+")
_BREAK = "\\\n"


def markdown(html: str) -> str:
    root = reader.fragment_fromstring(html, create_parent="div")
    return "\n\n".join(_blocks(root))


def _blocks(element: reader.HtmlElement) -> Iterator[str]:
    """Text between blocks is a paragraph; an empty line of the author ends one."""
    run: list[str] = [_text(element.text)]
    for child in element:
        if child.tag in _BLOCKS:
            yield from _paragraphs(run)
            run = []
            if made := _block(child):
                yield made
        else:
            run.append(_inline(child, "".join(run)[-1:]))
        run.append(_text(child.tail))
    yield from _paragraphs(run)


def _paragraphs(run: list[str]) -> Iterator[str]:
    for paragraph in re.split(r"(?:\\\n[ ]*){2,}", "".join(run)):
        lines = [line.strip(" ") for line in paragraph.split(_BREAK)]
        while lines and not lines[0]:
            lines.pop(0)
        while lines and not lines[-1]:
            lines.pop()
        if lines:
            yield _LINE_START.sub(_escape_start, _BREAK.join(lines))


def _escape_start(found: re.Match[str]) -> str:
    """A sign at the beginning of a line would make a list or a heading of it."""
    sign = found[1]
    return f"\\{sign}" if len(sign) == 1 else f"{sign[:-1]}\\{sign[-1]}"


def _block(element: reader.HtmlElement) -> str:
    if element.tag == "hr":
        return "---"
    if element.tag == "pre":
        return _fenced(element.text_content())
    if element.tag == "table":
        return _raw(element)
    if element.tag in {"ul", "ol"}:
        return _list(element)
    if element.tag == "h4":
        return "#### " + _LINE_START.sub(_escape_start, _line(element))
    inner = "\n\n".join(_blocks(element))
    if element.tag == "blockquote":
        return "\n".join(f"> {line}".rstrip() for line in inner.split("\n")) if inner else ""
    if element.tag == "details":
        return _details(element)
    return inner


def _details(element: reader.HtmlElement) -> str:
    summary = element.find("summary")
    words = _SPACES.sub(" ", summary.text_content()).strip() if summary is not None else ""
    if summary is not None:
        summary.drop_tree()
    title = etree.Element("summary")
    title.text = words or "…"
    inner = "\n\n".join(_blocks(element))
    return "\n\n".join(filter(None, [f"<details>\n{_raw(title)}", inner, "</details>"]))


def _list(element: reader.HtmlElement) -> str:
    lines = []
    for number, item in enumerate(element.findall("li"), start=1):
        mark = f"{number}. " if element.tag == "ol" else "- "
        inner = "\n\n".join(_blocks(item)).split("\n")
        lines += [mark + inner[0], *(" " * len(mark) + line if line else "" for line in inner[1:])]
    return "\n".join(lines)


def _fenced(text: str) -> str:
    longest = max((len(found) for found in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text.strip(chr(10))}\n{fence}"


def _raw(element: reader.HtmlElement) -> str:
    """An element as HTML on one line: an empty line would end it."""
    text = etree.tostring(element, encoding="unicode", method="html", with_tail=False)
    return _SPACES.sub(" ", str(text)).strip()


def _inline(element: reader.HtmlElement, before: str = "") -> str:
    if element.tag == "br":
        return _BREAK
    if element.tag == "img":
        return f"![{_text(element.get('alt', ''))}]({_target(element.get('src', ''))})"
    inner = _line(element)
    if not inner.strip():
        return inner
    if element.tag == "a" and element.get("href"):
        return f"[{inner}]({_target(element.get('href'))})"
    return _marked(element.tag, inner, before) if element.tag in _KEPT_TAGS else inner


def _line(element: reader.HtmlElement) -> str:
    parts = [_text(element.text)]
    for child in element:
        parts += [_inline(child, "".join(parts)[-1:]), _text(child.tail)]
    return "".join(parts)


def _marked(tag: str, inner: str, before: str) -> str:
    """Stars work only beside letters and digits; everything else gets the tag itself."""
    bare = inner.strip(" ")
    mark = _MARKS.get(tag, "")
    if mark and bare[:1].isalnum() and bare[-1:].isalnum() and before not in {"*", "~"} and _BREAK not in inner:
        start, _, end = inner.partition(bare)
        return f"{start}{mark}{bare}{mark}{end}"
    return f"<{tag}>{inner}</{tag}>"


def _text(text: str | None) -> str:
    return _SIGNS.sub(r"\\\1", _SPACES.sub(" ", text or ""))


def _target(address: str) -> str:
    return "".join(f"%{ord(sign):02X}" if sign in " ()<>\\" else sign for sign in address)
