"""Message catalogues: reads, completes and compiles every locale/*/LC_MESSAGES/django.po with Babel.

`python -m tests.i18n.catalogues` (`make messages`) appends strings that have no entry, with the Chinese that another
catalogue already gives for the same English, removes entries that no text uses, and compiles the .mo files. The bytes
of a .mo depend on the .po alone, so a test can say whether a committed one is current.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

import watchbook
from tests.i18n.strings import Found, strings_of

PACKAGE = Path(watchbook.__file__).parent
LANGUAGE = "zh_Hans"
# Babel writes the time of compilation into the header; a fixed one keeps the bytes stable.
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def paths(package: Path = PACKAGE) -> list[Path]:
    """Return every Chinese catalogue of the package."""
    return sorted(package.glob(f"**/locale/{LANGUAGE}/LC_MESSAGES/django.po"))


def read(path: Path) -> Catalog:
    with path.open("rb") as file:
        catalog = read_po(file, locale=LANGUAGE, domain="django")
    catalog.creation_date = catalog.revision_date = EPOCH
    return catalog


def compiled(path: Path) -> bytes:
    """Return the bytes of the .mo file. Fuzzy and empty entries are not translations."""
    buffer = io.BytesIO()
    write_mo(buffer, read(path))
    return buffer.getvalue()


def messages(path: Path) -> list[Message]:
    """Return the entries of a catalogue, without its header."""
    return [message for message in read(path) if message.id]


def key_of(message: Message) -> str:
    """Name an entry as `strings_of` does: context, separator and English singular."""
    single = message.id[0] if isinstance(message.id, (list, tuple)) else message.id
    return f"{message.context}\x04{single}" if message.context else str(single)


def plural_of(message: Message) -> str | None:
    return message.id[1] if isinstance(message.id, (list, tuple)) else None


def texts_of(message: Message) -> tuple[str, ...]:
    """Return the translations: one, or one for each plural form."""
    return tuple(message.string) if isinstance(message.string, (list, tuple)) else (str(message.string),)


def is_translated(message: Message) -> bool:
    return not message.fuzzy and all(texts_of(message))


def home_of(found: Found, catalogues: Iterable[Path]) -> Path | None:
    """Return the catalogue of the package that a string belongs to: the nearest one above its file."""
    place = Path(found.place.rpartition(":")[0])
    inside = [path for path in catalogues if path.parents[3] in place.parents]
    return max(inside, key=lambda path: len(path.parts), default=None)


def append(path: Path, strings: Iterable[Found], known: dict[str, Message]) -> int:
    """Append entries for strings, translated where another catalogue knows them. Return how many lack Chinese."""
    lacking, blocks = 0, []
    for found in strings:
        twin = known.get(found.key)
        texts = texts_of(twin) if twin and (plural_of(twin) is None) == (found.plural is None) else ("",)
        lacking += not all(texts)
        context, _, single = found.key.rpartition("\x04")
        lines = [f"msgctxt {quote(context)}"] if context else []
        lines.append(f"msgid {quote(single)}")
        lines += [f"msgid_plural {quote(found.plural)}"] if found.plural else []
        lines.append(f"msgstr{'[0]' if found.plural else ''} {quote(texts[0])}")
        blocks.append("\n".join(lines))
    if blocks:
        path.write_text(path.read_text("utf-8").rstrip("\n") + "\n\n" + "\n\n".join(blocks) + "\n", "utf-8")
    return lacking


def quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def prune(path: Path, used: set[str]) -> int:
    """Remove entries that no text uses. Blocks of a catalogue are divided by empty lines."""
    head, *blocks = path.read_text("utf-8").rstrip("\n").split("\n\n")
    unused = {key_of(message) for message in messages(path)} - used
    kept = [block for block in blocks if not ({_key(block)} & unused)]
    if len(kept) != len(blocks):
        path.write_text("\n\n".join([head, *kept]) + "\n", "utf-8")
    return len(blocks) - len(kept)


def _key(block: str) -> str:
    found = [message for message in read_po(io.BytesIO(block.encode()), locale=LANGUAGE) if message.id]
    return key_of(found[0]) if found else ""


def complete(package: Path = PACKAGE) -> tuple[int, int, int]:
    """Bring every catalogue up to date with the texts. Return entries added, lacking Chinese, removed."""
    catalogues, strings = paths(package), strings_of(package)
    known = {key_of(m): m for path in catalogues for m in messages(path) if is_translated(m)}
    present = {key_of(message) for path in catalogues for message in messages(path)}
    wanted: dict[Path, dict[str, Found]] = {}
    for found in strings:
        home = home_of(found, catalogues)
        if home and found.key not in present:
            wanted.setdefault(home, {}).setdefault(found.key, found)
    lacking = sum(append(path, missing.values(), known) for path, missing in wanted.items())
    used = {found.key for found in strings}
    removed = sum(prune(path, used) for path in catalogues)
    return sum(map(len, wanted.values())), lacking, removed


def compile_all(package: Path = PACKAGE) -> list[Path]:
    """Write the .mo beside each .po whose content changed, and return those."""
    written = []
    for path in paths(package):
        target, content = path.with_suffix(".mo"), compiled(path)
        if not target.exists() or target.read_bytes() != content:
            target.write_bytes(content)
            written.append(target)
    return written


def main() -> int:
    added, lacking, removed = complete()
    for target in compile_all():
        sys.stdout.write(f"{target.relative_to(PACKAGE.parent)}\n")
    sys.stdout.write(f"{added} entries added, {lacking} without Chinese, {removed} removed\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
