"""Opening what somebody uploads: bounded in bytes, entries and depth; names that lead elsewhere are refused.

Runs in a child process: `read_task` takes input_path, output_path and limits, writes one page a line, and answers how
many there are, or {"error": {code, message}}.
"""

from __future__ import annotations

import json
import stat
import zipfile
import zlib
from pathlib import Path
from typing import Any

from watchbook.library.parse.archive import DEEPEST, MANIFEST, SUFFIXES, NotReadable, PageRecord, pages_of
from watchbook.library.parse.html import TooDeep


def gettext_noop(text: str) -> str:
    """Marks a sentence for translation; the child loads no Django."""
    return text


TOO_LARGE = gettext_noop("It holds more than may be imported at once.")
TOO_MANY = gettext_noop("It holds more files than may be imported at once.")
UNSAFE = gettext_noop("It holds a name that leads outside of it, or a link.")
TOO_DEEP = gettext_noop("Its folders or texts are nested too deeply.")
BROKEN = gettext_noop("It is not a zip file that can be read.")
NOTHING = gettext_noop("There is no Markdown file and no folder in it.")
LONGEST_NAME = 1000


def read_task(argument: dict[str, Any]) -> dict[str, Any]:
    try:
        files, directories = read_upload(
            Path(argument["input_path"]), argument["name"], max_bytes=argument["max_bytes"], most=argument["most"]
        )
        pages = _pages(files, directories)
        if not pages:
            raise NotReadable("nothing_inside", NOTHING)
    except NotReadable as error:
        return {"error": {"code": error.code, "message": error.message}}
    with Path(argument["output_path"]).open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(page.as_json()) + "\n" for page in pages)
    return {"pages": len(pages), "ignored": sum(1 for path in files if not _is_ours(path))}


def _pages(files: dict[str, bytes], directories: set[str]) -> list[PageRecord]:
    try:
        return pages_of(files, directories)
    except TooDeep:
        raise NotReadable("too_deep", TOO_DEEP) from None


def read_upload(path: Path, name: str, *, max_bytes: int, most: int) -> tuple[dict[str, bytes], set[str]]:
    """Files and directories of a zip, or the one Markdown file itself."""
    if name.lower().endswith(SUFFIXES) and not zipfile.is_zipfile(path):
        return {safe_path(name.replace("/", "_")): _bounded(path, max_bytes)}, set()
    try:
        with zipfile.ZipFile(path) as archive:
            return _read_zip(archive, max_bytes, most)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError):
        raise NotReadable("not_readable", BROKEN) from None


def read_folder(root: Path, *, max_bytes: int, most: int) -> list[PageRecord]:
    """The pages of a folder on this machine; links are not followed."""
    files: dict[str, bytes] = {}
    directories: set[str] = set()
    for path in sorted(root.rglob("*")):
        if path.is_symlink() or any(parent.is_symlink() for parent in path.relative_to(root).parents if parent.name):
            continue
        name = safe_path(path.relative_to(root).as_posix())
        if path.is_dir():
            directories.add(name)
        elif path.is_file() and _is_ours(name):
            files[name] = _bounded(path, max_bytes - sum(map(len, files.values())))
        if len(files) + len(directories) > most:
            raise NotReadable("too_many", TOO_MANY)
    return _pages(files, directories)


def _read_zip(archive: zipfile.ZipFile, max_bytes: int, most: int) -> tuple[dict[str, bytes], set[str]]:
    entries = archive.infolist()
    if len(entries) > most:
        raise NotReadable("too_many", TOO_MANY)
    files: dict[str, bytes] = {}
    directories: set[str] = set()
    left = max_bytes
    for entry in entries:
        name = safe_path(_name(entry))
        if stat.S_ISLNK(entry.external_attr >> 16) or entry.flag_bits & 1:
            raise NotReadable("unsafe", UNSAFE)
        if entry.is_dir():
            directories.add(name)
            continue
        # What the entry says of its size is a claim; what comes out is counted.
        with archive.open(entry) as opened:
            body = opened.read(left + 1) if _is_ours(name) else b""
        left -= len(body)
        if left < 0:
            raise NotReadable("too_large", TOO_LARGE)
        files[name] = body
    return files, directories


def safe_path(name: str) -> str:
    """A path inside the archive, or refusal."""
    name = name.replace("\\", "/").strip("/") if not name.startswith(("/", "\\")) else ""
    steps = name.split("/")
    if len(name) > LONGEST_NAME or ":" in steps[0] or any(step in ("", ".", "..") or "\0" in step for step in steps):
        raise NotReadable("unsafe", UNSAFE)
    if len(steps) > DEEPEST:
        raise NotReadable("too_deep", TOO_DEEP)
    return name


def _name(entry: zipfile.ZipInfo) -> str:
    """Names without the UTF-8 mark are cp437 to the library; Chinese systems write GBK, others UTF-8 without saying."""
    if entry.flag_bits & 0x800:
        return entry.filename
    try:
        raw = entry.filename.encode("cp437")
    except UnicodeEncodeError:
        return entry.filename
    for encoding in ("utf-8", "gbk"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return entry.filename


def _bounded(path: Path, most: int) -> bytes:
    with path.open("rb") as opened:
        body = opened.read(most + 1)
    if len(body) > most:
        raise NotReadable("too_large", TOO_LARGE)
    return body


def _is_ours(name: str) -> bool:
    return name.lower().endswith(SUFFIXES) or name == MANIFEST
