"""The guest gate: a page whose script sets a cookie and asks again. Passed as a browser does, and never in a loop."""

from __future__ import annotations

import random
import re
from urllib.parse import urlsplit

from watchbook.base import clock
from watchbook.base.logs import redact
from watchbook.base.web.answer import Answer
from watchbook.base.web.cookies import CookieJar
from watchbook.sources.nga import options
from watchbook.sources.nga.errors import GateShut

# A pass lasts some ten minutes. A gate that is back after fewer pages than this did not really open.
PAGES_A_PASS_IS_GOOD_FOR = 5

_GUEST = re.compile(rb"guestJs\s{0,9}=\s{0,9}(\d{5,12}(?:_[A-Za-z0-9]{1,64})?)")
_COOKIE = re.compile(r"\s*([^=;\s]+)\s*=\s*([^;]*?)\s*(?:;|\Z)")


class Gate:
    """Holds the cookies of one run: the operator's, and those that the site sets."""

    def __init__(self) -> None:
        self.jar = CookieJar()
        redact.remember(options.COOKIE.value)
        self.jar.put(urlsplit(options.BASE_URL.value).hostname or "", dict(_COOKIE.findall(options.COOKIE.value)))
        self._pages_since: int | None = None

    def pass_through(self, answer: Answer) -> str:
        """What to add to the address when asking again. Raises GateShut when the gate did not stay open."""
        if self._pages_since is not None and self._pages_since < PAGES_A_PASS_IS_GOOD_FOR:
            raise GateShut(answer=answer)
        self._pages_since = 0
        found = _GUEST.search(answer.body)
        # The older form of the cookie is the time alone.
        token = found[1].decode("ascii") if found else str(int(clock.now().timestamp()))
        redact.remember(options.COOKIE.value)
        self.jar.put(urlsplit(answer.url).hostname or "", {"guestJs": token})
        return f"&rand={random.randint(100, 999)}"

    def was_useful(self) -> None:
        if self._pages_since is not None:
            self._pages_since += 1
