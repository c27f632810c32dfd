"""Takes a platform's cookies and tokens out of text, by the names they go by, on top of what the house masks.

The house's log already masks by name and by value. These names say nothing to it ("a1", "gid"), and the document wants
its own mark, so texts that are stored, answered or scanned pass through here as well.
"""

from __future__ import annotations

import re

from watchbook.base.logs import redact

MASK = "***REDACTED***"
# Cookies and tokens of the platform, and the field names under which programs pass a cookie on.
NAMES = (
    "web_session_sec", "web_session", "a1", "webId", "gid", "websectiga", "sec_poison_id", "acw_tc", "xsecappid",
    "id_token", "access_token", "xsec_token", "cookie_value", "cookie_string", "cookies", "cookie", "set-cookie",
)  # fmt: skip
_NAMED = "|".join(re.escape(name) for name in NAMES)
_QUOTED = r"\"(?:[^\"\\\n]|\\.){0,8000}\"|'(?:[^'\\\n]|\\.){0,8000}'"
_BARE = r"[^\s;,&\"'<>}\])]{1,8000}"
# A value that is already a mark, a placeholder or the name of a key is no secret.
_HARMLESS = r"(?!\*\*\*|\"\*\*\*|'\*\*\*|\{\{|\$|…|\"\"|'')"
FOUND = re.compile(rf"(?<![\w.-])({_NAMED})([\"']?\s{{0,3}}[:=]\s{{0,3}}){_HARMLESS}({_QUOTED}|{_BARE})", re.IGNORECASE)


# What the house masked already, in the document's own form.
_BY_THE_HOUSE = re.compile(rf"(?<![\w.-])({_NAMED})([\"']?)(\s{{0,3}}[:=]\s{{0,3}})\*\*\*(?!REDACTED)", re.IGNORECASE)


def redacted(text: str) -> str:
    """The text as it may be stored and answered."""
    masked = _BY_THE_HOUSE.sub(rf"\1\2\3\2{MASK}\2", redact.text(text))
    return FOUND.sub(_masked, masked)


def _masked(found: re.Match[str]) -> str:
    value = found[3]
    quote = value[0] if value[:1] in "\"'" else ""
    return f"{found[1]}{found[2]}{quote}{MASK}{quote}"
