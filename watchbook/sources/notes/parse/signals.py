"""Is this an answer or a refusal, and of which kind? Every way in which the platform says no, in one table."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit


class PlatformRefusal(Exception):
    """The platform answered, and the answer is no."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason} {detail}".strip())
        self.reason = reason
        self.detail = detail


LOGIN_DEAD = "login_dead"
ACCOUNT_RESTRICTED = "account_restricted"
CAPTCHA = "captcha"
IP_BLOCK = "ip_block"
SIGNATURE = "signature"
STALE_TOKEN = "stale_token"  # noqa: S105 - a word, not a token
NOTE_GONE = "note_gone"
WALLED = "walled"
BLOCKED = "blocked"
THROTTLED = "throttled"
EMPTY = "empty"
NOT_READABLE = "not_readable"
OTHER = "other"

BY_CODE = {
    -100: LOGIN_DEAD,
    -101: LOGIN_DEAD,
    300011: ACCOUNT_RESTRICTED,
    300012: IP_BLOCK,
    300013: IP_BLOCK,
    300015: SIGNATURE,
    300017: STALE_TOKEN,
    300031: STALE_TOKEN,
    -510000: NOTE_GONE,
    -510001: NOTE_GONE,
    10013: WALLED,
    -510: WALLED,
}
# Search answers 0, recommendations 1000.
GOOD_CODES = {0, 1000}
BY_WORDS = (
    ("登录已过期", LOGIN_DEAD),
    ("账号异常", ACCOUNT_RESTRICTED),
    ("笔记不存在", NOTE_GONE),
    ("违规", NOTE_GONE),
    ("仅作者可见", NOTE_GONE),
)
CAPTCHA_STATUSES = {461, 471}


def check_status(status: int, headers: dict[str, str], location: str = "") -> None:
    """What the head of an answer already tells; raises PlatformRefusal."""
    if status in CAPTCHA_STATUSES or "verifytype" in headers or "verifyuuid" in headers:
        raise PlatformRefusal(CAPTCHA, f"status {status}")
    if location:
        raise PlatformRefusal(_reason_of_redirect(location), f"status {status}")
    if status == 406:
        raise PlatformRefusal(SIGNATURE, "status 406")
    if status in {401, 403}:
        raise PlatformRefusal(BLOCKED, f"status {status}")
    if status == 429:
        raise PlatformRefusal(THROTTLED, "status 429")


def _reason_of_redirect(location: str) -> str:
    parts = urlsplit(location[:2048])
    query = parse_qs(parts.query, max_num_fields=50)
    if "captcha" in parts.path or "verifyBiz" in query:
        return CAPTCHA
    code = query.get("error_code", query.get("errorCode", [""]))[0]
    if code.lstrip("-").isdigit():
        return BY_CODE.get(int(code), OTHER)
    if parts.path.startswith("/login") or "website-login" in parts.path:
        return LOGIN_DEAD
    return NOTE_GONE if parts.path.startswith("/404") else OTHER


def check_envelope(document: Any) -> dict[str, Any]:
    """`data` of a good answer; raises PlatformRefusal for the rest."""
    if not isinstance(document, dict):
        raise PlatformRefusal(NOT_READABLE, "not an object")
    code, words = document.get("code"), str(document.get("msg") or "")[:200]
    if document.get("success") is True and (code in GOOD_CODES or code is None):
        data = document.get("data")
        if not isinstance(data, dict) or not data:
            raise PlatformRefusal(EMPTY)
        return data
    raise PlatformRefusal(reason_of(code, words), f"code {code if isinstance(code, int) else '?'}")


def reason_of(code: object, words: str = "") -> str:
    if isinstance(code, str) and code.lstrip("-").isdigit() and len(code) < 12:
        code = int(code)
    if isinstance(code, int) and code in BY_CODE:
        return BY_CODE[code]
    return next((reason for text, reason in BY_WORDS if text in words), OTHER)
