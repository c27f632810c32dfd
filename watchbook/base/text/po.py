"""Message catalogues without gettext's tools: .po files are read, .mo files are written.

`python -m watchbook.base.text.po FOLDER` compiles every locale/*/LC_MESSAGES/*.po below a folder. The result depends on
the text alone, so a test can tell whether a committed .mo is up to date. A fuzzy or empty entry is not a translation.
"""

from __future__ import annotations

import ast
import re
import struct
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

_MAGIC = 0x950412DE
_KEYWORD = re.compile(r'(msgctxt|msgid_plural|msgid|msgstr(?:\[(\d)\])?)\s*(".*")\Z')


class UnreadableCatalogue(Exception):
    """A .po file breaks its grammar. The message names the file and the line; mend it there."""


@dataclass
class Message:
    """One entry. `strings` holds one translation, or one for each plural form."""

    id: str = ""
    plural: str | None = None
    context: str | None = None
    strings: dict[int, str] = field(default_factory=dict)
    is_fuzzy: bool = False

    @property
    def key(self) -> str:
        """How the entry is named in the .mo file, before the plural is added."""
        return self.id if self.context is None else f"{self.context}\x04{self.id}"

    @property
    def is_translated(self) -> bool:
        return not self.is_fuzzy and bool(self.strings) and all(self.strings.values())


def parse(text: str, name: str = "catalogue") -> list[Message]:
    """All entries in their order; the header is the one with an empty id."""
    return [message for message in _Reader(name).read(text.splitlines()) if message is not None]


class _Reader:
    def __init__(self, name: str) -> None:
        self.name = name
        self.message = Message()
        self.part: tuple[str, int] | None = None

    def read(self, lines: Iterable[str]) -> Iterator[Message]:
        for number, raw in enumerate(lines, start=1):
            line = raw.strip()
            # A new entry begins with a comment, a context or an id after the strings of the one before.
            if self.message.strings and (line.startswith(("#", "msgctxt")) or re.match(r"msgid\s", line)):
                yield self.message
                self.message = Message()
            if line.startswith("#"):
                self.message.is_fuzzy |= line.startswith("#,") and "fuzzy" in line
            elif line:
                self._take(line, number)
        if self.message.strings:
            yield self.message

    def _take(self, line: str, number: int) -> None:
        found = _KEYWORD.match(line)
        if found:
            self.part = (found[1].partition("[")[0], int(found[2] or 0))
            self._add(self._text(found[3], number))
        elif line.startswith('"') and self.part:
            self._add(self._text(line, number))
        else:
            raise UnreadableCatalogue(f"{self.name}, line {number}: not a part of a catalogue: {line[:60]}")

    def _text(self, quoted: str, number: int) -> str:
        try:
            text = ast.literal_eval(quoted)
        except (SyntaxError, ValueError):
            raise UnreadableCatalogue(f"{self.name}, line {number}: not a quoted text: {quoted[:60]}") from None
        return str(text)

    def _add(self, text: str) -> None:
        assert self.part
        keyword, index = self.part
        if keyword == "msgid":
            self.message.id += text
        elif keyword == "msgid_plural":
            self.message.plural = (self.message.plural or "") + text
        elif keyword == "msgctxt":
            self.message.context = (self.message.context or "") + text
        else:
            self.message.strings[index] = self.message.strings.get(index, "") + text


def compile_messages(messages: Iterable[Message]) -> bytes:
    """The bytes of a .mo file."""
    pairs = sorted(
        (
            (message.key if message.plural is None else f"{message.key}\x00{message.plural}").encode(),
            "\x00".join(text for _, text in sorted(message.strings.items())).encode(),
        )
        for message in messages
        if message.is_translated
    )
    start = 28 + 16 * len(pairs)
    ids = b"".join(key + b"\x00" for key, _ in pairs)
    strings = b"".join(value + b"\x00" for _, value in pairs)
    id_table = _table([key for key, _ in pairs], start)
    string_table = _table([value for _, value in pairs], start + len(ids))
    head = struct.pack("<7I", _MAGIC, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, 0)
    return head + id_table + string_table + ids + strings


def _table(texts: list[bytes], offset: int) -> bytes:
    rows = []
    for text in texts:
        rows.append(struct.pack("<2I", len(text), offset))
        offset += len(text) + 1
    return b"".join(rows)


def catalogues(folder: Path) -> list[Path]:
    """Every .po file below a folder."""
    return sorted(folder.glob("**/locale/*/LC_MESSAGES/*.po"))


def compile_file(path: Path) -> bytes:
    return compile_messages(parse(path.read_text(encoding="utf-8"), str(path)))


def compile_all(folder: Path) -> list[Path]:
    """Writes the .mo beside each .po whose content changed, and says which."""
    written = []
    for path in catalogues(folder):
        target, content = path.with_suffix(".mo"), compile_file(path)
        if not target.exists() or target.read_bytes() != content:
            target.write_bytes(content)
            written.append(target)
    return written


if __name__ == "__main__":
    for _target in compile_all(Path(sys.argv[1] if len(sys.argv) > 1 else ".")):
        sys.stdout.write(f"{_target}\n")
