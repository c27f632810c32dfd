"""Log lines: a request id in each, secrets in none.

The request id connects a request, the run it started, its log lines and its outgoing requests.

Where log lines go and how they look: one line each on standard error, for people or as JSON.

Django calls `configure` with the LOGGING setting: {"level", "format": "text" | "json", "secrets": values to mask}.

Django's error reports with the same redaction as the log.

Settings: DEFAULT_EXCEPTION_REPORTER_FILTER and DEFAULT_EXCEPTION_REPORTER name the two classes here.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, TextIO
from uuid import uuid4

from django.http import HttpRequest
from django.utils.regex_helper import _lazy_re_compile
from django.views.debug import ExceptionReporter, SafeExceptionReporterFilter

from watchbook.base.logs import redact
from watchbook.base.logs.redact import remember_setting

WELL_FORMED = re.compile(r"[A-Za-z0-9._-]{1,128}\Z")

_request_id: ContextVar[str] = ContextVar("request_id", default="")


def request_id() -> str:
    return _request_id.get()


def accept_request_id(given: str | None) -> str:
    """Return the given id if it is well formed, else a new one: nothing else is logged as it came."""
    return given if given and WELL_FORMED.match(given) else uuid4().hex


@contextmanager
def using_request_id(value: str) -> Iterator[str]:
    token = _request_id.set(value)
    try:
        yield value
    finally:
        _request_id.reset(token)


# Their lower levels print addresses, headers and message bodies.
QUIET = (
    "httpx", "httpcore", "urllib3", "requests", "celery", "kombu", "amqp", "redis", "apprise", "asyncio", "markdown",
    "mcp", "sse_starlette", "django.db.backends", "django.template", "django.utils.autoreload", "waitress", "faker",
)  # fmt: skip
_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName", "request", "server_time"}

log = logging.getLogger("watchbook.crash")


def configure(config: dict[str, Any]) -> None:
    for value in config.get("secrets", ()):
        remember_setting(value)
    handler = StandardError()
    handler.setFormatter(JsonLines() if config.get("format") == "json" else TextLines())
    root = logging.getLogger()
    for old in [old for old in root.handlers if isinstance(old, StandardError)]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(config.get("level", "INFO"))
    # Django gives these two handlers of their own, which know nothing of redaction.
    for name in ("django", "django.server"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
        logger.setLevel(logging.NOTSET)
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.captureWarnings(True)


class StandardError(logging.StreamHandler[TextIO]):
    """Writes to what standard error is now, not to what it was when logging was set up."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        return sys.stderr

    def handleError(self, record: logging.LogRecord) -> None:
        # The standard one prints message and arguments as they are.
        kind = sys.exc_info()[0]
        if kind is BrokenPipeError or sys.stderr is None:
            return
        sys.stderr.write(f"log line lost: {kind.__name__ if kind else ''} in {record.pathname}:{record.lineno}\n")


class _Lines(logging.Formatter):
    shows_tracebacks = True

    def moment(self, record: logging.LogRecord) -> str:
        return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def trouble(self, record: logging.LogRecord) -> str:
        """Traceback and stack. Not kept in record.exc_text: other handlers would print that unmasked."""
        if not _Lines.shows_tracebacks:
            return ""
        parts = [self.formatException(record.exc_info)] if record.exc_info and record.exc_info[0] else []
        parts += [record.exc_text] if record.exc_text and not parts else []
        parts += [self.formatStack(record.stack_info)] if record.stack_info else []
        return redact.block("\n".join(parts)) if parts else ""


class TextLines(_Lines):
    def format(self, record: logging.LogRecord) -> str:
        ident = request_id()
        start = f"{self.moment(record)} {record.levelname:<7} {record.name}" + (f" [{ident}]" if ident else "")
        shown = f"{start}: {redact.line(record.getMessage())}"
        trouble = self.trouble(record)
        # Indented, so that text inside an error cannot pass for a line of its own.
        return shown + "".join(f"\n    {part}" for part in trouble.split("\n")) if trouble else shown


class JsonLines(_Lines):
    def format(self, record: logging.LogRecord) -> str:
        extra = {name: value for name, value in record.__dict__.items() if name not in _STANDARD}
        fields = {
            "time": self.moment(record),
            "level": record.levelname,
            "logger": record.name,
            "message": redact.line(record.getMessage()),
            "request_id": request_id(),
            **redact.mapping(extra),
        }
        trouble = self.trouble(record)
        if trouble:
            fields["error"] = trouble
        return json.dumps(fields, ensure_ascii=False, default=repr)


def hide_tracebacks() -> None:
    """For commands that a person waits for: they end with a sentence, and `--debug` shows where it went wrong."""
    _Lines.shows_tracebacks = False


def log_uncaught() -> None:
    """For long-lived processes: uncaught errors go through the log, not unmasked to standard error."""

    def uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
            return
        log.critical("uncaught error", exc_info=(kind, error, trace))

    def in_thread(args: threading.ExceptHookArgs) -> None:
        if args.exc_type is not SystemExit:
            log.critical(
                "thread %s ended by an error", args.thread.name if args.thread else "?", exc_info=args.exc_value
            )

    sys.excepthook = uncaught
    threading.excepthook = in_thread


class _Shown:
    """Replaces a value in a report; its repr is already masked."""

    def __init__(self, shown: str) -> None:
        self.shown = shown

    def __repr__(self) -> str:
        return self.shown


class ReportFilter(SafeExceptionReporterFilter):
    """Always active, also with DEBUG: a developer's screen is shared, too."""

    hidden_settings = _lazy_re_compile(
        "API|AUTH|TOKEN|KEY|SECRET|PASS|SIGNATURE|COOKIE|CSRF|SESSION|_URL$|LOCATION", flags=re.IGNORECASE
    )

    def is_active(self, request: HttpRequest | None) -> bool:
        return True

    def cleanse_setting(self, key: Any, value: Any) -> Any:
        cleansed = super().cleanse_setting(key, value)
        return redact.text(cleansed) if isinstance(cleansed, str) else cleansed

    def get_traceback_frame_variables(self, request: HttpRequest | None, tb_frame: Any) -> Any:
        return [
            (name, self.cleansed_substitute if redact.hides(name) else _Shown(redact.line(_safe_repr(value))))
            for name, value in super().get_traceback_frame_variables(request, tb_frame)
        ]


class Reporter(ExceptionReporter):
    """Mask the finished report: error messages and source lines may hold secrets, too."""

    def __init__(
        self,
        request: HttpRequest | None,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        tb: TracebackType | None,
        is_email: bool = False,
    ) -> None:
        super().__init__(request, exc_type, exc_value, tb, is_email)
        self.filter = ReportFilter()

    def get_traceback_data(self) -> dict[str, Any]:
        data = super().get_traceback_data()
        for name in ("request_GET_items", "request_COOKIES_items", "filtered_POST_items"):
            if name in data:
                hide_all = "COOKIES" in name
                data[name] = [(k, redact.MASK if hide_all or redact.hides(k) else v) for k, v in data[name]]
        return data

    def get_traceback_html(self) -> Any:
        return redact.text(super().get_traceback_html())

    def get_traceback_text(self) -> Any:
        return redact.text(super().get_traceback_text())


def _safe_repr(value: Any) -> str:
    try:
        return repr(value)
    except Exception as error:  # a broken __repr__ must not hide the error that is being reported
        return f"<no repr: {type(error).__name__}>"
