"""The last step: an allow-list over the finished HTML, whatever the renderer did."""

from __future__ import annotations

import re

import nh3

from watchbook.base.text import clean_text
from watchbook.sources.nga.parse.bbcode.tags import CLASSES, REL

_ALLOWED = "a b i u del sup sub span br blockquote details summary ul ol li h4 div table tbody tr td pre code img"
TAGS = frozenset(_ALLOWED.split())
ATTRIBUTES = {
    "a": {"href", "data-pid", "data-tid"},
    "img": {"src", "alt", "title", "loading", "referrerpolicy"},
    "td": {"colspan", "rowspan"},
}
_CLASSED = {tag: set(CLASSES) for tag in ("span", "div", "img", "pre", "ul")}


# Made once: building the lists costs as much as cleaning a post.
_CLEANER = nh3.Cleaner(
    tags=set(TAGS),
    attributes=ATTRIBUTES,
    allowed_classes=_CLASSED,
    url_schemes={"http", "https"},
    link_rel=REL.split('"')[1],
)

# Most posts are text and line breaks, with a few words marked, a link, a smiley, a quote. What is made of nothing but
# these, letter for letter and nested no deeper than here, is what the cleaner would give back; a test holds the two
# together. Reading it here takes a fifth of the cleaner's time. Of addresses only those are known that every parser
# takes for one: the host ends with a word, and no label of it is coded.
_WORDS = r"(?:[^<>&\x00-\x08\x0b-\x1f\x7f-\xa0\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]++|&(?:amp|lt|gt);|<br>)*+"
_HOST = r"https?://(?:[a-z0-9]{1,60}[.-]){1,9}[a-z]{2,20}/"
_LINK = (
    rf'<a href="{_HOST}(?:[A-Za-z0-9._/?=,-]|&amp;){{0,500}}+"(?: data-pid="\d{{1,15}}")?(?: data-tid="\d{{1,15}}")?'
    rf"{REL}>{_WORDS}</a>"
)
_ALT = r'[^"<>&\x00-\x1f\x7f-\xa0\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]'
_IMAGE = (
    rf'<img(?: class="bb-smiley")? src="{_HOST}[A-Za-z0-9._/-]{{0,500}}" alt="{_ALT}{{0,100}}"'
    r' loading="lazy" referrerpolicy="no-referrer">'
)


# No groups that are numbered: the re of Python 3.11 stumbles over those inside of possessive repeats.
def _among_words(*others: str) -> str:
    return rf"(?:{_WORDS}(?:{'|'.join(others)})?+)*+{_WORDS}"


_MARKED = [f"<{tag}>{_among_words(_LINK)}</{tag}>" for tag in ("b", "i", "u", "del", "sup", "sub")]
_FLAT = (*_MARKED, _LINK, _IMAGE)
_BLOCKS = (
    f"<blockquote>{_among_words(*_FLAT)}</blockquote>",
    f"<details><summary>{_WORDS}</summary>{_among_words(*_FLAT)}</details>",
)
_PLAIN = re.compile(
    rf"(?:<h4>{_WORDS}</h4>)?+{_among_words(*_FLAT, *_BLOCKS)}"
    rf'(?:<ul class="bb-files">(?:<li>(?:{_LINK}|{_IMAGE})</li>){{1,200}}+</ul>)?+'
)


def clean(html: str) -> str:
    """HTML that may stand in a page and in any database's column."""
    return html if is_plain(html) else _CLEANER.clean(clean_text(html))


def is_plain(html: str) -> bool:
    """Nothing in it that the cleaner would change or no database would take."""
    return _PLAIN.fullmatch(html) is not None
