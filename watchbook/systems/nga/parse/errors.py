"""Errors of parsing, the site's own error texts sorted into reasons, and notes about repaired responses.

Unreadable          the response proves nothing; what is stored stays as it is
├── Damaged         it is empty, cut off or cannot be decoded: request it again, then in another format
├── LayoutChanged   it is complete, but not in a known layout: the parser needs an update
└── Refused         the site returned an error message: `reason` says what it means
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass


def gettext_noop(message: str) -> str:
    """Mark a sentence for translation; it is translated when it is shown."""
    return message


SENTENCES = {
    "app_answer": gettext_noop("This is a response of the app interface with incomplete formatting."),
    "broken": gettext_noop("The response is not valid JSON and could not be repaired."),
    "busy": gettext_noop("The site is busy."),
    "cut": gettext_noop("The response is incomplete."),
    "empty_answer": gettext_noop("The response is empty."),
    "gone": gettext_noop("The topic no longer exists."),
    "guest": gettext_noop("The site asks guests to pass a check page first."),
    "hidden": gettext_noop("The topic is hidden."),
    "locked": gettext_noop("The topic is locked."),
    "login": gettext_noop("The site requires a login."),
    "missing_part": gettext_noop("The response lacks a required part."),
    "no_results": gettext_noop("The site returned no results."),
    "no_right": gettext_noop("This account may not read it."),
    "no_rows": gettext_noop("The page should have rows but has none."),
    "not_nga": gettext_noop("The response is neither a topic list nor a topic."),
    "past_end": gettext_noop("There is no such page."),
    "pending": gettext_noop("The topic is awaiting review."),
    "review_failed": gettext_noop("The topic did not pass review."),
    "too_deep": gettext_noop("The response is nested too deeply."),
    "too_large": gettext_noop("The response is too large."),
    "too_old": gettext_noop("This account may not read topics that are so old."),
    "unknown": gettext_noop("The site refused the request for an unknown reason."),
}

GONE = frozenset({"gone", "hidden"})
TEMPORARY = frozenset({"busy", "guest", "pending", "unknown"})

# The first text that is contained decides, so that longer and surer ones stand first.
TEXTS = (
    ("没有符合条件的结果", "no_results"),
    ("没有更多页", "past_end"),
    ("无此页", "past_end"),
    ("找不到主题", "gone"),
    ("被设为隐藏", "hidden"),
    ("等待审核", "pending"),
    ("审核未通过", "review_failed"),
    ("未通过审核", "review_failed"),
    ("帖子被删除", "gone"),
    ("主题被删除", "gone"),
    ("被锁定", "locked"),
    ("时间超过限制", "too_old"),
    ("访客不能直接访问", "guest"),
    ("权限不足", "no_right"),
    ("查看所需的", "no_right"),
    ("必须登录", "login"),
    ("未登录", "login"),
    ("服务器忙", "busy"),
    ("找不到内容", "past_end"),
    ("找不到用户", "no_results"),
    ("没找到", "no_results"),
    ("完毕", "no_results"),
)
# Asked only when no text is known. 2048 is not among them: it covers four different reasons.
CODES = {14: "gone", 15: "guest", 35: "past_end", 46: "guest", 51: "pending"}


def classify(message: str, site_code: int | None = None) -> str:
    """The reason behind a message of the site."""
    for text, reason in TEXTS:
        if text in message:
            return reason
    return CODES.get(site_code, "unknown") if site_code is not None else "unknown"


NOTE_SENTENCES = {
    "blanked_keywords": gettext_noop("%(count)d keyword fields are wrongly encoded and were skipped."),
    "board_rows": gettext_noop("%(count)d rows are boards, not topics; they were skipped."),
    "broken_rows": gettext_noop("%(count)d rows could not be read and were skipped."),
    "denied_rows": gettext_noop("%(count)d rows are placeholders for topics that this account may not see."),
    "gone_notes": gettext_noop("%(count)d comments are listed but not shown."),
    "literal_repairs": gettext_noop("The JSON was not valid and was repaired."),
    "mixed_encoding": gettext_noop("%(count)d parts use a different character encoding."),
    "not_closed": gettext_noop("The page is incomplete."),
    "repeated_rows": gettext_noop("%(count)d duplicate rows were skipped."),
    "rows_without_data": gettext_noop("%(count)d posts on the page have no data and were skipped."),
    "text_after_end": gettext_noop("Text after the end of the data was ignored."),
}

# After one of these nothing may be concluded from what is absent.
INCOMPLETE = frozenset({"broken_rows", "not_closed", "rows_without_data"})


@dataclass(frozen=True, slots=True)
class Note:
    code: str
    count: int

    @property
    def message(self) -> str:
        return NOTE_SENTENCES[self.code] % {"count": self.count}


class Notes:
    """Collects notes while an answer is read."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, code: str, count: int = 1) -> None:
        if code not in NOTE_SENTENCES:
            raise KeyError(code)
        if count:
            self._counts[code] += count

    def copy(self) -> Notes:
        other = Notes()
        other._counts.update(self._counts)
        return other

    def listed(self) -> tuple[Note, ...]:
        return tuple(Note(code, count) for code, count in sorted(self._counts.items()))


class Unreadable(Exception):
    """`code` is stable and meant for programs, the message for people."""

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(message or SENTENCES[code])
        self.code = code
        self.message = message or SENTENCES[code]


class Damaged(Unreadable):
    pass


class LayoutChanged(Unreadable):
    pass


class Refused(Unreadable):
    """`site_code` is the number that the site gave, if any; it alone means nothing (2048 covers four cases)."""

    def __init__(self, message: str, site_code: int | None = None) -> None:
        self.reason = classify(message, site_code)
        super().__init__(self.reason, message)
        self.site_code = site_code

    @property
    def is_gone(self) -> bool:
        """Only these may ever lead to a deletion, and only when they repeat."""
        return self.reason in GONE

    @property
    def is_temporary(self) -> bool:
        return self.reason in TEMPORARY
