"""The framework: a loopback HTTP/1.1 site that records every request and can script every byte of a response.

with Site() as site:
    site.route("/hello", lambda request: Answer.text("hi"))
    site.faults.on("/hello", nth=2).answer(503)
    site.log.wait_for(lambda log: log.count("/hello") == 3)
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

from standins import control
from standins.faults import Faults
from standins.messages import Answer, Request
from standins.request_log import RequestLog
from standins.tcp import Connection, TcpServer
from standins.wire import BadRequest, Exchange, head_of, read_request

__all__ = ["Answer", "Exchange", "Handler", "Request", "RequestLog", "Site"]

Handler = Callable[[Request], Answer]
TLS_HANDSHAKE = b"\x16"


class Site(TcpServer):
    """Give it routes, or subclass it and write `respond`.

    `tls` is a server-side SSLContext; with `also_plain` the same port answers plain HTTP as well.
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
        also_plain: bool = False,
    ) -> None:
        super().__init__(host=host, port=port)
        self.tls = tls
        self.also_plain = also_plain
        self.log = RequestLog()
        self.faults = Faults()
        self._routes: list[tuple[str, str | None, Handler]] = []

    @property
    def url(self) -> str:
        """The base address, without a slash at the end."""
        return f"{'https' if self.tls else 'http'}://{self.netloc}"

    def address(self, path: str) -> str:
        return self.url + path

    def route(self, path: str, handler: Handler, *, method: str | None = None) -> None:
        """`path` may hold * and ?; a later route goes before an earlier one."""
        self._routes.insert(0, (path, method, handler))

    def respond(self, request: Request) -> Answer:
        for path, method, handler in self._routes:
            if fnmatchcase(request.path, path) and method in (None, request.method):
                return handler(request)
        return Answer.text("There is nothing here.\n", 404)

    def actions(self) -> dict[str, Callable[..., Any]]:
        """What `POST /_standin/do/NAME` may call with the JSON object it brings."""
        return {}

    def ledger_json(self) -> object:
        """What the site truly holds, for `GET /_standin/ledger`."""
        return {}

    def serve(self, connection: Connection) -> None:
        mood = self.faults.pick_for_connection()
        if mood is not None and not mood(connection):
            return
        if self.tls is not None and not (self.also_plain and connection.peek() != TLS_HANDSHAKE):
            connection.start_tls(self.tls)
        while not connection.is_closed and self._answer_one(connection):
            pass

    def _answer_one(self, connection: Connection) -> bool:
        try:
            request = read_request(connection, self.log)
        except BadRequest as error:
            answer = Answer.text(f"{error}\n", 400)
            connection.send(head_of(answer) + answer.whole_body())
            return False
        if request is None:
            return False
        if request.path.startswith(control.PREFIX):
            Exchange(request, connection, self.log, self.respond).send(control.respond(self, request))
        else:
            self._play(Exchange(request, connection, self.log, self.respond))
        asked_to_close = request.headers.get("Connection").lower() == "close"
        return not asked_to_close and request.version != "HTTP/1.0"

    def _play(self, exchange: Exchange) -> None:
        self.log.begin(exchange.request)
        try:
            treatment = self.faults.pick(exchange.request)
            if treatment is None:
                exchange.send(exchange.ordinary())
            else:
                treatment(exchange)
        finally:
            exchange.finish()
