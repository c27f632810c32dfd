"""What a caller asks for, checked once, and which of its headers may follow a redirect."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from watchbook.base.web import options
from watchbook.base.web.address import SafeUrl
from watchbook.base.web.answer import NO_VALIDATORS, Validators
from watchbook.base.web.cookies import CookieJar
from watchbook.base.web.decode import ACCEPT_ENCODING
from watchbook.base.web.errors import Refused, gettext_noop
from watchbook.base.web.pace import DEFAULT_SPACING

METHODS = {"GET", "POST", "PUT", "PATCH", "DELETE"}
MAX_DEADLINE = 1800.0
MAX_OWN_HEADERS = 50
MAX_OWN_HEADER_BYTES = 16 * 1024

# The connection is ours: a caller's header must not change the framing, the host or the encoding.
_FORBIDDEN = {
    "host", "connection", "content-length", "transfer-encoding", "accept-encoding", "te", "trailer", "upgrade",
    "expect", "keep-alive", "proxy-authorization", "proxy-connection", "if-none-match", "if-modified-since", "range",
}  # fmt: skip
_CREDENTIALS = {"authorization", "cookie", "x-api-key"}
_HARMLESS = {"user-agent", "accept", "accept-language"}
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")
_MESSAGE = gettext_noop("A header of the request is not allowed.")


@dataclass(frozen=True)
class Request:
    """Everything about a request but its address."""

    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)
    accept: str = ""
    validators: Validators = NO_VALIDATORS
    jar: CookieJar | None = field(default=None, repr=False)
    max_bytes: int = 10 * 1024 * 1024
    may_cut: bool = False
    deadline_seconds: float = 30.0
    follow: int = 5
    keeps_redirect: bool = False
    allow_downgrade: bool = True
    to_file: Path | None = None
    raise_for_status: bool = True
    account: str = ""
    spacing_seconds: float = DEFAULT_SPACING
    wait_seconds: float = 30.0

    def __post_init__(self) -> None:
        if self.method not in METHODS or not 0 < self.deadline_seconds <= MAX_DEADLINE:
            raise ValueError("no such method, or a deadline that is not between 0 and 1800 seconds")
        own = [*self.headers.items(), *self.secrets.items()]
        size = sum(len(name) + len(value) for name, value in own)
        if len(own) > MAX_OWN_HEADERS or size > MAX_OWN_HEADER_BYTES:
            raise Refused("too many headers", code="bad_header", message=_MESSAGE)
        for name, value in own:
            if name.lower() in _FORBIDDEN or not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
                raise Refused(f"header {name[:40]!r}", code="bad_header", message=_MESSAGE)

    def carries_secrets(self) -> bool:
        named = any(name.lower() in _CREDENTIALS for name in self.headers)
        return bool(self.secrets) or named or bool(self.jar)

    def wire_headers(self, url: SafeUrl, *, is_home: bool) -> list[tuple[str, str]]:
        """Header fields for one hop. Away from home (another scheme, host or port) only harmless ones go along."""
        fields = {"user-agent": options.USER_AGENT.value, "accept": self.accept or "*/*"}
        fields["accept-encoding"] = ACCEPT_ENCODING
        own = {name.lower(): value for name, value in {**self.headers, **self.secrets}.items()}
        fields.update({name: value for name, value in own.items() if is_home or name in _HARMLESS})
        if self.jar is not None and "cookie" not in fields and (cookies := self.jar.header(url)):
            fields["cookie"] = cookies
        # Validators tell nothing about us, and what they belong to is usually behind the redirect.
        if self.validators.etag:
            fields["if-none-match"] = self.validators.etag
        if self.validators.last_modified:
            fields["if-modified-since"] = self.validators.last_modified
        return [("host", url.authority), *fields.items()]

    def wants_type(self, content_type: str) -> bool:
        """Does a media type match one of those in Accept? A missing one is given the benefit of the doubt."""
        if not self.accept or not content_type:
            return True
        wanted = [kind.partition(";")[0].strip().lower() for kind in self.accept.split(",")]
        family = content_type.partition("/")[0] + "/*"
        return any(kind in {content_type, family, "*/*"} for kind in wanted)
