"""An answer of the forum, in whichever form it came: list, topic, or a refusal in the site's own words."""

from __future__ import annotations

import re
from typing import Any

from watchbook.sources.nga.parse import listing, listing_html, topic_html, values
from watchbook.sources.nga.parse.decode import decode
from watchbook.sources.nga.parse.entities import lines
from watchbook.sources.nga.parse.errors import LayoutChanged, Refused
from watchbook.sources.nga.parse.markup import Markup
from watchbook.sources.nga.parse.notes import Notes
from watchbook.sources.nga.parse.payload import is_json, read_payload
from watchbook.sources.nga.parse.records import SITE, ListPage, TopicPage

_CODE = re.compile(r"<!--\s{0,9}msgcodestart\s{0,9}-->\s{0,99}(\d{1,9})")
_MESSAGE = re.compile(r"<!--\s{0,9}msginfostart\s{0,9}-->(.{0,4000}?)<!--\s{0,9}msginfoend", re.DOTALL)
_TAGS = re.compile(r"<[^<>]{0,2000}>")
_SUFFIX = "NGA玩家社区"


def read_answer(body: bytes, *, content_type: str = "", page: int = 1, site: str = SITE) -> ListPage | TopicPage:
    """Raises Refused, Damaged or LayoutChanged. `page` is the page that was asked, `site` the origin it came from."""
    notes = Notes()
    text = decode(body, content_type, notes)
    if is_json(text):
        try:
            return _from_json(text, notes.copy(), page=page, site=site, keeps_spelling=False)
        except values.SpellingLost:
            return _from_json(text, notes, page=page, site=site, keeps_spelling=True)
    return _from_html(text, notes, page=page, site=site)


def read_list(body: bytes, *, content_type: str = "", page: int = 1, site: str = SITE) -> ListPage:
    found = read_answer(body, content_type=content_type, page=page, site=site)
    if isinstance(found, ListPage):
        return found
    raise LayoutChanged("not_nga")


def read_topic(body: bytes, *, content_type: str = "", site: str = SITE) -> TopicPage:
    found = read_answer(body, content_type=content_type, site=site)
    if isinstance(found, TopicPage):
        return found
    raise LayoutChanged("not_nga")


def _from_json(text: str, notes: Notes, *, page: int, site: str, keeps_spelling: bool) -> ListPage | TopicPage:
    try:
        data = read_payload(text, notes, keeps_spelling=keeps_spelling)
    except Refused as refusal:
        if refusal.reason == "no_results" and "没有符合条件的结果" in refusal.message:
            # The end of a list, or a search without hits: empty, but no refusal.
            return ListPage(0, "", (), 0, 1, notes=notes.listed())
        raise
    if "__R" in data or "tid" in values.mapping(data.get("__T")):
        return _topic_page(data, notes, site)
    return listing.list_page(data, notes, page=page)


def _from_html(text: str, notes: Notes, *, page: int, site: str) -> ListPage | TopicPage:
    markup = Markup.read(text)
    if any(True for _ in markup.calls(topic_html.PROC, topic_html.DEFAULTS)):
        return _topic_page(topic_html.topic_data(markup, notes), notes, site)
    if any(True for _ in markup.calls(listing_html.ADD)):
        return listing.list_page(listing_html.list_data(markup, notes), notes, page=page)
    raise _refusal(text, markup)


def _topic_page(data: dict[str, Any], notes: Notes, site: str) -> TopicPage:
    # Brings the renderer and the HTML cleaner, which a list does not need.
    from watchbook.sources.nga.parse.topic import topic_page

    return topic_page(data, notes, site=site)


def _refusal(text: str, markup: Markup) -> Refused | LayoutChanged:
    code, message = _CODE.search(text), _MESSAGE.search(text)
    title = values.text(markup.title)
    said = values.text(_TAGS.sub(" ", lines(message[1]))) if message else ""
    if code or message:
        # The title repeats the message on some pages and says more on others.
        words = title if title and Refused(said).reason == "unknown" else said
        return Refused(words[:500] or said[:500], int(code[1]) if code else None)
    if "topicrows" in markup.by_id or "m_posts" in markup.by_id:
        return LayoutChanged("no_rows")
    if title and not title.endswith(_SUFFIX) and Refused(title).reason != "unknown":
        return Refused(title[:500])
    return LayoutChanged("not_nga")
