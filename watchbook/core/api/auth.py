"""Who may call, and how often: a bearer token, or the session of a page (with its CSRF token).

An endpoint that says nothing needs `read` for GET and `write` for the rest. Others say so:

    @router.post("/jobs/{name}/run", auth=staff)        also the scope staff, and an operator
    router = Router(auth=scoped("tides"))               this scope instead of read and write
"""

from __future__ import annotations

from threading import Lock
from typing import Any

from django.http import HttpRequest
from ninja.security import HttpBearer
from ninja.utils import check_csrf

from watchbook.base import clock
from watchbook.core.accounts import access, tokens
from watchbook.core.accounts.models import ApiToken, User
from watchbook.core.api.errors import NotAllowed, NotSignedIn, TooMany
from watchbook.core.api.options import PER_MINUTE

SAFE = {"GET", "HEAD", "OPTIONS"}


class Gate(HttpBearer):
    """Sets `request.user` to whom the token belongs, so that an endpoint need not know how the user signed in."""

    # ninja's page of the documentation then sends the CSRF token along.
    csrf = True
    openapi_bearerFormat = "wb_…"

    def __init__(self, *scopes: str, staff_only: bool = False) -> None:
        super().__init__()
        self.scopes = scopes
        self.staff_only = staff_only

    def __call__(self, request: HttpRequest) -> User:
        given = request.headers.get("Authorization")
        # A header that is there decides alone: a wrong token must not fall back on a cookie.
        user = self.authenticate(request, given) if given is not None else self._session_user(request)
        if self.staff_only and not user.is_staff:
            raise NotAllowed
        return user

    def authenticate(self, request: HttpRequest, token: str) -> User:
        scheme, _, plain = token.partition(" ")
        found = tokens.find(plain.strip()) if scheme.lower() == "bearer" else None
        if found is None:
            raise NotSignedIn(headers={"WWW-Authenticate": "Bearer"})
        enforce_rate_limit(found.prefix)
        self._check_scopes(request, found)
        request.user = found.user
        request.api_token = found  # type: ignore[attr-defined]
        return found.user

    def _check_scopes(self, request: HttpRequest, token: ApiToken) -> None:
        own = ("read",) if request.method in SAFE else ("write",)
        needed = self.scopes or own
        if self.staff_only:
            needed = (*own, *self.scopes, "staff")
        if not tokens.may_use(token, *needed):
            raise NotAllowed(details={"scopes": sorted(needed)})

    def _session_user(self, request: HttpRequest) -> User:
        user: Any = request.user
        if not user.is_authenticated:
            raise NotSignedIn(headers={"WWW-Authenticate": "Bearer"})
        if request.method not in SAFE and check_csrf(request) is not None:
            raise NotAllowed("The CSRF token is missing or wrong.", code="csrf")
        enforce_rate_limit(f"user:{user.pk}")
        return user  # type: ignore[no-any-return]


members = Gate()
staff = Gate(staff_only=True)


def is_staff_call(request: HttpRequest) -> bool:
    """May this caller see what only operators see? A token says so by its scope, a session by its person."""
    token: ApiToken | None = getattr(request, "api_token", None)
    return bool(getattr(request.user, "is_staff", False)) and (token is None or tokens.may_use(token, "staff"))


def scoped(*scopes: str) -> Gate:
    """A gate whose tokens need exactly these scopes, whatever the method."""
    return Gate(*scopes)


MINUTE = 60
HANDFULS_PER_MINUTE = 20
MOST_CALLERS_HELD = 10_000

_lock = Lock()
_hand: dict[str, tuple[int, int]] = {}


def enforce_rate_limit(caller: str) -> None:
    """Raise TooMany when the caller has used up this minute.

    A process takes several requests together from the count that all share, so that not every request costs a write.
    """
    most = PER_MINUTE.value
    window = int(clock.now().timestamp()) // MINUTE
    if _take_from_hand(caller, window):
        return
    handful = max(1, most // HANDFULS_PER_MINUTE)
    total = access.count_use("api", caller, seconds=MINUTE, by=handful)
    granted = min(handful, most - (total - handful))
    if granted <= 0:
        raise TooMany(headers={"Retry-After": str(access.seconds_left(MINUTE))})
    _put_into_hand(caller, window, granted - 1)


def _take_from_hand(caller: str, window: int) -> bool:
    with _lock:
        held_window, held = _hand.get(caller, (0, 0))
        if held_window != window or held <= 0:
            return False
        _hand[caller] = (window, held - 1)
        return True


def _put_into_hand(caller: str, window: int, count: int) -> None:
    with _lock:
        if len(_hand) >= MOST_CALLERS_HELD:
            _hand.clear()
        held_window, held = _hand.get(caller, (0, 0))
        _hand[caller] = (window, count + (held if held_window == window else 0))


def forget_all() -> None:
    """For tests: empty hands."""
    with _lock:
        _hand.clear()
