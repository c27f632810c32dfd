"""A threaded TCP server on loopback: one thread per connection, with faults on the connection."""

from __future__ import annotations

import select
import socket
import ssl
import struct
import threading
import time
from types import TracebackType
from typing import Self

from standins.ports import LoopbackPort

IDLE_SECONDS = 60.0
LONGEST_LINE = 4 * 1024 * 1024
# Linux reports a peer that left even while unread bytes lie in the buffer; elsewhere only a dead socket shows.
GONE = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR
CLIENT_LEFT = (ConnectionError, TimeoutError, ssl.SSLError, EOFError)


class Connection:
    """One accepted socket with its own read buffer."""

    def __init__(self, sock: socket.socket, number: int, remote_port: int, stopping: socket.socket) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(IDLE_SECONDS)
        self.socket = sock
        self.number = number
        self.remote_port = remote_port
        self.is_closed = False
        self._stopping = stopping
        self._buffer = bytearray()

    def start_tls(self, context: ssl.SSLContext) -> None:
        self._buffer.clear()
        self.socket = context.wrap_socket(self.socket, server_side=True)

    @property
    def is_encrypted(self) -> bool:
        return isinstance(self.socket, ssl.SSLSocket)

    def peek(self) -> bytes:
        """The first byte the client sent, left where it is; empty when it left without a word."""
        return self.socket.recv(1, socket.MSG_PEEK)

    def read_line(self) -> bytes:
        """One line with its end, or whatever came before the client left."""
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > LONGEST_LINE:
                raise ConnectionAbortedError("the line has no end")
            if not self._fill():
                return self._take(len(self._buffer))
        return self._take(end + 1)

    def read_exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            if not self._fill():
                raise EOFError("the client left in the middle of its words")
        return self._take(size)

    def send(self, data: bytes | memoryview) -> None:
        self.socket.sendall(data)

    def wait(self, seconds: float) -> bool:
        """Do nothing for a while. False when the client left or the server is stopping."""
        poll = select.poll()
        poll.register(self.socket, GONE)
        poll.register(self._stopping, select.POLLIN | select.POLLHUP)
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if poll.poll(min(left, 60.0) * 1000):
                return False
        return True

    def wait_until_left(self) -> None:
        while self.wait(60.0):
            pass

    def close(self) -> None:
        """Say goodbye in the ordinary way."""
        if not self.is_closed:
            self.is_closed = True
            self.hang_up()
            self.socket.close()

    def hang_up(self) -> None:
        """End the talk from any thread; the thread that serves it wakes up and closes the socket."""
        try:
            # Past the TLS layer, which belongs to the serving thread.
            socket.socket.shutdown(self.socket, socket.SHUT_RDWR)
        except OSError:
            return  # the client was faster

    def reset(self) -> None:
        """End the connection with a reset instead of a goodbye."""
        if not self.is_closed:
            self.is_closed = True
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.socket.close()

    def _fill(self) -> bool:
        data = self.socket.recv(65536)
        self._buffer += data
        return bool(data)

    def _take(self, size: int) -> bytes:
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data


class TcpServer:
    """Bound when made, so that its address is known; serves between `start()` and `stop()`, or inside `with`."""

    def __init__(self, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self._reserved = LoopbackPort(host, port)
        self.host = host
        self.port = self._reserved.port
        self.connection_count = 0
        self._live: dict[int, Connection] = {}
        self._threads: set[threading.Thread] = set()
        self._lock = threading.Lock()
        self._accepting: threading.Thread | None = None

    @property
    def netloc(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def open_connections(self) -> int:
        with self._lock:
            return len(self._live)

    def serve(self, connection: Connection) -> None:
        """Talk to one client until it or we have had enough."""
        raise NotImplementedError

    def start(self) -> Self:
        if self._accepting is None:
            self._stopping, self._stopped = socket.socketpair()
            listener = self._reserved.listen()
            self._accepting = threading.Thread(target=self._accept, args=(listener,), daemon=True)
            self._accepting.start()
        return self

    def stop(self) -> None:
        """Refuse new connections and end the old ones; the port stays ours and `start()` opens it again."""
        if self._accepting is None:
            return
        self._stopped.close()
        self._accepting.join(5)
        with self._lock:
            for connection in self._live.values():
                connection.hang_up()
            threads = list(self._threads)
        deadline = time.monotonic() + 5
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        self._stopping.close()
        self._accepting = None

    def close(self) -> None:
        self.stop()
        self._reserved.release()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _accept(self, listener: socket.socket) -> None:
        poll = select.poll()
        poll.register(listener, select.POLLIN)
        poll.register(self._stopping, select.POLLIN | select.POLLHUP)
        listener.setblocking(False)
        with listener:
            while not any(fd == self._stopping.fileno() for fd, _ in poll.poll()):
                try:
                    sock, address = listener.accept()
                    self._welcome(sock, address[1])
                except (BlockingIOError, ConnectionError):
                    continue
                except OSError:
                    time.sleep(0.02)  # out of file descriptors: the backlog waits until some are free again

    def _welcome(self, sock: socket.socket, remote_port: int) -> None:
        with self._lock:
            self.connection_count += 1
            connection = Connection(sock, self.connection_count, remote_port, self._stopping)
            thread = threading.Thread(target=self._serve_and_close, args=(connection,), daemon=True)
            self._live[connection.number] = connection
            self._threads.add(thread)
        thread.start()

    def _serve_and_close(self, connection: Connection) -> None:
        try:
            self.serve(connection)
        except CLIENT_LEFT:
            pass
        except OSError:
            if not connection.is_closed:
                raise
        finally:
            connection.close()
            with self._lock:
                self._live.pop(connection.number, None)
                self._threads.discard(threading.current_thread())
