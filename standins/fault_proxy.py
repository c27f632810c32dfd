"""A TCP proxy to put in front of Redis or PostgreSQL, whose wire can be cut, slowed, frozen or left half-open.

with FaultProxy("127.0.0.1:6379") as proxy:
    client = connect(proxy.port)
    proxy.cut()
    proxy.refuse()
    proxy.heal()
"""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self

from standins.control_server import ControlServer
from standins.ports import LoopbackPort
from standins.process import arguments, run
from standins.waitable_list import wait_until

Direction = Literal["up", "down"]
RESET = struct.pack("ii", 1, 0)


@dataclass
class Counts:
    """`up` is towards the service behind, `down` is back to the client."""

    connections: int = 0
    cuts: int = 0
    live: int = 0
    bytes: dict[Direction, int] = field(default_factory=lambda: {"up": 0, "down": 0})


class FaultProxy:
    """Runs its own event loop in a thread; every method may be called from any thread."""

    def __init__(self, upstream: str | tuple[str, int], *, host: str = "127.0.0.1", port: int = 0) -> None:
        self.upstream = _pair(upstream) if isinstance(upstream, str) else upstream
        self._reserved = LoopbackPort(host, port)
        self.host, self.port = host, self._reserved.port
        self.counts = Counts()
        self.changed = threading.Condition()
        self._writers: set[asyncio.StreamWriter] = set()
        self._delay = 0.0
        self._is_deaf = False
        self._budget: dict[Direction, int | None] = {"up": None, "down": None}
        self._server: asyncio.Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def netloc(self) -> str:
        return f"{self.host}:{self.port}"

    def cut(self) -> None:
        """Reset every connection there is; new ones are welcome."""
        self._do(self._cut())

    def refuse(self, *, cut: bool = True) -> None:
        """Nothing listens: new connections are refused; the old ones are reset as well unless set otherwise."""
        self._do(self._close_door())
        if cut:
            self.cut()

    def delay(self, seconds: float) -> None:
        """Every piece takes so much longer, in both directions."""
        self._delay = seconds

    def freeze(self) -> None:
        """Nothing passes, nothing is lost: it all arrives after `heal()`."""
        self._do(self._set_flow(False))

    def half_open(self) -> None:
        """Bytes vanish without an error, as with a peer that lost its power. `heal()` resets these connections."""
        self._is_deaf = True

    def cut_after(self, size: int, direction: Direction = "down") -> None:
        """Let the next `size` bytes in this direction pass, then reset the connection that carried the last."""
        self._budget[direction] = size

    def heal(self) -> None:
        """Everything in order again."""
        self._do(self._heal())

    def wait_for(self, predicate: Callable[[Counts], object], timeout: float = 5.0) -> None:
        wait_until(self.changed, lambda: predicate(self.counts), timeout)

    def start(self) -> Self:
        if self._thread is None:
            self._loop = asyncio.new_event_loop()
            self._flow = asyncio.Event()
            self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
            self._thread.start()
            self._do(self._heal())
        return self

    def close(self) -> None:
        if self._thread is not None:
            self._do(self._end())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(5)
            self._loop.close()
            self._thread = None
        self._reserved.release()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def actions(self) -> dict[str, Callable[..., Any]]:
        verbs = (self.cut, self.refuse, self.delay, self.freeze, self.half_open, self.cut_after, self.heal)
        return {verb.__name__: verb for verb in verbs}

    def ledger_json(self) -> object:
        with self.changed:
            return {"connections": self.counts.connections, "live": self.counts.live, "cuts": self.counts.cuts} | {
                f"bytes_{direction}": size for direction, size in self.counts.bytes.items()
            }

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _heal(self) -> None:
        if self._is_deaf:
            await self._cut()
        self._delay, self._is_deaf = 0.0, False
        self._budget = {"up": None, "down": None}
        self._flow.set()
        if self._server is None:
            self._server = await asyncio.start_server(self._serve, sock=self._reserved.listen())

    async def _end(self) -> None:
        await self._close_door()
        await self._cut()
        pending = asyncio.all_tasks() - {asyncio.current_task()}
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)

    async def _cut(self) -> None:
        for writer in list(self._writers):
            self._reset(writer)

    async def _close_door(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _set_flow(self, flows: bool) -> None:
        if flows:
            self._flow.set()
        else:
            self._flow.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._count(connections=1, live=1)
        mine = {writer}
        self._writers.add(writer)
        try:
            far_reader, far_writer = await asyncio.open_connection(*self.upstream)
            mine.add(far_writer)
            self._writers.add(far_writer)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pump(reader, far_writer, "up"))
                group.create_task(self._pump(far_reader, writer, "down"))
        except* OSError:
            pass  # either side may leave as it likes
        finally:
            for one in mine:
                one.close()
            self._writers -= mine
            self._count(live=-1)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, direction: Direction) -> None:
        while data := await reader.read(65536):
            if self._is_deaf:
                continue
            await self._flow.wait()
            if self._delay:
                await asyncio.sleep(self._delay)
            allowed = self._budget[direction]
            if allowed is not None:
                data = data[:allowed]
                self._budget[direction] = allowed - len(data)
            writer.write(data)
            await writer.drain()
            self._count(direction=direction, size=len(data))
            if self._budget[direction] == 0:
                self._budget[direction] = None
                self._reset(writer)
                raise ConnectionAbortedError("the bytes allowed have passed")
        await self._flow.wait()
        if not self._is_deaf and not writer.is_closing():
            writer.write_eof()

    def _reset(self, writer: asyncio.StreamWriter) -> None:
        sock = writer.get_extra_info("socket")
        if sock is not None and not writer.is_closing():
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            self._count(cuts=1)
        writer.transport.abort()

    def _count(
        self,
        *,
        connections: int = 0,
        live: int = 0,
        cuts: int = 0,
        direction: Direction = "up",
        size: int = 0,
    ) -> None:
        with self.changed:
            self.counts.connections += connections
            self.counts.live += live
            self.counts.cuts += cuts
            self.counts.bytes[direction] += size
            self.changed.notify_all()


def _pair(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host or "127.0.0.1", int(port)


def main(argv: list[str] | None = None) -> None:
    parser = arguments("proxy", __doc__)
    parser.add_argument("--upstream", required=True, help="host:port of what is behind")
    parser.add_argument("--control-port", type=int, default=0)
    given = parser.parse_args(argv)
    proxy = FaultProxy(given.upstream, host=given.host, port=given.port)
    desk = ControlServer(proxy, host=given.host, port=given.control_port)
    run({"proxy": proxy.netloc, "control": desk.url}, proxy, desk)


if __name__ == "__main__":
    main(sys.argv[1:])
