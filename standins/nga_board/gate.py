"""The guest gate: a first request gets a page whose script sets a cookie and comes back."""

from __future__ import annotations

import hashlib

from standins.messages import Answer, Request
from standins.nga_board.pages import message_page

SAID = "访客不能直接访问"


class Gate:
    """`open` lets everybody in, `ask` those who bring the script's cookie, `shut` only people with an account.

    `status` is what the gate page comes with (200 now and then). A pass is good for `good_for` requests, if that is
    set. `is_old` shows no token in the script: the time alone is the cookie.
    """

    def __init__(self) -> None:
        self.state = "open"
        self.status = 403
        self.good_for: int | None = None
        self.is_old = False
        self.shown = 0
        self._passes: dict[str, int] = {}

    def stop(self, request: Request, now: int) -> Answer | None:
        cookies = request.cookies
        if self.state == "open" or self._has_account(cookies):
            return None
        if self.state == "ask" and self._has_pass(cookies):
            return None
        return self._page(now)

    def _has_account(self, cookies: dict[str, str]) -> bool:
        return cookies.get("ngaPassportUid", "").isdigit() and bool(cookies.get("ngaPassportCid"))

    def _has_pass(self, cookies: dict[str, str]) -> bool:
        token = cookies.get("guestJs", "")
        if self.is_old:
            return token.isdigit()
        if token not in self._passes or not cookies.get("ngaPassportUid", "").startswith("guest0"):
            return False
        self._passes[token] += 1
        return self.good_for is None or self._passes[token] <= self.good_for

    def _page(self, now: int) -> Answer:
        self.shown += 1
        token = f"{now}_{hashlib.md5(str(self.shown).encode(), usedforsecurity=False).hexdigest()[:8]}"
        self._passes[token] = 0
        cookie = "guestJs='+Math.floor(Date.now()/1000)+'" if self.is_old else f"guestJs={token}"
        script = (
            f"<script>document.cookie='{cookie};path=/;max-age=1200';"
            "setTimeout(function(){location.search+='&rand='+Math.floor(100+Math.random()*900)},20)</script>"
        )
        return Answer(
            self.status,
            message_page(SAID, 15, script=script),
            (
                ("Set-Cookie", f"lastvisit={now}; path=/"),
                ("Set-Cookie", f"ngaPassportUid=guest0{self.shown:016x}; path=/"),
                ("X-NGA-CONTENT-TYPE", "short-message"),
            ),
            content_type="text/html; charset=GB18030",
        )
