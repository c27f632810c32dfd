"""A dump of what the stand-in Reddit holds, in the form of public dumps: JSON Lines, zstd, one kind in each file."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import zstandard

from standins.reddit.render import Printer
from standins.reddit.world import Thing, World


def write_dump(world: World, path: Path, things: Sequence[Thing], *, more: Sequence[bytes] = ()) -> Path:
    """Write the things as they are now, read at the world's time; `more` are lines that are put between them."""
    read_at = int(world.now().timestamp())
    printer, lines = Printer(world), []
    for made in things:
        child = json.loads(printer.listing([made], after=None, before=None))["data"]["children"][0]["data"]
        # Old dumps write the time as text.
        child |= {"retrieved_on": read_at, "created_utc": str(int(child["created_utc"]))}
        child.pop("link_title", None)
        lines.append(json.dumps(escaped(child)).encode())
    middle = len(lines) // 2
    lines[middle:middle] = more
    path.write_bytes(zstandard.ZstdCompressor().compress(b"\n".join(lines) + b"\n"))
    return path


def escaped(value: Any) -> Any:
    """The makers of dumps do not ask for `raw_json`: Reddit escapes three characters in every text."""
    if isinstance(value, str):
        return html.escape(value, quote=False)
    if isinstance(value, dict):
        return {name: escaped(one) for name, one in value.items()}
    return [escaped(one) for one in value] if isinstance(value, list) else value
