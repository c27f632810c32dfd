"""Import and export of Markdown: files to pages and pages to files, both ways the same tree."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from watchbook.base import sandbox
from watchbook.base.store.scratch import scratch
from watchbook.library import options
from watchbook.library.errors import Wrong
from watchbook.library.models import NodeType, Page, Space
from watchbook.library.parse.archive import FORMAT, MANIFEST, NotReadable, PageRecord
from watchbook.library.parse.front import with_front
from watchbook.library.parse.markdown import to_html, to_markdown
from watchbook.library.parse.unpack import read_folder

READ_TASK = "watchbook.library.parse.unpack:read_task"
READ_CPU_SECONDS, READ_MEMORY_MB = 60, 1024
LONGEST_NAME = 80
NOT_IN_NAMES = '<>:"/\\|?*'


def read_file(path: Path, name: str) -> list[PageRecord]:
    """The pages of an uploaded zip or Markdown file, read in a child with hard limits."""
    if path.stat().st_size > _max_bytes():
        raise Wrong("file", _("It holds more than may be imported at once."), code="too_large")
    with scratch("import") as folder:
        argument = {"name": name, "max_bytes": _max_bytes(), "most": options.IMPORT_PAGES.value}
        try:
            told = sandbox.call(
                READ_TASK, argument, input_path=path, output_path=folder / "pages",
                cpu_seconds=READ_CPU_SECONDS, memory_mb=READ_MEMORY_MB,
            )  # fmt: skip
        except sandbox.TaskError as error:
            raise Wrong("file", _(error.message), code=error.code) from None
        if "error" in told:
            raise Wrong("file", _(told["error"]["message"]), code=told["error"]["code"])
        with (folder / "pages").open(encoding="utf-8") as lines:
            return [PageRecord(**json.loads(line)) for line in lines]


def read_path(path: Path) -> list[PageRecord]:
    """For the command line: a folder, a zip or a Markdown file of this machine."""
    if not path.is_dir():
        return read_file(path, path.name)
    try:
        return read_folder(path, max_bytes=_max_bytes(), most=options.IMPORT_PAGES.value)
    except NotReadable as error:
        raise Wrong("file", _(error.message), code=error.code) from None


def _max_bytes() -> int:
    return options.IMPORT_MEGABYTES.value * 1_000_000


def entries(space: Space) -> Iterator[tuple[str, bytes | None]]:
    """Path and bytes of everything in a space, directories without bytes, the manifest last."""
    manifest: list[dict[str, Any]] = []
    for page, path, has_children in _walk(space):
        said: dict[str, Any] = {"path": path, "title": page.title, "node_type": page.node_type}
        if page.is_pinned:
            said["pinned"] = True
        if page.node_type == NodeType.FOLDER:
            yield path, None
        else:
            markdown = to_markdown(page.content)
            body = with_front(page.title, markdown).encode()
            if to_html(markdown) != page.content:
                said |= {"sha256": sha256(body).hexdigest(), "content": page.content}
            yield path, body
            if has_children:
                yield path.removesuffix(".md"), None
        manifest.append(said)
    yield MANIFEST, json.dumps({"format": FORMAT, "pages": manifest}, ensure_ascii=False, indent=1).encode()


def _walk(space: Space) -> Iterator[tuple[Page, str, bool]]:
    """Every live page with its path, parents first, siblings in order. No recursion: a tree may be deep."""
    heads = Page.objects.live().filter(space=space).with_type().in_order().defer("content")
    below: dict[UUID | None, list[Page]] = {}
    for head in heads:
        below.setdefault(head.parent_page_id, []).append(head)
    waiting: list[tuple[UUID | None, str]] = [(None, "")]
    while waiting:
        parent, prefix = waiting.pop(0)
        taken: set[str] = {MANIFEST.lower(), _stem(MANIFEST)}
        for head in below.get(parent, []):
            name = _free_name(head.title, taken)
            path = f"{prefix}{name}"
            if head.pk in below:
                waiting.append((head.pk, f"{path}/"))
            # The text is read one page at a time: a space may hold more than fits into memory.
            page = Page.objects.with_type().get(pk=head.pk)
            yield page, path if page.node_type == NodeType.FOLDER else f"{path}.md", head.pk in below


def _free_name(title: str, taken: set[str]) -> str:
    """A name that every system takes and no sibling has, whatever it does with upper and lower case."""
    kept = "".join("_" if sign in NOT_IN_NAMES or ord(sign) < 32 else sign for sign in title)
    while len(kept.encode()) > LONGEST_NAME:
        kept = kept[:-1]
    kept = kept.strip(" .") or "_"
    name, number = kept, 2
    while name.casefold() in taken:
        name, number = f"{kept} ({number})", number + 1
    taken.add(name.casefold())
    return name


def _stem(name: str) -> str:
    return name.rpartition(".")[0]


def write_zip(space: Space, target: Path) -> int:
    """The space as a zip; gives how many files and folders it holds."""
    count = 0
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, body in entries(space):
            archive.writestr(f"{path}/" if body is None else path, body or b"")
            count += 1
    return count


def write_folder(space: Space, target: Path) -> int:
    """The space as a folder of files."""
    count = 0
    for path, body in entries(space):
        place = target / path
        if body is None:
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(body)
        count += 1
    return count
