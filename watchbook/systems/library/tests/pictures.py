"""Small pictures and hostile files for the tests of attachments."""

from __future__ import annotations

import io
import struct
import zlib

from PIL import Image


def picture(width: int = 40, height: int = 30, form: str = "PNG", colour: str = "teal") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(out, form)
    return out.getvalue()


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def huge_picture(side: int = 60_000) -> bytes:
    """A PNG of a few kilobytes that says it has billions of pixels."""
    head = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    body = zlib.compress(b"\0" * 100_000, 9)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


SCRIPT = b"<script>alert(document.domain)</script>"
HOSTILE = {
    "drawing.svg": b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
    "picture.png": b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
    "page.html": b"<!doctype html><html>" + SCRIPT,
    "photo.jpg": b"\n \n<html>" + SCRIPT,
    "both.gif": b"GIF89a/*" + b"\0" * 20 + b"*/=1;" + SCRIPT,
    "cut.png": picture()[:40],
    "words.xhtml": b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">' + SCRIPT,
    "huge.png": huge_picture(),
}
