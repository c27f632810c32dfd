"""From what went wrong at the platform to the code of our answer, and whether the cookie is to blame."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.utils.translation import gettext_noop

from watchbook.base.web.answer import Answer
from watchbook.base.web.errors import Busy, Refused, TimedOut, Unreachable, WebError
from watchbook.sources.notes.errors import Trouble
from watchbook.sources.notes.parse import signals
from watchbook.sources.notes.parse.signals import PlatformRefusal
from watchbook.sources.notes.rules import COOL, COUNTED, DEAD, HEAVY, Code

# These close the platform for everybody: another cookie would only be burnt as well.
BREAKING = frozenset({signals.IP_BLOCK, signals.SIGNATURE})
# After one of these the same cookie asks no more, and no other one takes its place.
STOPPING = BREAKING | {signals.CAPTCHA, signals.LOGIN_DEAD, signals.ACCOUNT_RESTRICTED, signals.THROTTLED}
# After one of these a whole collection stops: the platform has noticed us.
HALTING = BREAKING | {signals.CAPTCHA, signals.THROTTLED}


@dataclass(frozen=True)
class Meaning:
    code: Code
    message: str
    charge: str = ""
    retryable: bool | None = None


MEANINGS: dict[str, Meaning] = {
    signals.LOGIN_DEAD: Meaning(
        Code.COOKIE_INVALID, gettext_noop("The platform does not know this login any more."), DEAD
    ),
    signals.ACCOUNT_RESTRICTED: Meaning(
        Code.COOKIE_INVALID, gettext_noop("The platform has restricted this account."), HEAVY
    ),
    signals.CAPTCHA: Meaning(
        Code.PLATFORM_ERROR, gettext_noop("The platform asks for a captcha. Nobody solves it."), COOL
    ),
    signals.IP_BLOCK: Meaning(Code.PLATFORM_ERROR, gettext_noop("The platform blocks requests from this address.")),
    signals.SIGNATURE: Meaning(Code.PLATFORM_ERROR, gettext_noop("The platform refused the signature of the request.")),
    signals.STALE_TOKEN: Meaning(
        Code.PLATFORM_ERROR, gettext_noop("The note's token is missing or too old. Search again."), retryable=False
    ),
    signals.NOTE_GONE: Meaning(Code.NOT_FOUND, gettext_noop("The note does not exist or is not public.")),
    signals.WALLED: Meaning(Code.PLATFORM_ERROR, gettext_noop("The platform does not show this on the web.")),
    signals.BLOCKED: Meaning(Code.PLATFORM_ERROR, gettext_noop("The platform did not let this request in."), COUNTED),
    signals.THROTTLED: Meaning(Code.RATE_LIMITED, gettext_noop("The platform asks for fewer requests."), COOL),
    signals.EMPTY: Meaning(Code.PLATFORM_ERROR, gettext_noop("The platform answered with nothing.")),
    signals.NOT_READABLE: Meaning(Code.PLATFORM_ERROR, gettext_noop("The platform's answer could not be read.")),
    signals.OTHER: Meaning(Code.PLATFORM_ERROR, gettext_noop("The platform refused the request.")),
}
ILL = Meaning(Code.PLATFORM_ERROR, gettext_noop("The platform has a problem of its own."))
SLOW = Meaning(Code.TIMEOUT_ERROR, gettext_noop("The platform did not answer in time."))
CUT_OFF = Meaning(Code.NETWORK_ERROR, gettext_noop("The platform could not be reached."))
WAITING = Meaning(Code.RATE_LIMITED, gettext_noop("The platform is being asked already, or wants a pause."))
NOT_ALLOWED = Meaning(Code.PLATFORM_ERROR, gettext_noop("The platform's address may not be asked."), retryable=False)


@contextmanager
def translated() -> Iterator[None]:
    """Around one question: whatever goes wrong leaves as Trouble."""
    try:
        yield
    except PlatformRefusal as refusal:
        raise trouble_of(refusal.reason) from refusal
    except WebError as error:
        raise _web_trouble(error) from error


def trouble_of(reason: str) -> Trouble:
    return _trouble(MEANINGS[reason], reason)


def check_answer(answer: Answer, *, may_be_missing: bool = False) -> None:
    """Raises PlatformRefusal or Trouble for a status that is no answer. A missing page may still carry its reason."""
    headers = {
        name: answer.headers.get(name, "") for name in ("verifytype", "verifyuuid") if answer.headers.get(name, "")
    }
    location = answer.headers.get("location", "") if 300 <= answer.status < 400 else ""
    signals.check_status(answer.status, headers, location)
    if answer.status >= 500 or answer.status == 408:
        raise _trouble(ILL, "server_trouble")
    if answer.status >= 400 and not (may_be_missing and answer.status in {404, 410}):
        raise PlatformRefusal(signals.OTHER, f"status {answer.status}")


def _web_trouble(error: WebError) -> Trouble:
    kinds: tuple[tuple[type[WebError], Meaning], ...] = (
        (TimedOut, SLOW),
        (Unreachable, CUT_OFF),
        (Busy, WAITING),
        (Refused, NOT_ALLOWED),
    )
    meaning = next((meaning for kind, meaning in kinds if isinstance(error, kind)), MEANINGS[signals.NOT_READABLE])
    return _trouble(meaning, error.code)


def _trouble(meaning: Meaning, reason: str) -> Trouble:
    return Trouble(
        meaning.code, meaning.message, reason=reason, retryable=meaning.retryable, charge=meaning.charge
    )  # fmt: skip
