"""Why there is nothing to read: the site's own texts sorted into reasons, and a sentence for each."""

from __future__ import annotations


def gettext_noop(message: str) -> str:
    """Marks a sentence for the translators' tools; whoever shows it translates it."""
    return message


SENTENCES = {
    "app_answer": gettext_noop("This is an answer of the app interface, whose text is half rendered."),
    "broken": gettext_noop("The answer is not JSON, even after every known repair."),
    "busy": gettext_noop("The site is busy."),
    "cut": gettext_noop("The answer breaks off before its end."),
    "empty_answer": gettext_noop("The answer is empty."),
    "gone": gettext_noop("The topic does not exist any more."),
    "guest": gettext_noop("The site wants guests to pass its gate first."),
    "hidden": gettext_noop("The topic is hidden."),
    "locked": gettext_noop("The topic is locked."),
    "login": gettext_noop("The site wants a login."),
    "missing_part": gettext_noop("A part that is always there is missing from the answer."),
    "no_results": gettext_noop("The site found nothing."),
    "no_right": gettext_noop("This account may not read it."),
    "no_rows": gettext_noop("The page has no rows although it should have some."),
    "not_nga": gettext_noop("This is neither a list nor a topic of the forum."),
    "past_end": gettext_noop("There is no such page."),
    "pending": gettext_noop("The topic waits for review."),
    "review_failed": gettext_noop("The topic did not pass review."),
    "too_deep": gettext_noop("The answer is nested too deeply."),
    "too_large": gettext_noop("The answer is too large."),
    "too_old": gettext_noop("This account may not read topics that are so old."),
    "unknown": gettext_noop("The site refused for a reason that is not known."),
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
