"""The text of a page as it is shown. Pictures of other sites are links: opening a page asks no other server."""

from __future__ import annotations

import re
from html import unescape

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from watchbook.library.parse.html import clean, to_text

# The cleaner writes attributes in double quotes, whatever stood there before.
_IMAGE = re.compile(r'<img((?:\s+[a-z]+="[^"]*")*)\s*/?>')
_ATTRIBUTE = re.compile(r'([a-z]+)="([^"]*)"')
_WORD = re.compile("[\u3400-\u9fff]|[^\\W\u3400-\u9fff]+")


def for_reading(content: str) -> SafeString:
    return mark_safe(_IMAGE.sub(_as_link, clean(content)))  # noqa: S308 - cleaned by the allow-list


def for_editing(content: str) -> SafeString:
    """As above, but a picture is one thing that cannot be written into; the editor makes it a picture again."""
    return mark_safe(_IMAGE.sub(_as_token, clean(content)))  # noqa: S308 - cleaned by the allow-list


def words_in(content: str) -> int:
    """Words, and Chinese characters, each as one."""
    return sum(1 for _found in _WORD.finditer(to_text(content)))


def _as_link(found: re.Match[str]) -> str:
    address, words = _picture(found)
    return str(format_html('<a class="far-image" href="{}" rel="noopener noreferrer">{}</a>', address, words))


def _as_token(found: re.Match[str]) -> str:
    markup = '<a class="far-image" contenteditable="false" data-src="{}" title="{}">{}</a>'
    address, words = _picture(found)
    return str(format_html(markup, address, address, words))


def _picture(found: re.Match[str]) -> tuple[str, str]:
    """Its address, and what it shows."""
    parts = {name: unescape(value) for name, value in _ATTRIBUTE.findall(found[1])}
    return parts.get("src", ""), parts.get("alt") or _("picture")
