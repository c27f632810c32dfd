"""Import and export: files of other programs in, and a page, folder or space out as Markdown files or one HTML file."""

from __future__ import annotations

import json
import zipfile
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import IO, Any, cast
from uuid import UUID

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from watchbook.base import sandbox
from watchbook.base.files import NOT_IN_NAMES
from watchbook.base.store import blobs
from watchbook.systems.library import options
from watchbook.systems.library.access import Sight
from watchbook.systems.library.errors import Wrong
from watchbook.systems.library.models import Attachment, AttachmentUse, NodeType, Page, PageSource, Space
from watchbook.systems.library.models.tree import subtree
from watchbook.systems.library.parse.archive import (
    FORMAT,
    Contents,
    FileRecord,
    PageRecord,
    read_machine_folder,
)
from watchbook.systems.library.parse.bundle import MANIFEST, Limits, NotReadable, Report
from watchbook.systems.library.parse.front import values, with_front
from watchbook.systems.library.parse.links import addresses, attachment_ids, relative_links, with_targets, without_ids
from watchbook.systems.library.parse.markdown import to_html, to_markdown

READ_TASK = "watchbook.systems.library.parse.archive:read_task"
READ_CPU_SECONDS, READ_MEMORY_MB = 120, 1024
LONGEST_NAME = 80
BATCH = 500
# For an operator at the command line.
EVERYTHING = Sight()


def read_file(path: Path, name: str, folder: Path) -> tuple[Contents, Report]:
    """The contents of an uploaded file, read in a child with hard limits; files are unpacked into the folder."""
    limits = _limits()
    if path.stat().st_size > limits.max_bytes:
        raise Wrong("file", _("The file is larger than the import limit."), code="too_large")
    argument = {"name": name, "folder": str(folder), **vars(limits)}
    try:
        told = sandbox.call(
            READ_TASK, argument, input_path=path, output_path=folder / "records",
            cpu_seconds=READ_CPU_SECONDS, memory_mb=READ_MEMORY_MB,
        )  # fmt: skip
    except sandbox.TaskError as error:
        raise Wrong("file", _(error.message), code=error.code) from None
    if "error" in told:
        raise Wrong("file", _(told["error"]["message"]), code=told["error"]["code"])
    found = Contents()
    with (folder / "records").open(encoding="utf-8") as lines:
        for line in lines:
            for kind, record in json.loads(line).items():
                if kind == "page":
                    found.pages.append(PageRecord(**record))
                else:
                    found.files.append(FileRecord(**record))
    given = told["report"]
    for name in ("skipped", "unresolved"):
        given[name] = [tuple(pair) for pair in given[name]]
    return found, Report(**given)


def read_path(path: Path, folder: Path) -> tuple[Contents, Report]:
    """Read a folder, a zip or one file of this machine, for the command line."""
    if not path.is_dir():
        return read_file(path, path.name, folder)
    try:
        report = Report()
        return read_machine_folder(path, folder, report, _limits()), report
    except NotReadable as error:
        raise Wrong("file", _(error.message), code=error.code) from None


def _limits() -> Limits:
    return Limits(
        options.IMPORT_MEGABYTES.value * 1_000_000,
        options.IMPORT_PAGES.value,
        options.ATTACHMENT_MEGABYTES.value * 1_000_000,
    )


@dataclass
class Place:
    """A page of an export and its path."""

    page: Page
    path: str
    has_children: bool
    source: PageSource | None


@dataclass
class Export:
    """What is exported: pages with their paths, attachments with theirs, and all paths by id."""

    pages: list[Place] = field(default_factory=list)
    files: list[tuple[str, Attachment]] = field(default_factory=list)
    paths: dict[str, str] = field(default_factory=dict)


def plan_export(space: Space, top: Page | None, seen: Sight) -> Export:
    """Give every page and attachment a path: of the whole space, or of one page or folder with all below it.

    Pages that the reader does not see are omitted, with what is below them; others have the titles of `seen`.
    """
    heads = seen.rows(Page.objects.live().filter(space=space)).with_type().in_order().defer("content")
    rows = seen.show(heads)
    if top is not None:
        wanted = set(subtree(top.pk, space.pk))
        rows = [row for row in rows if row.pk in wanted]
    sources = PageSource.objects.filter(page__space=space).in_bulk()
    plan = Export()
    taken: dict[str, set[str]] = {"": {MANIFEST.lower()}}
    _place_pages(rows, top, sources, plan, taken)
    _place_files(plan, taken, seen)
    return plan


def _place_pages(
    rows: list[Page], top: Page | None, sources: dict[UUID, PageSource], plan: Export, taken: dict[str, set[str]]
) -> None:
    """Parents first. Not recursive: a tree can be deep."""
    below: dict[UUID | None, list[Page]] = {}
    for row in rows:
        below.setdefault(None if top is not None and row.pk == top.pk else row.parent_page_id, []).append(row)
    waiting: list[tuple[UUID | None, str]] = [(None, "")]
    while waiting:
        parent, prefix = waiting.pop(0)
        names = taken.setdefault(prefix, set())
        for row in below.get(parent, []):
            source = sources.get(row.pk)
            path = prefix + _page_name(row, source, row.pk in below, names)
            plan.pages.append(Place(row, path, row.pk in below, source))
            plan.paths[str(row.pk)] = path
            if row.pk in below:
                waiting.append((row.pk, f"{_inside(path, row)}/"))


def _page_name(row: Page, source: PageSource | None, has_children: bool, taken: set[str]) -> str:
    """Return the name of a page or folder: the one it was imported with, or one after its title.

    A folder takes a directory, a page a file, a page with pages below it both.
    """
    if row.node_type == NodeType.FOLDER:
        return free_name(row.title, taken)
    wanted, suffix = row.title, ".md"
    if source is not None and source.file_name and source.title == row.title:
        wanted, _dot, end = source.file_name.rpartition(".")
        suffix = f".{end}"
    return free_name(wanted, taken, suffix, also_folder=has_children)


def free_name(title: str, taken: set[str], suffix: str = "", *, also_folder: bool = False) -> str:
    """A name that every system takes and no sibling has, whatever it does with upper and lower case."""
    kept = "".join("_" if sign in NOT_IN_NAMES or ord(sign) < 32 else sign for sign in title)
    while len(kept.encode()) > LONGEST_NAME:
        kept = kept[:-1]
    kept = kept.strip(" .") or "_"
    name, number = kept, 2
    while f"{name}{suffix}".casefold() in taken or (also_folder and name.casefold() in taken):
        name, number = f"{kept} ({number})", number + 1
    taken.add(f"{name}{suffix}".casefold())
    if also_folder:
        taken.add(name.casefold())
    return f"{name}{suffix}"


def _inside(path: str, page: Page) -> str:
    """The directory of what is in a folder or below a page."""
    return path if page.node_type == NodeType.FOLDER else path.rpartition(".")[0]


def _place_files(plan: Export, taken: dict[str, set[str]], seen: Sight) -> None:
    """Attachments lie in their folder, or in the directory that has the name of their page."""
    places = {place.page.pk: place for place in plan.pages}
    for attachment, home in _attachments_of(places, seen):
        place = places[home]
        folder = _inside(place.path, place.page)
        stem, dot, suffix = attachment.name.rpartition(".")
        names = taken.setdefault(f"{folder}/", set())
        name = free_name(stem or suffix, names, f".{suffix}" if dot and stem else "")
        plan.files.append((f"{folder}/{name}", attachment))
        plan.paths[str(attachment.pk)] = f"{folder}/{name}"


def _attachments_of(places: Mapping[UUID, Place], seen: Sight) -> Iterator[tuple[Attachment, UUID]]:
    """Yield the attachments in these folders and in the texts of these pages, each once, with its place.

    An upload that no version shows is no part of a page.
    """
    ids = list(places)
    shown: dict[UUID, tuple[Attachment, UUID]] = {}
    for start in range(0, len(ids), BATCH):
        some = ids[start : start + BATCH]
        uses = seen.uses(AttachmentUse.objects.filter(page__in=some)).order_by("page_id", "pk")
        for use in uses.select_related("attachment"):
            home = use.attachment.home_id
            place = home if home is not None and home in places else use.page_id
            shown.setdefault(use.attachment_id, (use.attachment, place))
        folders = [pk for pk in some if places[pk].page.node_type == NodeType.FOLDER]
        for attachment in Attachment.objects.filter(home__in=folders):
            shown[attachment.pk] = (attachment, cast(UUID, attachment.home_id))
    yield from sorted(shown.values(), key=lambda pair: (pair[0].created_at, pair[0].name, str(pair[0].pk)))


def entries(space: Space, top: Page | None, seen: Sight) -> Iterator[tuple[str, bytes | Attachment | None]]:
    """Path and content of everything in an export, directories without content, the manifest last."""
    plan = plan_export(space, top, seen)
    manifest: list[dict[str, Any]] = []
    for place in plan.pages:
        # The text is read one page at a time: a space may hold more than fits into memory.
        page = Page.objects.with_type().get(pk=place.page.pk)
        seen.shows(page)
        said: dict[str, Any] = {"path": place.path, "title": page.title, "node_type": page.node_type}
        if page.is_pinned:
            said["pinned"] = True
        if page.node_type == NodeType.FOLDER:
            yield place.path, None
        else:
            content = relative_links(without_ids(page.content), place.path, plan.paths)
            markdown = to_markdown(content)
            body = _file_text(page, place, markdown).encode()
            if to_html(markdown) != content:
                said |= {"sha256": sha256(body).hexdigest(), "content": content}
            yield place.path, body
            if place.has_children:
                yield _inside(place.path, page), None
        manifest.append(said)
    yield from plan.files
    yield MANIFEST, json.dumps({"format": FORMAT, "pages": manifest}, ensure_ascii=False, indent=1).encode()


def _file_text(page: Page, place: Place, markdown: str) -> str:
    """Return the file with its front matter. The title is in it unless the file name says it as the import did."""
    front = place.source.front if place.source else ""
    stem = place.path.rpartition("/")[2].rpartition(".")[0]
    is_said = place.source is not None and stem == page.title and "title" not in values(front)
    return with_front("" if is_said else page.title, markdown, front)


def write_zip(space: Space, target: Path, top: Page | None = None, *, seen: Sight = EVERYTHING) -> int:
    """Write a zip; gives how many files and folders it holds."""
    count = 0
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, body in entries(space, top, seen):
            if isinstance(body, Attachment):
                with archive.open(path, "w") as out:
                    _copy(body, out)
            else:
                archive.writestr(f"{path}/" if body is None else path, body or b"")
            count += 1
    return count


def write_folder(space: Space, target: Path, *, seen: Sight = EVERYTHING) -> int:
    """Write the space as a folder of files."""
    count = 0
    for path, body in entries(space, None, seen):
        place = target / path
        if body is None:
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("wb") as out:
                if isinstance(body, Attachment):
                    _copy(body, out)
                else:
                    out.write(body)
        count += 1
    return count


def _copy(attachment: Attachment, out: IO[bytes]) -> None:
    for chunk in blobs.stream(attachment.sha256):
        out.write(chunk)


STYLE = (
    "body{max-width:46rem;margin:2rem auto;padding:0 1rem;font:16px/1.6 serif}img{max-width:100%}"
    "pre{overflow:auto;background:#f4f4f4;padding:1rem}table{border-collapse:collapse}td,th{border:1px solid #bbb;"
    "padding:.25rem .5rem}blockquote{border-left:3px solid #bbb;margin-left:0;padding-left:1rem}"
    "@page{size:A4;margin:18mm}@media print{body{max-width:none;margin:0;padding:0;font-size:11pt}"
    "section{break-before:page}h1,h2,h3{break-after:avoid}pre{white-space:pre-wrap}img,tr{break-inside:avoid}}"
)


def write_html(space: Space, target: Path, top: Page | None = None, *, seen: Sight = EVERYTHING) -> int:
    """Write everything as one HTML file: contents, pages with anchors, pictures inside, no script and no request."""
    plan = plan_export(space, top, seen)
    ids = {str(place.page.pk) for place in plan.pages}
    pictures = {str(each.pk): each for _path, each in plan.files}
    with target.open("w", encoding="utf-8") as out:
        title = escape(top.title if top else space.name)
        policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
        out.write(
            f'<!doctype html><html lang="{get_language() or "en"}"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}"><title>{title}</title>'
            f"<style>{STYLE}</style></head><body><h1>{title}</h1><nav><ul>"
        )
        for place in plan.pages:
            out.write(f'<li><a href="#p-{place.page.pk}">{escape(place.page.title)}</a></li>')
        out.write("</ul></nav>")
        for place in plan.pages:
            page = Page.objects.with_type().get(pk=place.page.pk)
            seen.shows(page)
            out.write(f'<section id="p-{page.pk}"><h1>{escape(page.title)}</h1>')
            out.write(_standing_alone(page.content, ids, pictures))
            out.write("</section>")
        out.write("</body></html>")
    return len(plan.pages)


def _standing_alone(text: str, ids: set[str], pictures: dict[str, Attachment]) -> str:
    """Return a text with links inside the file and pictures as data."""
    targets = {pk: f"#p-{pk}" for pk in ids}
    for pk in attachment_ids(addresses(text)):
        if (found := pictures.get(pk)) and found.is_picture:
            data = b64encode(b"".join(blobs.stream(found.sha256))).decode()
            targets[pk] = f"data:{found.media_type};base64,{data}"
    return with_targets(without_ids(text), targets)
