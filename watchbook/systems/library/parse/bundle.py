"""The files of an import on disk: from a zip, a folder or one file, within bounds and with safe names.

Runs in the child process. Every file of a zip is written under a number into a folder of its own, so that names do
nothing to the machine and memory stays flat whatever the size.
"""

from __future__ import annotations

import stat
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path

MARKDOWN = (".md", ".markdown", ".mdx")
HTML = (".html", ".htm")
MANIFEST = "watchbook.json"
# Folders of other programs: settings, deleted notes, versions. Skipped by name, as is every hidden file (.gitignore).
SKIPPED_FOLDERS = {"__MACOSX", "node_modules"}
SKIPPED_NAMES = {".DS_Store", "Thumbs.db", "desktop.ini"}
DEEPEST = 32
LONGEST_NAME = 1000
# Reasons why a file of an import is skipped.
PROGRAM_FOLDER, SYMBOLIC_LINK, DUPLICATE_NAME, TOO_LARGE_FILE, SETTINGS = (
    "program_folder", "symbolic_link", "duplicate_name", "too_large", "settings",
)  # fmt: skip


class NotReadable(Exception):
    """The file cannot be imported. `code` for programs, `message` for users (translated where shown)."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def gettext_noop(text: str) -> str:
    """Marks a sentence for translation; the child loads no Django."""
    return text


TOO_LARGE = gettext_noop("The file is larger than the import limit.")
TOO_MANY = gettext_noop("The file contains more pages than the import limit.")
UNSAFE = gettext_noop("The file contains a path outside its folder, or a symbolic link.")
TOO_DEEP = gettext_noop("Folders are nested too deeply.")
BROKEN = gettext_noop("The file is not a readable zip file.")


@dataclass
class Report:
    """What an import leaves out, converts and could not resolve."""

    # (path, reason) of files that are not imported
    skipped: list[tuple[str, str]] = field(default_factory=list)
    # files that were read as Windows-1252
    decoded: list[str] = field(default_factory=list)
    # (path, target) of links and pictures whose target is not in the import
    unresolved: list[tuple[str, str]] = field(default_factory=list)
    # ids of the pages that these paths become
    places: dict[str, str] = field(default_factory=dict)
    # how often each thing of the other program became something of ours
    converted: dict[str, int] = field(default_factory=dict)
    format: str = "markdown"
    links: int = 0

    def skip(self, path: str, reason: str) -> None:
        self.skipped.append((path, reason))

    def convert(self, name: str, count: int = 1) -> None:
        if count:
            self.converted[name] = self.converted.get(name, 0) + count


@dataclass(frozen=True)
class Limits:
    max_bytes: int
    most: int
    # of one file that is kept as an attachment
    max_file_bytes: int


@dataclass
class Bundle:
    """Files by path, on disk or made from others, directories, and what is known of them beside their names."""

    files: dict[str, Path | bytes] = field(default_factory=dict)
    directories: set[str] = field(default_factory=set)
    titles: dict[str, str] = field(default_factory=dict)
    order: dict[str, float] = field(default_factory=dict)
    # Files that became pages only by conversion.
    made_pages: set[str] = field(default_factory=set)

    def read(self, path: str) -> bytes:
        body = self.files[path]
        return body if isinstance(body, bytes) else body.read_bytes()

    def head(self, path: str, size: int) -> bytes:
        body = self.files[path]
        if isinstance(body, bytes):
            return body[:size]
        with body.open("rb") as file:
            return file.read(size)

    def ending(self, suffixes: tuple[str, ...]) -> list[str]:
        return sorted(path for path in self.files if path.lower().endswith(suffixes))


def is_of_a_program(path: str) -> bool:
    return any(step in SKIPPED_FOLDERS or step.startswith(".") for step in path.split("/"))


def read_upload(path: Path, name: str, folder: Path, report: Report, limits: Limits) -> Bundle:
    """The files of a zip, or the one file itself. A zip of nothing but zips is read as one."""
    if not name.lower().endswith(".zip") and not (zipfile.is_zipfile(path) and not name.lower().endswith(".docx")):
        if path.stat().st_size > limits.max_bytes:
            raise NotReadable("too_large", TOO_LARGE)
        if not name.lower().endswith((*MARKDOWN, *HTML, ".docx", ".txt")):
            raise NotReadable("not_readable", BROKEN)
        return Bundle({safe_path(name.replace("/", "_").replace("\\", "_")): path})
    left = _Left(limits)
    bundle = _unpack(path, folder, report, left)
    if bundle.files and all(inner.lower().endswith(".zip") for inner in bundle.files):
        parts, bundle = sorted(bundle.files.items()), Bundle()
        for _inner, part in parts:
            assert isinstance(part, Path)
            found = _unpack(part, folder, report, left)
            bundle.files |= found.files
            bundle.directories |= found.directories
    return bundle


@dataclass
class _Left:
    """Bytes and files that may still come."""

    limits: Limits
    taken: int = 0
    number: int = 0

    def take(self, size: int) -> None:
        self.taken += size
        if self.taken > self.limits.max_bytes:
            raise NotReadable("too_large", TOO_LARGE)

    def place(self, folder: Path) -> Path:
        self.number += 1
        return folder / str(self.number)


def _unpack(path: Path, folder: Path, report: Report, left: _Left) -> Bundle:
    try:
        with zipfile.ZipFile(path) as archive:
            return _read_zip(archive, folder, report, left)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError):
        raise NotReadable("not_readable", BROKEN) from None


def _read_zip(archive: zipfile.ZipFile, folder: Path, report: Report, left: _Left) -> Bundle:
    entries = archive.infolist()
    if len(entries) + left.number > left.limits.most:
        raise NotReadable("too_many", TOO_MANY)
    bundle = Bundle()
    for entry in entries:
        name = safe_path(_name(entry))
        if stat.S_ISLNK(entry.external_attr >> 16) or entry.flag_bits & 1:
            raise NotReadable("unsafe", UNSAFE)
        if entry.is_dir():
            if not is_of_a_program(name):
                bundle.directories.add(name)
        elif reason := _refused(name, bundle):
            report.skip(name, reason)
        else:
            bundle.files[name] = _extract(archive, entry, folder, left)
    return bundle


def _refused(name: str, bundle: Bundle) -> str:
    folder, _slash, base = name.rpartition("/")
    if is_of_a_program(folder) or base in SKIPPED_NAMES:
        return PROGRAM_FOLDER
    if base.startswith("."):
        return SETTINGS
    return DUPLICATE_NAME if name in bundle.files else ""


def _extract(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, folder: Path, left: _Left) -> Path:
    """Write one entry. What it says of its size is a claim; what comes out is counted."""
    target = left.place(folder)
    with archive.open(entry) as opened, target.open("wb") as out:
        while chunk := opened.read(1 << 18):
            left.take(len(chunk))
            out.write(chunk)
    return target


def read_folder(root: Path, report: Report, limits: Limits) -> Bundle:
    """Return the files of a folder on this machine. Symbolic links are not followed."""
    bundle, left = Bundle(), _Left(limits)
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_symlink():
            report.skip(name, SYMBOLIC_LINK)
        elif path.is_dir():
            if not is_of_a_program(name):
                bundle.directories.add(safe_path(name))
        elif path.is_file():
            if reason := _refused(name, bundle):
                report.skip(name, reason)
                continue
            left.take(path.stat().st_size)
            bundle.files[safe_path(name)] = path
        if len(bundle.files) + len(bundle.directories) > limits.most:
            raise NotReadable("too_many", TOO_MANY)
    return bundle


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


def decode(body: bytes) -> tuple[str, bool]:
    """Return the text, and whether it was UTF-8. Every other byte sequence is read as Windows-1252 or Latin-1."""
    for encoding in ("utf-8-sig", "utf-16") if body[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig",):
        try:
            return body.decode(encoding), True
        except UnicodeDecodeError:
            continue
    try:
        return body.decode("cp1252"), False
    except UnicodeDecodeError:
        return body.decode("latin-1"), False
