"""Redirects to anything: inwards, to themselves, too often, too long, with a smuggled header line."""

from __future__ import annotations

from typing import Self

from standins.faults.treatment import Verbs
from standins.messages import Answer
from standins.wire import Exchange

HOP = "standin-hop"

INWARD_ADDRESSES = (
    "http://127.0.0.1/",
    "http://localhost:8000/admin/",
    "http://0.0.0.0/",
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://192.168.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://100.64.0.1/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[fd00::1]/",
    "http://2130706433/",
    "http://0x7f.1/",
    "//127.0.0.1/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_FLUSHALL",
)


class RedirectVerbs(Verbs):
    def redirect(self, to: str, status: int = 302) -> Self:
        """`to` is sent as it is: absolute, relative, empty, or with a line break that smuggles a header in."""
        return self._say(Answer.redirect(to, status))

    def redirect_with_smuggled_header(self, to: str = "/", header: str = "X-Smuggled: yes", status: int = 302) -> Self:
        return self.redirect(f"{to}\r\n{header}", status)

    def redirect_nowhere(self, status: int = 302) -> Self:
        """A redirect without a Location line."""
        return self._say(Answer(status))

    def redirect_far(self, length: int = 10_000, status: int = 302) -> Self:
        """A Location of so many characters on this very site."""
        return self.redirect("/" + "a" * (length - 1), status)

    def redirect_loop(self, status: int = 302) -> Self:
        """To itself, for ever."""
        return self.treat(lambda exchange: exchange.send(Answer.redirect(exchange.request.target, status)))

    def redirect_hops(self, hops: int, to: str | None = None, status: int = 302) -> Self:
        """So many redirects on the same path, then the ordinary answer (or one more redirect, to `to`)."""

        def treatment(exchange: Exchange) -> None:
            hop = int(exchange.request.params.get(HOP, 0))
            if hop < hops:
                exchange.send(Answer.redirect(f"{exchange.request.path}?{HOP}={hop + 1}", status))
            else:
                exchange.send(exchange.ordinary() if to is None else Answer.redirect(to, status))

        return self.treat(treatment)
