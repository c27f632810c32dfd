"""The file of a backup: its table of contents, the names that may be in it, writing and reading.

BackupError            the message is one sentence for the operator
├── CannotTake         nothing was written: free up disk space, or give another path
├── Damaged            the file is not a whole backup: create another one
└── CannotRestore      the backup is good, but this server cannot use it: the sentence gives the reason
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

import zstandard


class BackupError(Exception):
    pass


class CannotTake(BackupError):
    pass


class Damaged(BackupError):
    pass


class CannotRestore(BackupError):
    pass


FORM = 1
NAME = "manifest.json"
LARGEST = 64 * 1024 * 1024

_STEP = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,120}"
_ALLOWED = re.compile(
    rf"(?:database\.sqlite3\.zst|tables/{_STEP}\.zst|keys/{_STEP}|blobs/(?:{_STEP}/){{0,4}}{_STEP})\Z"
)
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")


@dataclass(frozen=True)
class Member:
    size: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    program: str
    made_at: str
    vendor: str
    with_keys: bool
    # app label and name of every applied migration: the schema that the rows fit
    migrations: list[list[str]]
    tables: dict[str, int]
    # columns of each table and next numbers of sequences, for databases that are written as rows
    columns: dict[str, list[str]] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    # first characters of the digest of each key for secrets, so that a restore knows whether it has the right one
    key_prints: dict[str, str] = field(default_factory=dict)
    members: dict[str, Member] = field(default_factory=dict)
    # digest -> size of the blobs outside the database that rows refer to, and those of all blobs that could not be read
    blob_sizes: dict[str, int] = field(default_factory=dict)
    missing_blobs: list[str] = field(default_factory=list)
    form: int = FORM

    def to_json(self) -> bytes:
        return json.dumps(asdict(self), ensure_ascii=False, indent=1).encode()

    @property
    def rows(self) -> int:
        return sum(self.tables.values())

    @property
    def blobs(self) -> int:
        return sum(name.startswith("blobs/") for name in self.members)


def blob_member(sha256: str) -> str:
    return f"blobs/{sha256[:2]}/{sha256}"


def is_allowed(name: str) -> bool:
    """Only names that a backup itself writes: no absolute paths, no `..`, no hidden files, no other folders."""
    return _ALLOWED.match(name) is not None and ".." not in name


def read_manifest(raw: bytes) -> Manifest:
    try:
        data: dict[str, Any] = json.loads(raw)
        if data.get("form") != FORM:
            raise Damaged(f"This backup has form {data.get('form')!r}; this version of the program reads form {FORM}.")
        members = {name: Member(int(m["size"]), str(m["sha256"])) for name, m in data.pop("members").items()}
        manifest = Manifest(**{**data, "members": members})
        checked = all(is_allowed(n) and _DIGEST.match(m.sha256) and m.size >= 0 for n, m in members.items())
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise Damaged(f"The manifest cannot be read ({type(error).__name__}).") from None
    if not checked:
        raise Damaged("The manifest names something that a backup never holds.")
    return manifest


CHUNK = 1024 * 1024
Beat = Callable[[], None]


class Writer:
    """Adds files and remembers the digest of each."""

    def __init__(self, file: IO[bytes], beat: Beat) -> None:
        self.tar = tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT)  # noqa: SIM115 - closed by `finish`
        self.members: dict[str, Member] = {}
        self.beat = beat

    def add(self, name: str, path: Path) -> None:
        size = path.stat().st_size
        with path.open("rb") as source:
            reader = _Hashing(source, self.beat)
            self.tar.addfile(_header(name, size), reader)
        self.members[name] = Member(size, reader.hexdigest())

    def finish(self, manifest: Manifest) -> None:
        raw = manifest.to_json()
        self.tar.addfile(_header(NAME, len(raw)), io.BytesIO(raw))
        self.tar.close()


def _header(name: str, size: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o600
    return info


class _Hashing:
    def __init__(self, source: IO[bytes], beat: Beat) -> None:
        self.source, self.beat, self._digest = source, beat, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self.source.read(size)
        self._digest.update(data)
        self.beat()
        return data

    def hexdigest(self) -> str:
        return self._digest.hexdigest()


class Reader:
    """An opened backup whose every member is what the manifest says. `check` reads the whole file once."""

    def __init__(self, path: Path) -> None:
        try:
            self.tar = tarfile.open(path, mode="r:")  # noqa: SIM115 - closed by `close`
            self._infos = self._list()
        except (tarfile.TarError, EOFError) as error:
            raise Damaged(f"{path.name} is not a whole backup ({type(error).__name__}).") from None
        self.manifest = self._read_manifest()

    def _list(self) -> dict[str, tarfile.TarInfo]:
        found: dict[str, tarfile.TarInfo] = {}
        for info in self.tar:
            if info.name in found or not info.isreg():
                raise Damaged(f"{info.name[:100]!r} stands twice or is no plain file.")
            if info.name != NAME and not is_allowed(info.name):
                raise Damaged(f"{info.name[:100]!r} does not belong into a backup.")
            found[info.name] = info
        return found

    def _read_manifest(self) -> Manifest:
        info = self._infos.pop(NAME, None)
        if info is None or info.size > LARGEST:
            raise Damaged("There is no manifest: the backup was not finished.")
        file = self.tar.extractfile(info)
        assert file is not None  # checked to be a plain file
        manifest = read_manifest(file.read())
        if set(self._infos) != set(manifest.members):
            raise Damaged("What the manifest lists is not what is inside.")
        return manifest

    def check(self, beat: Beat = lambda: None) -> None:
        for name in self._infos:
            with self.open(name) as source:
                while source.read(CHUNK):
                    beat()

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """A member as it is stored. Size and digest are checked at the end of the block."""
        info, wanted = self._infos[name], self.manifest.members[name]
        if info.size != wanted.size:
            raise Damaged(f"{name} has another size than the manifest says.")
        file = self.tar.extractfile(info)
        assert file is not None  # checked to be a plain file
        digest = _Hashing(file, lambda: None)
        yield digest  # type: ignore[misc]
        while digest.read(CHUNK):
            pass
        if digest.hexdigest() != wanted.sha256:
            raise Damaged(f"{name} is not what was written: its digest differs.")

    def save(self, name: str, target: Path, beat: Beat = lambda: None) -> None:
        with self.open(name) as source, target.open("xb") as out:
            while chunk := source.read(CHUNK):
                out.write(chunk)
                beat()

    @contextmanager
    def unpacked(self, name: str) -> Iterator[IO[bytes]]:
        """A compressed member in the clear."""
        with self.open(name) as source:
            try:
                yield zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(source)
            except zstandard.ZstdError:
                raise Damaged(f"{name} cannot be unpacked.") from None

    def close(self) -> None:
        self.tar.close()


@contextmanager
def packing(target: Path) -> Iterator[IO[bytes]]:
    """A file that is compressed while it is written."""
    with target.open("xb") as out:
        with zstandard.ZstdCompressor(level=3, write_checksum=True).stream_writer(out, closefd=False) as packed:
            yield packed
