"""Reads the files of an import as a list of pages and attachments, parents before children.

A directory is a folder; `Name.md` is a page; a directory `Name` beside `Name.md` holds the pages and attachments of
that page, unless it holds directories of its own, which a page may not. Any other file is an attachment of its folder.
`watchbook.json`, where our export wrote one, adds titles, order, pins, and the texts that Markdown cannot say.

Runs in a child process: `read_task` takes input_path, output_path, folder and limits, writes one record per line, and
returns counts, or {"error": {code, message}}.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from watchbook.base.files import HEAD, PICTURES, inspect_task, safe_name, type_of
from watchbook.systems.library.parse import formats, front
from watchbook.systems.library.parse.bundle import (
    HTML,
    MANIFEST,
    TOO_LARGE_FILE,
    Bundle,
    Limits,
    NotReadable,
    Report,
    decode,
    gettext_noop,
    read_folder,
    read_upload,
)
from watchbook.systems.library.parse.html import TooComplex, clean
from watchbook.systems.library.parse.links import FILE_PATH, SUFFIXES, Resolver
from watchbook.systems.library.parse.markdown import compact, frames_as_links, read, shaped, to_html, write

FORMAT = 1
TITLE = 500
TOO_COMPLEX = gettext_noop("The text has too many tags, attributes or levels.")
NOTHING = gettext_noop("No Markdown file and no folder found.")
# Programs that write the title of a page as its first heading as well.
DOUBLE_TITLES = {"notion", "outline", "docmost"}
# Their file names say nothing that the title does not.
OWN_NAMES = {"notion", "bookstack", "docx", "html"}


@dataclass(frozen=True)
class PageRecord:
    """A page to create; `parent` is the index of its parent in the list. Links of the import name pages by `id`."""

    title: str
    node_type: str
    content: str
    parent: int | None
    is_pinned: bool = False
    id: str = field(default_factory=lambda: str(uuid4()))
    # The source file of a page, without its folders, and the front matter of that file.
    file_name: str = ""
    front: str = ""

    def as_json(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class FileRecord:
    """An attachment to create: where its bytes are, and the index of its folder or page; None: the top."""

    id: str
    path: str
    name: str
    home: int | None
    media_type: str
    size: int
    width: int | None = None
    height: int | None = None


@dataclass
class Contents:
    """What an import brings."""

    pages: list[PageRecord] = field(default_factory=list)
    files: list[FileRecord] = field(default_factory=list)


def contents_of(bundle: Bundle, report: Report, max_file_bytes: int = 2**40, folder: Path | None = None) -> Contents:
    """Return the pages and attachments of a bundle, with links between them resolved."""
    manifest = _manifest(bundle.read(MANIFEST) if MANIFEST in bundle.files else b"")
    formats.normalise(bundle, report)
    bundle.files.pop(MANIFEST, None)
    texts = formats.page_files(bundle)
    tree = _Tree(bundle, texts, manifest)
    pages = [_record(path, tree, bundle, manifest, report) for path in tree.order]
    files = _attachments(bundle, set(texts), tree, report, max_file_bytes, folder)
    return Contents(_linked(pages, tree, files, report), [record for _path, record in files])


class _Tree:
    """Which path becomes which page, in which order."""

    def __init__(self, bundle: Bundle, texts: list[str], manifest: Mapping[str, Any]) -> None:
        self.texts = set(texts)
        folders = set(bundle.directories)
        for path in [*bundle.files, *bundle.directories]:
            folders.update(_above(path))
        said_folders = {path for path, said in manifest.items() if said.get("node_type") == "folder"}
        self.belongs = {
            formats.stem(path): path
            for path in texts
            if formats.stem(path) not in said_folders and _is_below_file(formats.stem(path), folders, self.texts)
        }
        order: dict[str, float] = {path: place for place, path in enumerate(manifest)} | bundle.order
        wanted = [folder for folder in folders if folder not in self.belongs] + texts
        last = float(len(order) + 1)
        self.order = sorted(wanted, key=lambda path: (path.count("/"), order.get(path, last), path))
        self.places = {path: place for place, path in enumerate(self.order)}

    def home(self, path: str) -> int | None:
        above = path.rpartition("/")[0]
        return self.places[self.belongs.get(above, above)] if above else None


def _record(path: str, tree: _Tree, bundle: Bundle, manifest: Mapping[str, Any], report: Report) -> PageRecord:
    said = manifest.get(path, {})
    is_pinned, parent = said.get("pinned") is True, tree.home(path)
    name = path.rpartition("/")[2]
    if path not in tree.texts:
        return PageRecord(_title(said, bundle.titles.get(path, name)), "folder", "", parent, is_pinned)
    body = bundle.read(path)
    text, is_utf8 = decode(body)
    if not is_utf8:
        report.decoded.append(path)
    if path.lower().endswith(HTML):
        return _html_record(path, text, parent, bundle, is_pinned)
    kept, markdown = front.split(text)
    given = front.values(kept)
    title = _title({"title": bundle.titles.get(path) or given.get("title", "")}, formats.stem(name))
    file_name = "" if report.format in OWN_NAMES else name
    page = PageRecord(title, "file", "", parent, is_pinned, file_name=file_name, front=kept)
    content = said.get("content")
    # Only for a file that was not changed since it was written: else what was edited would be lost.
    if isinstance(content, str) and said.get("sha256") == sha256(body).hexdigest():
        return replace(page, content=clean(content))
    return replace(page, content=to_html(_plain_markdown(markdown, title, report)))


def _html_record(path: str, text: str, parent: int | None, bundle: Bundle, is_pinned: bool) -> PageRecord:
    said, body = ("", text) if path in bundle.made_pages else formats.html_body(text)
    title = bundle.titles.get(path) or said or formats.stem(path).rpartition("/")[2]
    return PageRecord(_title({"title": title}, path), "file", to_html_page(body), parent, is_pinned)


def to_html_page(body: str) -> str:
    """Return HTML of another program as our text, without the line breaks of its layout."""
    kept = clean(frames_as_links(body))
    try:
        return clean(write(shaped(compact(read(kept)))))
    except RecursionError:
        return kept


_ADMONITION = re.compile(r"^:::(\w+)[ \t]*(?:\[([^\]\n]*)\]|([^\n]*))\n(.*?)^:::[ \t]*$", re.MULTILINE | re.DOTALL)
_MDX = re.compile(r"^(?:import|export)\s.*\n", re.MULTILINE)
_ASIDE = re.compile(r"<aside>\s*(.*?)\s*</aside>", re.DOTALL)


def _plain_markdown(markdown: str, title: str, report: Report) -> str:
    """Return the text without what only the other program understands."""
    if report.format in DOUBLE_TITLES and markdown.lstrip().startswith(f"# {title}\n"):
        markdown = markdown.lstrip().removeprefix(f"# {title}\n").lstrip("\n")
    if report.format == "notion":
        markdown, count = _ASIDE.subn(lambda hit: _quoted("note", "", hit[1]), markdown)
        report.convert("callout", count)
    if report.format == "docusaurus":
        markdown, count = _ADMONITION.subn(lambda hit: _quoted(hit[1], hit[2] or hit[3] or "", hit[4]), markdown)
        report.convert("callout", count)
        markdown, count = _MDX.subn("", markdown)
        report.convert("mdx", count)
    return markdown


def _quoted(kind: str, title: str, text: str) -> str:
    lines = text.strip().split("\n")
    return "\n".join([f"> [!{kind}] {title}".rstrip(), *(f"> {line}".rstrip() for line in lines)])


def _attachments(
    bundle: Bundle, texts: set[str], tree: _Tree, report: Report, max_file_bytes: int, folder: Path | None
) -> list[tuple[str, FileRecord]]:
    found: list[tuple[str, FileRecord]] = []
    for path in sorted(set(bundle.files) - texts):
        place = _on_disk(bundle, path, folder)
        size = place.stat().st_size if place else len(bundle.read(path))
        if size > max_file_bytes or not size:
            report.skip(path, TOO_LARGE_FILE if size else "empty")
            continue
        kind = type_of(bundle.head(path, HEAD), path)
        seen = inspect_task({"input_path": str(place), "media_type": kind}) if place and kind in PICTURES else {}
        name = safe_name(path)
        record = FileRecord(str(uuid4()), str(place or ""), name, tree.home(path), kind, size, **seen)
        found.append((path, record))
    return found


def _on_disk(bundle: Bundle, path: str, folder: Path | None) -> Path | None:
    body = bundle.files[path]
    if isinstance(body, Path) or folder is None:
        return body if isinstance(body, Path) else None
    place = folder / f"made-{uuid4().hex}"
    place.write_bytes(body)
    return place


def _linked(
    pages: list[PageRecord], tree: _Tree, files: list[tuple[str, FileRecord]], report: Report
) -> list[PageRecord]:
    """Return the pages with links to each other and to attachments. A folder that belongs to a page is that page."""
    ids = {path: pages[place].id for path, place in tree.places.items()}
    ids |= {folder: ids[file] for folder, file in tree.belongs.items()}
    addresses = {path: f"{FILE_PATH}{record.id}/{quote(record.name)}" for path, record in files}
    folders = [path for path in tree.places if path not in tree.texts]
    resolver = Resolver(ids, addresses, _aliases(pages, tree), folders=folders)
    for path, place in tree.places.items():
        content, missing = resolver.resolve(path, pages[place].content)
        report.unresolved += [(path, target) for target in missing]
        if missing:
            report.places[path] = pages[place].id
        pages[place] = replace(pages[place], content=content)
    report.links = resolver.found
    return pages


def _aliases(pages: list[PageRecord], tree: _Tree) -> dict[str, str]:
    """Return other names of pages: aliases of Obsidian, slug and id of Docusaurus, titles."""
    found: dict[str, str] = {}
    for path in tree.texts:
        page = pages[tree.places[path]]
        given = front.values(page.front)
        for name in [*front.listed(page.front, "aliases"), given.get("slug", "").strip("/"), given.get("id", "")]:
            if name:
                found.setdefault(name, page.id)
    for path in sorted(tree.texts):
        found.setdefault(pages[tree.places[path]].title, pages[tree.places[path]].id)
    return found


def one_line(title: str) -> str:
    """Return the title with line breaks and tabs as spaces; spaces inside are kept."""
    return "".join(" " if c.isspace() else c for c in title).strip()


def _title(said: Mapping[str, Any], name: str) -> str:
    title = said.get("title")
    kept = one_line(title) if isinstance(title, str) else ""
    return (kept or one_line(name) or "-")[:TITLE]


def _above(path: str) -> list[str]:
    steps = path.split("/")[:-1]
    return ["/".join(steps[: n + 1]) for n in range(len(steps))]


def _is_below_file(folder: str, folders: set[str], texts: set[str]) -> bool:
    """Is it there, and does it hold nothing but files and directories of these files?"""
    if folder not in folders:
        return False
    inner = [other for other in folders if other.startswith(f"{folder}/")]
    return all(any(f"{other}{suffix}" in texts for suffix in (*SUFFIXES, *HTML)) for other in inner)


def _manifest(body: bytes) -> dict[str, dict[str, Any]]:
    """Return what an export of ours says about each path; empty for anything else."""
    try:
        said = json.loads(body) if body else {}
    except (ValueError, RecursionError):
        return {}
    pages = said.get("pages") if isinstance(said, dict) and said.get("format") == FORMAT else None
    if not isinstance(pages, list):
        return {}
    return {page["path"]: page for page in pages if isinstance(page, dict) and isinstance(page.get("path"), str)}


def read_task(argument: dict[str, Any]) -> dict[str, Any]:
    report = Report()
    limits = Limits(argument["max_bytes"], argument["most"], argument["max_file_bytes"])
    folder = Path(argument["folder"])
    try:
        bundle = read_upload(Path(argument["input_path"]), argument["name"], folder, report, limits)
        found = read_bundle(bundle, report, limits, folder)
    except NotReadable as error:
        return {"error": {"code": error.code, "message": error.message}}
    with Path(argument["output_path"]).open("w", encoding="utf-8") as out:
        out.writelines(json.dumps({"page": page.as_json()}) + "\n" for page in found.pages)
        out.writelines(json.dumps({"file": vars(file)}) + "\n" for file in found.files)
    return {"pages": len(found.pages), "report": asdict(report)}


def read_bundle(bundle: Bundle, report: Report, limits: Limits, folder: Path) -> Contents:
    try:
        found = contents_of(bundle, report, limits.max_file_bytes, folder)
    except TooComplex:
        raise NotReadable("too_complex", TOO_COMPLEX) from None
    if not found.pages:
        raise NotReadable("nothing_inside", NOTHING)
    return found


def read_machine_folder(root: Path, folder: Path, report: Report, limits: Limits) -> Contents:
    """Return the contents of a folder on this machine, for the command line."""
    return read_bundle(read_folder(root, report, limits), report, limits, folder)
