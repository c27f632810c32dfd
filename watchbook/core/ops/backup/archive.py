"""Writing and reading the tar file. Everything read from one is checked against the manifest before it is used."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import zstandard

from watchbook.core.ops.backup import manifest as contents
from watchbook.core.ops.backup.errors import Damaged
from watchbook.core.ops.backup.manifest import Manifest, Member

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
        self.tar.addfile(_header(contents.NAME, len(raw)), io.BytesIO(raw))
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
            if info.name != contents.NAME and not contents.is_allowed(info.name):
                raise Damaged(f"{info.name[:100]!r} does not belong into a backup.")
            found[info.name] = info
        return found

    def _read_manifest(self) -> Manifest:
        info = self._infos.pop(contents.NAME, None)
        if info is None or info.size > contents.LARGEST:
            raise Damaged("There is no manifest: the backup was not finished.")
        file = self.tar.extractfile(info)
        assert file is not None  # checked to be a plain file
        manifest = contents.read(file.read())
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
