"""Parts of a post's clean HTML as pages and files show them: smilies, names of pictures, the title."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from urllib.parse import unquote, urlsplit

from watchbook.systems.nga.parse.bbcode.tags import smiley_mark

_SMILEY_NAME = re.compile(r"\[s:(?:\w+:)?(.+)\]")
SHORT = 60


def without_title(html: str, title: str) -> str:
    """Remove the title from the opening post: the page shows it above."""
    return html.removeprefix(f"<h4>{escape(title, quote=False)}</h4>")


def smiley_html(given: Mapping[str, str]) -> str:
    """The sign or the name of a smiley, from the attributes of its image."""
    alt = given.get("alt", "")
    found = _SMILEY_NAME.fullmatch(alt)
    name = found[1] if found else alt
    mark = smiley_mark(name)
    if mark is None:
        return f'<span class="bb-smiley" title="{escape(alt)}">{escape(name)}</span>'
    return f'<span class="bb-mark" role="img" aria-label="{escape(name)}" title="{escape(alt)}">{mark}</span>'


def picture_name(address: str) -> str:
    """Return the file name at the end of an address."""
    try:
        path = unquote(urlsplit(address).path)
    except ValueError:
        path = ""
    name = path.rstrip("/").rpartition("/")[2] or address
    return name if len(name) <= SHORT else f"{name[: SHORT // 2]}…{name[-SHORT // 2 :]}"
