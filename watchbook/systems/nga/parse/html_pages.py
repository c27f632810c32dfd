"""HTML pages: the rows of lists and topics in the shape of the JSON responses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from watchbook.systems.nga.parse import values
from watchbook.systems.nga.parse.errors import Damaged, LayoutChanged, Notes
from watchbook.systems.nga.parse.json_text import read_arguments, read_literal

# Characters that may be searched for the ends of elements, all together: a page that never closes any ends there.
_BUDGET = 20_000_000
# Lengths are bounded so that a page full of open brackets costs no more than a page of text.
_TAG = re.compile(
    r"<!--.{0,300}?-->"
    r"|<(?P<end>/)?(?P<name>[a-zA-Z][a-zA-Z0-9]{0,20})(?P<rest>(?:[^<>\"']|\"[^\"]{0,4000}\"|'[^']{0,4000}'){0,600}+)>",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"([a-zA-Z-]{1,40})\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
_PARSED = re.compile(r"\s{0,9}parse(?:Int|Float)\s{0,9}\(")
_SCRIPT_END = re.compile(r"</script", re.IGNORECASE)
_VOID = frozenset({"br", "img", "hr", "input", "meta", "link"})
# A call without an end reaches to the end of its line or of the script, so that none is read twice.
_STRINGS_OR_NAMES = re.compile(
    r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+(?:"|\n|\\?\Z)'
    r"|'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+(?:'|\n|\\?\Z)"
    r"|/\*.*?(?:\*/|\Z)|//[^\n]*"
    r"|(?P<name>[A-Za-z_$][\w$.]{0,80})\s{0,9}(?P<mark>[(=])",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Element:
    name: str
    attributes: dict[str, str]
    start: int
    """Offset where its content begins."""


@dataclass
class Markup:
    """A page read once."""

    source: str
    by_id: dict[str, Element] = field(default_factory=dict)
    scripts: list[tuple[int, str]] = field(default_factory=list)
    title: str = ""
    is_closed: bool = False
    _budget: int = _BUDGET

    @classmethod
    def read(cls, source: str) -> Markup:
        page = cls(source)
        at = 0
        while (hit := _TAG.search(source, at)) is not None:
            at = page._take(hit)
        return page

    def _take(self, hit: re.Match[str]) -> int:
        name = (hit["name"] or "").lower()
        if hit["end"]:
            self.is_closed = self.is_closed or name == "html"
            return hit.end()
        if name == "script":
            end = _SCRIPT_END.search(self.source, hit.end())
            stop = end.start() if end else len(self.source)
            self.scripts.append((hit.end(), self.source[hit.end() : stop]))
            return stop
        if name == "title" and not self.title:
            self.title = self.source[hit.end() : hit.end() + 500].partition("<")[0]
        elif name and "id" in hit["rest"]:
            attributes = attributes_of(hit["rest"])
            if "id" in attributes:
                self.by_id.setdefault(attributes["id"], Element(name, attributes, hit.end()))
        return hit.end()

    def inner(self, name: str) -> str | None:
        """The exact source inside the element with this id; None when it is not there or has no end."""
        element = self.by_id.get(name)
        if element is None:
            return None
        depth, at = 1, element.start
        while self._budget > 0 and (hit := _TAG.search(self.source, at)) is not None:
            self._budget -= hit.end() - at
            at = hit.end()
            if (hit["name"] or "").lower() == element.name and element.name not in _VOID:
                depth += -1 if hit["end"] else 1
                if depth == 0:
                    return self.source[element.start : hit.start()]
        return None

    def calls(self, *names: str) -> Iterator[tuple[str, list[Any]]]:
        """Calls of these functions in order, with their arguments. Names inside of strings are text, not calls."""
        for _, script in self.scripts:
            for hit in _STRINGS_OR_NAMES.finditer(script):
                if hit["mark"] == "(" and hit["name"] in names:
                    yield hit["name"], _arguments(script, hit.end())

    def variable(self, name: str) -> Any:
        """The value that scripts give to a variable; None when they do not."""
        for _, script in self.scripts:
            for hit in _STRINGS_OR_NAMES.finditer(script):
                if hit["mark"] == "=" and hit["name"] == name and not script.startswith("=", hit.end()):
                    return _value(script, hit.end())
        return None


def attributes_of(rest: str) -> dict[str, str]:
    return {hit[1].lower(): hit[2] or hit[3] or hit[4] or "" for hit in _ATTRIBUTE.finditer(rest)}


def _value(script: str, start: int) -> Any:
    """A literal, or the first argument of `parseInt('5',10)`."""
    called = _PARSED.match(script, start)
    if called:
        return next(iter(_arguments(script, called.end())), None)
    try:
        return read_literal(script + ";", start)[0]
    except Damaged:
        return None


def _arguments(script: str, start: int) -> list[Any]:
    try:
        return read_arguments(script, start)
    except Damaged:
        return []


ADD = "commonui.topicArg.add"
_LIST_ROW = re.compile(r"t_[a-z]{2}1_(\d{1,5})", re.ASCII)
_UID = re.compile(r"[?&;]uid=(-?\d{1,15})", re.ASCII)
_LIST_TAGS = re.compile(r"<[^<>]{0,2000}>")
# Name of the collection or sub-board behind a title.
_ADDED = re.compile(
    r"titleadd2[\"']?[^<>]{0,200}>\s{0,20}(?:<a\b[^<>]{0,2000}>)?\s{0,20}\[?([^<>\[\]]{1,100})", re.IGNORECASE
)


def list_data(page: Markup, notes: Notes) -> dict[str, Any]:
    """The page in the shape of the JSON form's `data`; pages do not say how many topics there are in all."""
    rows: dict[str, Any] = {}
    for _, call in page.calls(ADD):
        number = next((hit[1] for part in call[:7] if (hit := _LIST_ROW.search(values.raw_text(part)))), None)
        if number is None or len(call) < 16:
            notes.add("broken_rows")
            continue
        rows[number] = _row(page, number, call)
    notes.add("not_closed", 0 if page.is_closed else 1)
    pager = values.mapping(page.variable("__PAGE"))
    name = page.inner("currentForumName") or page.title.rpartition(" ")[0]
    return {
        "__T": rows,
        "__ROWS": None,
        "__F": {"fid": page.variable("__CURRENT_FID"), "name": _LIST_TAGS.sub("", name)},
        "pages": values.whole(pager.get("1")),
    }


def _row(page: Markup, number: str, call: list[Any]) -> dict[str, Any]:
    author = page.by_id.get(f"t_ta1_{number}")
    uid = _UID.search(author.attributes.get("href", "")) if author else None
    name = _LIST_TAGS.sub("", page.inner(f"t_ta1_{number}") or "")
    posted, written = call[12], values.whole(page.inner(f"t_pt1_{number}") or "")
    return {
        "tid": call[8],
        "fid": call[7],
        "quote_from": call[11],
        "subject": _LIST_TAGS.sub("", page.inner(f"t_tt1_{number}") or ""),
        "author": name,
        "authorid": uid[1] if uid else 0,
        "postdate": posted or written,
        "lastpost": call[13],
        "replies": call[14],
        "type": call[15],
        "topic_misc": call[16] if len(call) > 16 else "",
        "parent": {"2": _added(page, number)},
        # A placeholder for a topic that may not be seen has neither an author nor a time.
        "denied": not name.strip() and not values.whole(posted or written),
    }


def _added(page: Markup, number: str) -> str:
    """Between this row's title and its author."""
    title, author = page.by_id.get(f"t_tt1_{number}"), page.by_id.get(f"t_ta1_{number}")
    if not title:
        return ""
    end = author.start if author and author.start > title.start else title.start + 4000
    found = _ADDED.search(page.source, title.start, min(end, title.start + 8000))
    return found[1] if found else ""


PROC = "commonui.postArg.proc"
DEFAULTS = "commonui.postArg.setDefault"
USERS = "commonui.userInfo.setAll"
EDITS = "commonui.loadAlertInfo"
FILES = "ubbcode.attach.load"
# A page has 20 floors, each with a few calls, and the notes under them.
MOST_CALLS = 5_000

_ROW = re.compile(r"post1strow(\d{1,9})", re.ASCII)
_TAGS = re.compile(r"<[^<>]{0,2000}>")
_NUMBER_AT_END = re.compile(r"(\d{1,9})\)?\Z", re.ASCII)


def topic_data(page: Markup, notes: Notes) -> dict[str, Any]:
    """The page in the shape of the JSON form's `data`."""
    calls: dict[str, list[list[Any]]] = {name: [] for name in (PROC, DEFAULTS, USERS, EDITS, FILES)}
    for name, arguments in islice(page.calls(*calls), MOST_CALLS):
        calls[name].append(arguments)
    defaults = calls[DEFAULTS][0] if calls[DEFAULTS] else []
    if len(defaults) < 13:
        raise LayoutChanged("missing_part")
    edits = {_place(call[1]): call[0] for call in calls[EDITS] if len(call) > 1}
    files = {_place(call[1]): call[2] for call in calls[FILES] if len(call) > 2}
    rows = _rows(page, calls[PROC], edits, files)
    promised = {hit[1] for name in page.by_id if (hit := _ROW.fullmatch(name))}
    notes.add("rows_without_data", len(promised - rows.keys()))
    notes.add("not_closed", 0 if page.is_closed else 1)
    return {
        "__R": rows,
        "__U": _users(calls[USERS]),
        "__T": _topic(page, defaults),
        "__ROWS": values.whole(defaults[11], -1) + 1,
        "__PAGE": _page_number(page),
        "__GLOBAL": {"_ATTACH_BASE_VIEW": page.variable("__ATTACH_BASE_VIEW")},
    }


def _rows(page: Markup, procs: list[list[Any]], edits: dict[str, Any], files: dict[str, Any]) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for call in procs:
        # "_pid" is a note under its post, "__pid" a copy of a much-liked reply: both stand elsewhere as floors.
        number = values.whole(call[0], -1) if call else -1
        content = page.inner(f"postcontent{number}") if number >= 0 else None
        if content is None or len(call) < 15:
            continue
        rows[str(number)] = {
            "lou": number,
            "pid": call[10],
            "tid": call[9],
            "type": call[11],
            "authorid": call[13],
            "postdatetimestamp": call[14],
            "content": content.strip("\r\n"),
            "subject": _TAGS.sub("", page.inner(f"postsubject{number}") or ""),
            "alterinfo": edits.get(str(number), ""),
            "attachs": files.get(str(number), ""),
            "score": _good(call[15]) if len(call) > 15 else 0,
            "from_client": call[19] if len(call) > 19 else "",
        }
    return rows


def _good(votes: Any) -> str:
    """`recommended,good,bad`."""
    return values.raw_text(votes).partition(",")[2].partition(",")[0]


def _topic(page: Markup, defaults: list[Any]) -> dict[str, Any]:
    bits = values.whole(defaults[4])
    return {
        "fid": defaults[0],
        "tid": defaults[2] or page.variable("__CURRENT_TID"),
        "authorid": defaults[3],
        "subject": _TAGS.sub("", page.inner("currentTopicName") or page.title.rpartition(" ")[0]),
        "type": defaults[10],
        "replies": defaults[11],
        "lastpost": defaults[12],
        "topic_misc_var": {"1": bits} if bits else "",
        "post_misc_var": {"vote": defaults[8]},
    }


def _users(calls: list[list[Any]]) -> dict[str, Any]:
    return values.mapping(calls[0][0]) if calls and calls[0] else {}


def _page_number(page: Markup) -> int:
    """{0: address, 1: pages, 2: this page, 3: floors a page}; a topic of one page has none."""
    return values.whole(values.mapping(page.variable("__PAGE")).get("2"), 1)


def _place(element: Any) -> str:
    """`alertc7` or `$('postcontent7')`: the floor at the end of an element's name."""
    found = _NUMBER_AT_END.search(values.raw_text(element).rstrip("')\""))
    return str(int(found[1])) if found else ""
