"""Django's error reports with the same redaction as the log.

Settings: DEFAULT_EXCEPTION_REPORTER_FILTER and DEFAULT_EXCEPTION_REPORTER name the two classes here.
"""

from __future__ import annotations

import re
from types import TracebackType
from typing import Any

from django.http import HttpRequest
from django.utils.regex_helper import _lazy_re_compile
from django.views.debug import ExceptionReporter, SafeExceptionReporterFilter

from watchbook.base.logs import redact


class _Shown:
    """Stands in a report for a value; its repr is already masked."""

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
    """The last look at the finished report: error messages and source lines may hold secrets, too."""

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
