"""The last step: an allow-list over the finished HTML, whatever the renderer did."""

from __future__ import annotations

import nh3

from watchbook.sources.nga.parse.bbcode.tags import CLASSES

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
    link_rel="noopener noreferrer nofollow",
)


def clean(html: str) -> str:
    return _CLEANER.clean(html)
