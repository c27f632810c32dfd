"""Reads a response in any of its formats: a list, a topic, or a refusal in the site's own words.

Topic lists in JSON: rows of a board page to records.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from watchbook.systems.nga.parse import html_pages, values
from watchbook.systems.nga.parse.errors import Damaged, LayoutChanged, Notes, Refused
from watchbook.systems.nga.parse.html_pages import Markup
from watchbook.systems.nga.parse.json_text import is_json, read_literal, read_payload
from watchbook.systems.nga.parse.records import SITE, TOPICS_PER_PAGE, ListPage, TopicPage, TopicRecord
from watchbook.systems.nga.parse.values import author_of_row, lines

LARGEST = 32_000_000

_DECLARED = re.compile(r"charset\s*=\s*[\"']?([\w-]{1,40})", re.IGNORECASE)
# The source names its encoding inside the answer too: JSON by `encode`, pages by a meta tag or a script variable.
_INSIDE = re.compile(
    rb"""(?:"encode"\s{0,9}:\s{0,9}"|charset\s{0,9}=\s{0,9}["']?|__CHARSET\s{0,9}=\s{0,9}["'])([\w-]{1,40})""",
    re.IGNORECASE,
)
_STRING = rb'"(?:[^"\\]|\\.)*+"'
_JDATA = re.compile(rb'"jdata"\s{0,9}:\s{0,9}' + _STRING + rb"(?=\s{0,9}[,}\]])", re.DOTALL)
_TJ = re.compile(rb'"__TJ"\s{0,9}:\s{0,9}(?=\{)')
_BRACE = re.compile(_STRING + rb"|[{}]", re.DOTALL)
_QUOTE = re.compile(rb"([\"<>\n]+)")


def decode(body: bytes, content_type: str, notes: Notes) -> str:
    """The text of a body."""
    if not body.strip():
        raise Damaged("empty_answer")
    if len(body) > LARGEST:
        raise Damaged("too_large")
    if body.startswith(b"\xef\xbb\xbf"):
        return body.decode("utf-8-sig", "replace")
    if _is_utf8(body, _declared(body, content_type)):
        return body.decode("utf-8")
    try:
        # Means the same wherever it can be read, and is read faster.
        return body.decode("gbk")
    except UnicodeDecodeError:
        pass
    try:
        return body.decode("gb18030")
    except UnicodeDecodeError:
        rest = _without_keywords(body, notes)
    try:
        return rest.decode("gb18030")
    except UnicodeDecodeError:
        return _piece_by_piece(rest, notes)


def _declared(body: bytes, content_type: str) -> str:
    said = _DECLARED.search(content_type)
    inside = None if said else _INSIDE.search(body[:4096]) or _INSIDE.search(body[-4096:])
    return said[1].lower() if said else inside[1].decode("ascii", "ignore").lower() if inside else ""


def _is_utf8(body: bytes, declared: str) -> bool:
    if declared.startswith("gb"):
        return False
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    # Two GBK characters can look like two-byte UTF-8; real Chinese in UTF-8 has three bytes a character.
    return declared.replace("-", "") == "utf8" or text.isascii() or max(text) >= "\u0800"


def _without_keywords(body: bytes, notes: Notes) -> bytes:
    """The fields `jdata` and `__TJ` hold internal keywords, now and then in UTF-8 inside a GBK body."""
    body, blanked = _JDATA.subn(b'"jdata":""', body)
    pieces, last = [], 0
    for hit in _TJ.finditer(body):
        if hit.start() < last:
            continue
        end = _closing_brace(body, hit.end())
        if not end:
            break
        pieces += [body[last : hit.start()], b'"__TJ":{}']
        last, blanked = end, blanked + 1
    notes.add("blanked_keywords", blanked)
    return b"".join([*pieces, body[last:]])


def _closing_brace(body: bytes, start: int) -> int:
    depth = 0
    # Keywords are short; a limit keeps a hostile body from making this quadratic.
    for token in _BRACE.finditer(body, start, start + 20_000):
        depth += {b"{": 1, b"}": -1}.get(token[0], 0)
        if depth == 0:
            return token.end()
    return 0


def _piece_by_piece(body: bytes, notes: Notes) -> str:
    """No second byte of a GBK character is a quote or an angle bracket, so pieces between them are safe to cut out."""
    found = []
    for piece in _QUOTE.split(body):
        is_other = not piece.isascii() and _is_utf8(piece, "")
        notes.add("mixed_encoding", int(is_other))
        found.append(piece.decode("utf-8") if is_other else piece.decode("gb18030", "replace"))
    return "".join(found)


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
    return list_page(data, notes, page=page)


def _from_html(text: str, notes: Notes, *, page: int, site: str) -> ListPage | TopicPage:
    markup = Markup.read(text)
    if any(True for _ in markup.calls(html_pages.PROC, html_pages.DEFAULTS)):
        return _topic_page(html_pages.topic_data(markup, notes), notes, site)
    if any(True for _ in markup.calls(html_pages.ADD)):
        return list_page(html_pages.list_data(markup, notes), notes, page=page)
    raise _refusal(text, markup)


def _topic_page(data: dict[str, Any], notes: Notes, site: str) -> TopicPage:
    # Brings the renderer and the HTML cleaner, which a list does not need.
    from watchbook.systems.nga.parse.topic import topic_page

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


PINNED = 10
VIEWS = ("views", "view", "hits", "viewnum", "view_count")


def list_page(data: dict[str, Any], notes: Notes, *, page: int = 1) -> ListPage:
    """`page` is what was asked: only the first page has pinned topics."""
    if "__ROWS" not in data:
        # It is the last key but a few: a body that was cut and closed again lacks it.
        raise LayoutChanged("missing_part")
    rows = list(values.rows_in_order(data.get("__T")))
    total = values.whole(data.get("__ROWS"), -1)
    page_count = values.whole(data.get("pages")) or None if total < 0 else max(1, -(-total // TOPICS_PER_PAGE))
    # A board has topics: an empty first page proves nothing. Where a list has ended, the site says so in words.
    if not rows and (page_count is None or page == 1 or (total and page <= page_count)):
        raise LayoutChanged("no_rows")
    reader = _Rows(notes, is_first=page == 1)
    topics = tuple(topic for row in rows if (topic := reader.read(row)))
    board = values.mapping(data.get("__F"))
    return ListPage(
        fid=values.whole(board.get("fid")),
        forum_name=values.text(board.get("name")),
        topics=topics,
        total_topics=None if total < 0 else total,
        page_count=page_count,
        denied_count=reader.denied,
        notes=notes.listed(),
    )


def is_denied(row: Mapping[str, Any]) -> bool:
    """A placeholder for a topic that this account may not see; its ids may be bogus and its title an error."""
    given = row.get("denied")
    # A fraction, whatever it is, is not written as 0.
    return isinstance(given, float) or (bool(given) and str(given) != "0")


class _Rows:
    def __init__(self, notes: Notes, *, is_first: bool) -> None:
        self.notes = notes
        self.in_pins = is_first
        self.denied = 0

    def read(self, row: Mapping[str, Any]) -> TopicRecord | None:
        # Pinned topics are the leading run; a block of recommended ones with the same mark stands at the end.
        self.in_pins = self.in_pins and values.whole(row.get("recommend")) == PINNED
        if is_denied(row):
            self.denied += 1
            self.notes.add("denied_rows")
            return None
        tid, stands_for = values.whole(row.get("tid")), values.whole(row.get("quote_from"))
        type_bits = values.whole(row.get("type"))
        if type_bits & values.BOARD and not stands_for:
            self.notes.add("board_rows")
            return None
        if tid <= 0 and stands_for <= 0:
            self.notes.add("broken_rows")
            return None
        return self._record(row, tid=tid, real=stands_for if stands_for > 0 else tid, type_bits=type_bits)

    def _record(self, row: Mapping[str, Any], *, tid: int, real: int, type_bits: int) -> TopicRecord:
        name, uid = author_of_row(row.get("author"), row.get("authorid"))
        reply = values.mapping(row.get("__P"))
        return TopicRecord(
            tid=real,
            row_tid=tid,
            fid=values.whole(row.get("fid")),
            title=values.text(row.get("subject")),
            author_name=name,
            author_source_user_id=None if type_bits & values.ANONYMOUS else uid,
            thread_created_at=values.moment(row.get("postdate")),
            last_reply_at=values.moment(row.get("lastpost")),
            reply_count_display=max(0, values.whole(row.get("replies"))),
            is_pinned=self.in_pins if "recommend" in row else None,
            is_digest=bool(values.whole(row["digest"])) if "digest" in row else None,
            type_bits=type_bits,
            display_bits=values.unpack(row).get(1, 0),
            last_modified_at=values.moment(row.get("lastmodify")),
            view_count_display=_views(row),
            topic_tag=_parent_name(row.get("parent")),
            reply_post_id=values.whole(reply.get("pid")) or None,
            replied_at=values.moment(reply.get("postdate")),
        )


def _views(row: Mapping[str, Any]) -> int | None:
    """Return how often a topic was viewed, where the list says so. Boards and formats name it differently."""
    found = next((row[key] for key in VIEWS if row.get(key) not in (None, "")), None)
    return None if found is None else max(0, values.whole(found))


def _parent_name(parent: Any) -> str:
    """{0: board, 1: collection, 2: name}; empty in the board itself, and at times JSON inside a text."""
    if isinstance(parent, str) and parent.lstrip().startswith(("{", "[")):
        try:
            parent, _ = read_literal(parent)
        except Damaged:
            return ""
    return values.text(values.mapping(parent).get("2"))
