"""The few lines at the head of a Markdown file: `title: "…"` between two lines of dashes."""

from __future__ import annotations

import json

LONGEST = 20_000


def split_front(text: str) -> tuple[dict[str, str], str]:
    """What the head says, and the text below it. Without a head everything is text."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.startswith("---\n"):
        return {}, text
    end = text.find("\n---\n", 3, LONGEST)
    if end < 0:
        return {}, text
    said: dict[str, str] = {}
    for line in text[4:end].split("\n"):
        name, colon, value = line.partition(":")
        if colon and name.strip().isidentifier():
            said[name.strip()] = _plain(value.strip())
    return said, text[end + 5 :].removeprefix("\n")


def with_front(title: str, text: str) -> str:
    return f"---\ntitle: {json.dumps(title, ensure_ascii=False)}\n---\n\n{text}"


def _plain(value: str) -> str:
    if value[:1] == '"':
        try:
            return str(json.loads(value))
        except ValueError:
            return value.strip('"')
    return value[1:-1].replace("''", "'") if len(value) > 1 and value[0] == value[-1] == "'" else value
