"""Front matter of Markdown files: read for titles, aliases and order, kept as it was, and written again."""

from __future__ import annotations

import json
import re

LONGEST = 20_000


def split(text: str) -> tuple[str, str]:
    """Return the lines between the dashes as they are, and the text below them."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.startswith("---\n"):
        return "", text
    end = text.find("\n---\n", 3, LONGEST)
    if end < 0:
        if text.endswith("\n---") and len(text) < LONGEST:
            return text[4:-4], ""
        return "", text
    return text[4 : end + 1].removesuffix("\n"), text[end + 5 :].removeprefix("\n")


def split_front(text: str) -> tuple[dict[str, str], str]:
    """Return the plain values of the front matter and the text below it."""
    front, rest = split(text)
    return values(front), rest


def values(front: str) -> dict[str, str]:
    """Return the values that are on the line of their name."""
    said: dict[str, str] = {}
    for line in front.split("\n"):
        name, colon, value = line.partition(":")
        if colon and name.strip().isidentifier() and not line[:1].isspace():
            said[name.strip()] = _plain(value.strip())
    return said


def listed(front: str, name: str) -> list[str]:
    """Return the values of a list: on one line in brackets, or one a line with dashes."""
    found = re.search(rf"^{name}:[ \t]*(.*)((?:\n[ \t]*- .*)*)", front, re.MULTILINE)
    if found is None:
        return []
    inline = found[1].strip()
    parts = inline.strip("[]").split(",") if inline else [line.strip()[2:] for line in found[2].split("\n") if line]
    return [kept for part in parts if (kept := _plain(part.strip()))]


def _plain(value: str) -> str:
    if value[:1] == '"':
        try:
            return str(json.loads(value))
        except ValueError:
            return value.strip('"')
    return value[1:-1].replace("''", "'") if len(value) > 1 and value[0] == value[-1] == "'" else value


def with_front(title: str, text: str, front: str = "") -> str:
    """Return a file with its front matter; `title` is in it unless it is empty."""
    lines = [line for line in front.split("\n") if line] if front else []
    said = f"title: {json.dumps(title, ensure_ascii=False)}"
    at = next((place for place, line in enumerate(lines) if line.startswith("title:")), None)
    if title and at is None:
        lines.insert(0, said)
    elif title and at is not None and values(lines[at]).get("title") != title:
        lines[at] = said
    head = "\n".join(lines) if front or title else ""
    return f"---\n{head}\n---\n\n{text}" if head else text
