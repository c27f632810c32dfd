"""What a file is, found by its bytes; dimensions and thumbnails of pictures.

Pictures are opened by Pillow in a child process only: `inspect_task` and `thumbnail_task` run there, called by
`inspect` and `make_thumbnail`. Types that a browser could run (SVG, HTML, XML) are named for what they are, whatever
the file is called, and are never shown inline.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from watchbook.base import sandbox

HEAD = 4096
OTHER, TEXT, SVG, HTML, XML = "application/octet-stream", "text/plain", "image/svg+xml", "text/html", "text/xml"
# Types that a browser may show inside a page, with the name that Pillow has for them.
PICTURES = {
    "image/avif": "AVIF",
    "image/bmp": "BMP",
    "image/gif": "GIF",
    "image/jpeg": "JPEG",
    "image/png": "PNG",
    "image/webp": "WEBP",
}
_STARTS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"fLaC", "audio/flac"),
)
# Kinds of zip that are known by the name; the content is a zip all the same.
_ZIPPED = {
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "odt": "application/vnd.oasis.opendocument.text",
    "ods": "application/vnd.oasis.opendocument.spreadsheet",
    "epub": "application/epub+zip",
}
_BRANDS = {
    b"avif": "image/avif",
    b"avis": "image/avif",
    b"heic": "image/heic",
    b"heix": "image/heic",
    b"M4A ": "audio/mp4",
    b"qt  ": "video/quicktime",
}
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}
_MARKUP = re.compile(rb"<(!doctype\s+html|html|head|body|script|iframe|style|title|meta|object|embed|a\s|img\s)", re.I)
_SVG = re.compile(rb"<(\w+:)?svg[\s>]", re.I)


def type_of(head: bytes, name: str) -> str:
    """Return the media type of a file from its first bytes; the name only distinguishes kinds of zip."""
    for start, found in _STARTS:
        if head.startswith(start):
            suffix = name.rpartition(".")[2].lower()
            return _ZIPPED.get(suffix, found) if found == "application/zip" else found
    if head[:4] == b"RIFF":
        return _RIFF.get(head[8:12], OTHER)
    if head[4:8] == b"ftyp":
        return _BRANDS.get(head[8:12], "video/mp4")
    return _text_type(head)


def _text_type(head: bytes) -> str:
    plain = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if _SVG.search(head):
        return SVG
    if _MARKUP.search(head):
        return HTML
    if plain.startswith(b"<?xml"):
        return XML
    if b"\0" in head:
        return OTHER
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        # A character may be cut in two by the end of the head.
        return TEXT if error.start >= len(head) - 3 and len(head) == HEAD else OTHER
    return TEXT


# Larger pictures are kept, but a browser is not asked to unpack them.
MOST_PIXELS = 64_000_000
SIDES = (320, 640, 1280)
CPU_SECONDS, MEMORY_MB = 10, 768


@dataclass(frozen=True)
class Facts:
    """Media type by content; width and height of a picture that can be shown, else None."""

    media_type: str
    width: int | None = None
    height: int | None = None


def inspect(path: Path, name: str = "") -> Facts:
    """Return type and dimensions of a file. What cannot be read as a picture has no dimensions."""
    with path.open("rb") as file:
        kind = type_of(file.read(HEAD), name)
    found: dict[str, int] = {}
    if kind in PICTURES:
        try:
            found = _call("inspect_task", {"media_type": kind}, path)
        except sandbox.TaskError:
            pass  # too slow or too big to read: treated as any other file
    return Facts(kind, found.get("width"), found.get("height"))


def make_thumbnail(path: Path, media_type: str, side: int, target: Path) -> bool:
    """Write a WebP of at most `side` pixels to the target. False where the original should be sent."""
    try:
        return bool(_call("thumbnail_task", {"media_type": media_type, "side": side}, path, target)["made"])
    except sandbox.TaskError:
        return False


def _call(task: str, argument: dict[str, Any], path: Path, target: Path | None = None) -> dict[str, Any]:
    told: dict[str, Any] = sandbox.call(
        f"{__name__}:{task}", argument, input_path=path, output_path=target,
        cpu_seconds=CPU_SECONDS, memory_mb=MEMORY_MB,
    )  # fmt: skip
    return told


def inspect_task(argument: dict[str, Any]) -> dict[str, Any]:
    """Width and height of a picture; empty if it is not a picture of that type, or too large to show."""
    from PIL import Image, UnidentifiedImageError  # only the child needs it

    Image.MAX_IMAGE_PIXELS = None
    try:
        with Image.open(argument["input_path"], formats=[PICTURES[argument["media_type"]]]) as picture:
            width, height = picture.size
            if width * height > MOST_PIXELS:
                return {}
            if picture.getexif().get(0x0112, 1) >= 5:  # turned by the camera: width is height
                width, height = height, width
            return {"width": width, "height": height}
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, EOFError):
        return {}


def thumbnail_task(argument: dict[str, Any]) -> dict[str, Any]:
    """Write a WebP picture of at most `side` pixels; {"made": False} where the original should be sent."""
    from PIL import Image, ImageOps, UnidentifiedImageError  # only the child needs it

    Image.MAX_IMAGE_PIXELS = MOST_PIXELS
    side = argument["side"]
    try:
        with Image.open(argument["input_path"], formats=[PICTURES[argument["media_type"]]]) as picture:
            if max(picture.size) <= side or getattr(picture, "n_frames", 1) > 1:
                return {"made": False}
            picture.draft("RGB", (side * 2, side * 2))
            turned = ImageOps.exif_transpose(picture)
            turned.thumbnail((side, side))
            kept = turned.convert("RGBA" if "A" in turned.getbands() or "transparency" in turned.info else "RGB")
            kept.save(Path(argument["output_path"]), "WEBP", quality=82)
            return {"made": True}
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError, SyntaxError, EOFError):
        return {"made": False}


NOT_IN_NAMES = '<>:"/\\|?*'
LONGEST_NAME = 200


def safe_name(name: str) -> str:
    """Return the last part of a path as a file name that every system takes."""
    last = name.replace("\\", "/").rpartition("/")[2]
    kept = "".join("_" if sign in NOT_IN_NAMES or not sign.isprintable() else sign for sign in last).strip(" .")
    stem, dot, suffix = kept.rpartition(".")
    if not dot or len(suffix) > 20:
        stem, suffix = kept, ""
    while len(f"{stem}.{suffix}".encode()) > LONGEST_NAME:
        stem = stem[:-1]
    return (f"{stem.rstrip()}.{suffix}" if suffix else stem.rstrip()) or "file"
