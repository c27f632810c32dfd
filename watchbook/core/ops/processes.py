"""`watchbook web --server granian`: several web processes, and the embedded runner in the process above them.

waitress has one process, so that one core computes all pages; this is for machines with more. Granian itself cannot say
that a client went away, and has no limit for the size of a body: the limit is here.
"""

from __future__ import annotations

import multiprocessing
import socket
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from watchbook.base.terminal import Failure
from watchbook.core.accounts.options import REMOTE_USER_HEADER
from watchbook.core.jobs import options as job_options
from watchbook.core.ops import options

if TYPE_CHECKING:  # the web processes import this module before Django is set up
    from watchbook.core.jobs.runner import Embedded
    from watchbook.core.ops.server import Bind

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]


def serve(bind: Bind, ready: Callable[[str, bool], None]) -> None:
    """Serve until SIGTERM or SIGINT, then finish requests and jobs."""
    from granian.constants import Interfaces  # an extra: only where it is chosen
    from granian.log import LogLevels
    from granian.server import Server

    from watchbook.core.jobs.runner import Embedded  # the processes below import this module before Django is set up
    from watchbook.core.ops.server import wants_embedded

    _refuse_named_users()
    # A fork would copy locks that the threads of the runner hold.
    multiprocessing.set_start_method("spawn", force=True)
    port = bind.port or _free_port(bind.host)
    _refuse_taken(bind.host, port)
    embedded = Embedded() if wants_embedded() else None
    server = Server(
        "watchbook.core.ops.processes:make_application",
        address=bind.host,
        port=port,
        interface=Interfaces.WSGI,
        workers=options.WEB_PROCESSES.value,
        blocking_threads=options.WEB_THREADS.value,
        # More than this waits in the queue of the system instead of in memory.
        backpressure=max(options.WEB_THREADS.value * 4, 32),
        factory=True,
        websockets=False,
        respawn_failed_workers=True,
        workers_kill_timeout=int(job_options.GRACE_SECONDS.value),
        log_level=LogLevels.warning,
    )
    host = f"[{bind.host}]" if ":" in bind.host else bind.host

    def started() -> None:
        if embedded:
            embedded.start()
        threading.Thread(target=_say_when_listening, args=(bind.host, port, say), daemon=True).start()

    def say() -> None:
        ready(f"http://{host}:{port}", embedded is not None)

    server.on_startup(started)
    try:
        server.serve()
    finally:
        if embedded:
            _end_jobs(embedded)


def _say_when_listening(host: str, port: int, say: Callable[[], None]) -> None:
    """The processes need a while to load; only then is there something at the address."""
    while True:
        try:
            socket.create_connection((host, port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
            continue
        say()
        return


def _end_jobs(embedded: Embedded) -> None:
    from watchbook.core.jobs.actions import hand_back_rest  # as the single process does

    embedded.stop(job_options.GRACE_SECONDS.value)
    hand_back_rest()


def make_application() -> Application:
    """In each process: Django, the stored settings that others change, and the limit of bodies."""
    import django
    from django.core.wsgi import get_wsgi_application

    django.setup(set_prefix=False)
    from watchbook.core.ops import stored  # after Django is set up

    stored.follow()
    return limited(get_wsgi_application())


def limited(application: Application) -> Application:
    """Refuse a body that is too large, or of unknown length, before it is read."""

    def answer(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        length = environ.get("CONTENT_LENGTH") or "0"
        is_chunked = "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower()
        largest = options.MAX_BODY_MB.value * 1024 * 1024
        if is_chunked or not length.isdigit() or int(length) > largest:
            status = "411 Length Required" if is_chunked else "413 Content Too Large"
            start_response(status, [("Content-Type", "text/plain"), ("Connection", "close")])
            return [f"{status}\n".encode()]
        return application(environ, start_response)

    return answer


def _free_port(host: str) -> int:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def _refuse_named_users() -> None:
    """Granian reads `Remote_Email` of a visitor as `Remote-Email` of the proxy; waitress drops such names."""
    if REMOTE_USER_HEADER.value:
        raise Failure("WATCHBOOK_REMOTE_USER_HEADER needs the server waitress: leave out --server granian.")


def _refuse_taken(host: str, port: int) -> None:
    """Granian lets several programs listen on one port: requests would reach either."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise Failure(f"Cannot listen on {host}:{port}: {error.strerror or error}.") from None
