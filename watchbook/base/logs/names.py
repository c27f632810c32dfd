"""Which names promise a secret: of fields, headers, settings, query keys."""

from __future__ import annotations

import re

# Telling wherever they stand in a word; short ones must be the whole word or its last part ("keyword" is none).
_TELLING = r"token|secret|passw|passphrase|session|signature|credential|cookie|authorization|csrf|api_?key|apikey"
_SHORT = r"key|keys|sig|auth|pwd|pass|pw|sid|otp"
# Bounded on both sides, so that a run of 100,000 letters costs linear time.
NAME = rf"(?:[\w.-]{{0,40}}(?:{_TELLING})[\w.-]{{0,40}}|(?:[\w.-]{{0,40}}[_.-])?(?:{_SHORT}))"
QUERY_NAME = rf"(?:{NAME}|code)"
HEADER = (
    r"(?:proxy-)?authorization|set-cookie2?|cookie2?|x-api-key|x-auth-token|x-csrf-?token|www-authenticate"
    r"|webhook-signature"
)

_WHOLE = re.compile(rf"{QUERY_NAME}\Z", re.IGNORECASE)


def hides(name: object) -> bool:
    """Does a field of this name hold a secret?"""
    return _WHOLE.match(str(name)[-80:]) is not None
