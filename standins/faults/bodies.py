"""Faults of what is said: statuses, walls, empty pages, compression that lies or explodes, cookies, charsets."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Self

from standins.faults.treatment import Verbs, as_bytes
from standins.messages import Answer
from standins.wire import Exchange, head_of

MEGABYTE = 1024 * 1024
WALL = (
    "<!DOCTYPE html><html><head><title>One moment</title></head>"
    "<body><h1>Checking your browser</h1><p>Please wait while we verify that you are human.</p></body></html>"
)


class BodyVerbs(Verbs):
    def answer(
        self,
        status: int,
        body: bytes | str = b"",
        headers: Mapping[str, str] | None = None,
        reason: str | None = None,
    ) -> Self:
        pairs = tuple((headers or {}).items())
        return self._say(Answer(status, as_bytes(body), pairs, reason))

    def forbid(self, body: bytes | str = "Forbidden\n") -> Self:
        return self.answer(403, body)

    def throttle(self, retry_after: str | float | None = None, status: int = 429) -> Self:
        """Any Retry-After: seconds, a date, nonsense; None leaves the line out."""
        return self.answer(status, "Slow down\n", {} if retry_after is None else {"Retry-After": str(retry_after)})

    def fail(self, status: int = 503) -> Self:
        return self.answer(status, "Something went wrong\n")

    def wall(self, html: str = WALL, status: int = 200) -> Self:
        """A page for people where data should be."""
        return self._say(Answer.html(html, status))

    def empty(self) -> Self:
        return self._instead(lambda answer: replace(answer, body=b""))

    def whitespace(self) -> Self:
        return self._instead(lambda answer: replace(answer, body=b" \r\n\t\n  "))

    def only_comment(self) -> Self:
        return self._instead(lambda answer: replace(answer, body=b"<!-- nothing today -->"))

    def truncate(self, keep: float = 0.5, *, after: int | None = None) -> Self:
        """A share of the body under a Content-Length that fits the share, so that only the content shows it."""

        def change(answer: Answer) -> Answer:
            body = answer.whole_body()
            return replace(answer, body=body[: after if after is not None else int(len(body) * keep)])

        return self._instead(change)

    def no_content_with_body(self, body: bytes | str = "surprise") -> Self:
        """204, and a body all the same."""

        def treatment(exchange: Exchange) -> None:
            exchange.status = 204
            answer = Answer(204, as_bytes(body), (("Content-Length", str(len(as_bytes(body)))),))
            exchange.connection.send(head_of(answer) + as_bytes(body))

        return self.treat(treatment)

    def partial(self) -> Self:
        """206 with the first half, although no range was requested."""

        def change(answer: Answer) -> Answer:
            body = answer.whole_body()
            half = body[: len(body) // 2]
            span = f"bytes 0-{len(half) - 1}/{len(body)}"
            return replace(answer, status=206, body=half).with_headers({"Content-Range": span})

        return self._instead(change)

    def not_modified(self) -> Self:
        """304, asked for or not."""
        return self.answer(304)

    def gzip_bomb(self, megabytes: int = 300, layers: int = 1, *, labelled: bool = True, opening: str = "") -> Self:
        """A few bytes that unpack to many. Unlabelled it is a gzip file instead of a gzip encoding."""
        body = gzip_bomb(megabytes, layers, opening.encode())
        label = {"Content-Encoding": ", ".join(["gzip"] * layers)} if labelled else {"Content-Type": "application/gzip"}
        return self.answer(200, body, label)

    def encodings(self, count: int = 50) -> Self:
        """The body packed so many times, and said so."""

        def change(answer: Answer) -> Answer:
            body = answer.whole_body()
            for _ in range(count):
                body = gzip.compress(body, 1)
            return replace(answer, body=body).with_headers({"Content-Encoding": ", ".join(["gzip"] * count)})

        return self._instead(change)

    def label_encoding(self, name: str = "br") -> Self:
        """An encoding that was not requested and that is not even true."""
        return self._instead(lambda answer: answer.with_headers({"Content-Encoding": name}))

    def truncated_gzip(self, keep: float = 0.5) -> Self:
        return self._packed(lambda packed: packed[: int(len(packed) * keep)])

    def corrupt_gzip(self) -> Self:
        """The checksum at the end does not fit."""
        return self._packed(lambda packed: packed[:-8] + bytes(byte ^ 0xFF for byte in packed[-8:]))

    def multi_member_gzip(self, members: int = 3) -> Self:
        """One body in several gzip members after another."""

        def change(answer: Answer) -> Answer:
            body = answer.whole_body()
            step = max(1, -(-len(body) // members))
            pieces = [gzip.compress(body[at : at + step]) for at in range(0, len(body), step)]
            return replace(answer, body=b"".join(pieces)).with_headers({"Content-Encoding": "gzip"})

        return self._instead(change)

    def gzip_with_tail(self, tail: bytes | str = "<!-- cached -->") -> Self:
        return self._packed(lambda packed: packed + as_bytes(tail))

    def cookies(self, count: int = 1000) -> Self:
        lines = tuple(("Set-Cookie", f"c{number}=v{number}; Path=/") for number in range(count))
        return self._instead(lambda answer: replace(answer, headers=answer.headers + lines))

    def big_cookie(self, size: int = MEGABYTE) -> Self:
        return self.set_cookie("big=" + "x" * size)

    def set_cookie(self, *lines: str) -> Self:
        """Any Set-Cookie lines: for another domain, expiring in the year 9999, expiring before time began."""
        pairs = tuple(("Set-Cookie", line) for line in lines)
        return self._instead(lambda answer: replace(answer, headers=answer.headers + pairs))

    def content_type(self, name: str) -> Self:
        return self._instead(lambda answer: answer.with_headers({"Content-Type": name}))

    def charset(self, name: str, body: bytes | str | None = None, kind: str = "text/html") -> Self:
        """Claim a charset that may not exist or not be true; `body` in bytes, or the ordinary one."""

        def change(answer: Answer) -> Answer:
            kept = answer if body is None else replace(answer, body=as_bytes(body))
            return kept.with_headers({"Content-Type": f"{kind}; charset={name}"})

        return self._instead(change)

    def _packed(self, spoil: Callable[[bytes], bytes]) -> Self:
        def change(answer: Answer) -> Answer:
            packed = gzip.compress(answer.whole_body())
            return replace(answer, body=spoil(packed)).with_headers({"Content-Encoding": "gzip"})

        return self._instead(change)


@lru_cache(maxsize=8)
def gzip_bomb(megabytes: int, layers: int = 1, opening: bytes = b"") -> bytes:
    """One gzip member that unpacks to `opening` and so many megabytes of spaces, itself packed `layers` - 1 times.

    One packed megabyte is repeated instead of packing them all, so even a big bomb is made in a moment.
    """
    spaces = b" " * MEGABYTE
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    start = packer.compress(opening) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(spaces) + packer.flush(zlib.Z_FULL_FLUSH)
    end = packer.flush(zlib.Z_FINISH)
    checksum = zlib.crc32(opening)
    for _ in range(megabytes):
        checksum = zlib.crc32(spaces, checksum)
    size = (len(opening) + megabytes * MEGABYTE) % 2**32
    body = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff" + start + block * megabytes + end
    body += struct.pack("<II", checksum, size)
    for _ in range(layers - 1):
        body = gzip.compress(body, 9)
    return body
