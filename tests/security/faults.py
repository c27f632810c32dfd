"""What a site may do to a request and the error it must become, numbered B1 to B20 so that a failure has a name."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Script = Callable[[Any], Any]
# Bigger than the cap that the tests set, small enough to be quick.
BOMB_MEGABYTES = 60
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"
PDF = b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\ntrailer\n<< /Root 1 0 R >>\n%%EOF\n"


@dataclass(frozen=True)
class Fault:
    """`code` is what the check is to say; `on_wire` faults spoil any file, the others only a sitemap."""

    number: str
    script: Script
    code: str
    on_wire: bool = True


def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("sitemap.xml", "<urlset/>")
    return buffer.getvalue()


def _packing() -> list[Fault]:
    found = [
        Fault("B1 bomb", lambda rule: rule.gzip_bomb(BOMB_MEGABYTES), "too_large"),
        Fault("B2 bomb in a bomb", lambda rule: rule.gzip_bomb(BOMB_MEGABYTES, layers=2), "too_large"),
        Fault("B3 fifty encodings", lambda rule: rule.encodings(50), "bad_encoding"),
        Fault("B5 truncated gzip", lambda rule: rule.truncated_gzip(), "bad_encoding"),
        Fault("B5 corrupt gzip", lambda rule: rule.corrupt_gzip(), "bad_encoding"),
    ]
    for name in ("br", "zstd", "compress", "gzip, br", "aes128gcm"):
        found.append(Fault(f"B4 {name}", lambda rule, name=name: rule.label_encoding(name), "bad_encoding"))
    return found


def _lengths() -> list[Fault]:
    return [
        Fault("B6 ten gigabytes announced", lambda rule: rule.huge_length(), "too_large"),
        Fault("B7 endless", lambda rule: rule.endless(), "too_large"),
        Fault("B8 drip", lambda rule: rule.drip(every=0.2), "timed_out"),
        Fault("B8 slow headers", lambda rule: rule.slow_headers(every=0.2), "timed_out"),
        Fault("B8 silence after headers", lambda rule: rule.hang_after_headers(), "timed_out"),
        Fault("B8 silence", lambda rule: rule.hang(), "timed_out"),
        Fault("B9 too large", lambda rule: rule.claim_length(100_000), "wrong_length"),
        Fault("B9 too small", lambda rule: rule.claim_length(10), "wrong_length"),
        Fault("B9 negative", lambda rule: rule.claim_length("-1"), "bad_http"),
        Fault("B9 a word", lambda rule: rule.claim_length("many"), "bad_http"),
        Fault("B9 two different", lambda rule: rule.claim_length(5, 500), "bad_http"),
        Fault("B9 cut", lambda rule: rule.cut(0.5), "wrong_length"),
        Fault("B11 reset before", lambda rule: rule.reset_before_headers(), "unreachable"),
        Fault("B11 closed before", lambda rule: rule.close_before_headers(), "unreachable"),
        Fault("B11 reset after headers", lambda rule: rule.reset_after_headers(), "unreachable"),
        Fault("B11 reset in the middle", lambda rule: rule.reset_mid_body(), "unreachable"),
    ]


def _continue_flood(rule: Any) -> Any:
    """Large ones: they are too many for a head long before the deadline, on a busy machine, too."""
    interim = b"HTTP/1.1 100 Continue\r\nX-Padding: " + b"x" * 2000 + b"\r\n\r\n"

    def treatment(exchange: Any) -> None:
        exchange.connection.send(interim * 500)
        exchange.send(exchange.ordinary())

    return rule.treat(treatment)


def _protocol() -> list[Fault]:
    found = [
        Fault("B12 HTTP/0.9", lambda rule: rule.http09(), "bad_http"),
        Fault("B12 continue flood", _continue_flood, "bad_answer"),
        Fault("B12 partial, unasked", lambda rule: rule.partial(), "bad_status"),
        Fault("B12 not modified, unasked", lambda rule: rule.not_modified(), "bad_status"),
        Fault("B16 a cookie of a megabyte", lambda rule: rule.big_cookie(), "bad_http"),
    ]
    for line, code in (("HTTP/1.1 999 Odd", "bad_status"), ("HTTP/1.1 000 None", "bad_http"), ("garbage", "bad_http")):
        found.append(Fault(f"B12 {line}", lambda rule, line=line: rule.status_line(line), code))
    for status, code in ((404, "gone"), (410, "gone"), (403, "blocked"), (451, "blocked"), (500, "server_trouble")):
        found.append(Fault(f"status {status}", lambda rule, status=status: rule.answer(status, "no"), code))
    return found


def _contents() -> list[Fault]:
    def says(body: bytes, kind: str) -> Script:
        return lambda rule: rule.answer(200, body, {"Content-Type": kind})

    return [
        Fault("B12 no content, and a body", lambda rule: rule.no_content_with_body(), "", on_wire=False),
        Fault("B13 empty", lambda rule: rule.empty(), "empty_body", on_wire=False),
        Fault("B13 white space", lambda rule: rule.whitespace(), "empty_body", on_wire=False),
        Fault("B13 a comment", lambda rule: rule.only_comment(), "empty_body", on_wire=False),
        Fault("B13 a page for people", lambda rule: rule.wall(), "html_page", on_wire=False),
        Fault("B17 image", says(PNG, "image/png"), "unknown_content", on_wire=False),
        Fault("B17 zip", says(zipped(), "application/zip"), "unknown_content", on_wire=False),
        Fault("B17 pdf", says(PDF, "application/pdf"), "unknown_content", on_wire=False),
    ]


FAULTS = [*_packing(), *_lengths(), *_protocol(), *_contents()]
