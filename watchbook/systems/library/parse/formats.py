"""What other programs write: which one it was, and its files as Markdown or HTML files of a plain folder.

Each program leaves signs: Obsidian its settings folder, Notion 32 digits behind every name, BookStack a data.json.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Callable
from html import escape
from typing import Any

from watchbook.base.files import safe_name
from watchbook.systems.library.parse import front
from watchbook.systems.library.parse.bundle import (
    HTML,
    MANIFEST,
    MARKDOWN,
    SETTINGS,
    Bundle,
    NotReadable,
    Report,
    decode,
    gettext_noop,
    safe_path,
)

MOST_ROWS = 5000
_NOTION_ID = re.compile(r"[ _-]([0-9a-f]{32})$")
# Kept out of the list of attachments: how the other program shows the files.
SETTING_FILES = {"docmost-metadata.json", "_category_.json", "sidebars.js", "sidebars.ts", "metadata.json"}
NOT_READ = gettext_noop("The document could not be read.")


def detect(bundle: Bundle, report: Report) -> str:
    """Return the name of the program that wrote these files."""
    names = {path.rpartition("/")[2] for path in bundle.files}
    texts = bundle.ending(MARKDOWN)
    signs: tuple[tuple[str, bool], ...] = (
        ("watchbook", MANIFEST in bundle.files),
        ("bookstack", "data.json" in bundle.files and not texts),
        ("docmost", "docmost-metadata.json" in names),
        ("notion", _is_notion(bundle)),
        ("obsidian", any(".obsidian" in path.split("/") for path, _reason in report.skipped)),
        ("docusaurus", bool({"_category_.json", "sidebars.js", "sidebars.ts"} & names)),
        ("github wiki", bool({"_Sidebar.md", "_Footer.md"} & names)),
        ("outline", any("/uploads/" in f"/{path}" for path in bundle.files) and bool(texts)),
        ("markdown", bool(texts)),
        ("html", bool(bundle.ending(HTML))),
        ("docx", bool(bundle.ending((".docx",)))),
    )
    return next((name for name, is_so in signs if is_so), "markdown")


def _is_notion(bundle: Bundle) -> bool:
    pages = bundle.ending((*MARKDOWN, *HTML, ".csv"))
    marked = sum(bool(_NOTION_ID.search(stem(path).removesuffix("_all"))) for path in pages)
    return bool(pages) and marked * 2 > len(pages)


def stem(path: str) -> str:
    return path.rpartition(".")[0]


def normalise(bundle: Bundle, report: Report) -> None:
    """Turn what the program wrote into Markdown and HTML files with titles, and leave its settings out."""
    report.format = detect(bundle, report)
    steps: dict[str, Callable[[Bundle, Report], None]] = {
        "bookstack": _bookstack, "notion": _notion, "docusaurus": _docusaurus, "docx": _docx, "github wiki": _wiki,
    }  # fmt: skip
    if step := steps.get(report.format):
        step(bundle, report)
    for path in list(bundle.files):
        if path.rpartition("/")[2] in SETTING_FILES and report.format not in ("markdown", "obsidian", "watchbook"):
            del bundle.files[path]
            report.skip(path, SETTINGS)


def page_files(bundle: Bundle) -> list[str]:
    """Return the files that become pages: Markdown, or HTML where there is no Markdown."""
    texts = bundle.ending(MARKDOWN)
    return sorted([*texts, *bundle.made_pages] if texts or bundle.made_pages else bundle.ending((*HTML, ".txt")))


def _notion(bundle: Bundle, report: Report) -> None:
    """Titles without the digits, databases as tables with a page for each row."""
    for path in [*bundle.files, *_above_all(bundle)]:
        last = path.rpartition("/")[2]
        bare = last.rpartition(".")[0] if path in bundle.files else last
        if found := _NOTION_ID.search(bare):
            bundle.titles[path] = bare[: found.start()] or bare
    names = set(bundle.files)
    for path in bundle.ending((".csv",)):
        if stem(path).endswith("_all") and f"{stem(path).removesuffix('_all')}.csv" in names:
            report.skip(path, "duplicate_name")
            del bundle.files[path]
        else:
            _database(bundle, path, report)
            report.convert("database")


def _above_all(bundle: Bundle) -> set[str]:
    found = set(bundle.directories)
    for path in bundle.files:
        steps = path.split("/")[:-1]
        found.update("/".join(steps[: n + 1]) for n in range(len(steps)))
    return found


def _database(bundle: Bundle, path: str, report: Report) -> None:
    """Write the table of a CSV file as a page; the first column links to the page of its row."""
    rows = list(csv.reader(io.StringIO(decode(bundle.read(path))[0])))
    if len(rows) > MOST_ROWS:
        report.skip(f"{path}:{MOST_ROWS + 1}-{len(rows)}", "too_large")
        del rows[MOST_ROWS:]
    folder = stem(path)
    inside = {bundle.titles.get(file, ""): file for file in bundle.files if file.startswith(f"{folder}/")}
    lines = []
    for number, row in enumerate(rows):
        tag = "td" if number else "th"
        cells = [escape(cell) for cell in row]
        if number and row and (file := inside.get(row[0])):
            cells[0] = f'<a href="/{escape(file)}">{cells[0]}</a>'
        lines.append("<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in cells) + "</tr>")
    body = f"<table><thead>{lines[0]}</thead><tbody>{''.join(lines[1:])}</tbody></table>" if lines else ""
    page = f"{folder}.html"
    bundle.files[page] = body.encode()
    bundle.titles[page] = bundle.titles.get(path, folder.rpartition("/")[2])
    bundle.made_pages.add(page)
    del bundle.files[path]


def _docusaurus(bundle: Bundle, report: Report) -> None:
    """Labels and positions of categories."""
    for path in bundle.ending(MARKDOWN):
        given = front.values(front.split(decode(bundle.read(path))[0])[0]).get("sidebar_position", "")
        if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", given):
            bundle.order[path] = float(given)
    for path in [path for path in bundle.files if path.rpartition("/")[2] == "_category_.json"]:
        try:
            said = json.loads(bundle.read(path))
        except (ValueError, RecursionError):
            continue
        folder = path.rpartition("/")[0]
        if isinstance(said, dict) and isinstance(said.get("label"), str) and folder:
            bundle.titles[folder] = said["label"]
        if isinstance(said, dict) and isinstance(said.get("position"), (int, float)) and folder:
            bundle.order[folder] = float(said["position"])


def _wiki(bundle: Bundle, report: Report) -> None:
    for path in bundle.ending(MARKDOWN):
        bundle.titles[path] = stem(path).rpartition("/")[2].replace("-", " ").strip() or path


def _docx(bundle: Bundle, report: Report) -> None:
    for path in bundle.ending((".docx",)):
        body, pictures = docx_to_html(bundle.read(path))
        page = f"{stem(path)}.html"
        bundle.files[page] = body.encode()
        bundle.titles[page] = stem(path).rpartition("/")[2]
        bundle.made_pages.add(page)
        del bundle.files[path]
        for name, picture in pictures.items():
            bundle.files[f"{stem(path)}/{name}"] = picture


MOST_DOCX_BYTES = 300_000_000


def docx_to_html(body: bytes) -> tuple[str, dict[str, bytes]]:
    """Return the HTML of a Word document, and its pictures by name."""
    import mammoth  # type: ignore[import-untyped]  # only where a document is read

    pictures: dict[str, bytes] = {}

    def keep(image: Any) -> dict[str, str]:
        with image.open() as opened:
            name = f"image{len(pictures) + 1}.{safe_name(str(image.content_type).rpartition('/')[2])}"
            pictures[name] = opened.read()
        return {"src": name}

    try:
        with zipfile.ZipFile(io.BytesIO(body)) as inside:
            if sum(entry.file_size for entry in inside.infolist()) > MOST_DOCX_BYTES:
                raise NotReadable("too_large", NOT_READ)
        made = mammoth.convert_to_html(io.BytesIO(body), convert_image=mammoth.images.img_element(keep))
    except NotReadable:
        raise
    except Exception:  # the library raises what its parsers raise; the bytes are at fault
        raise NotReadable("not_readable", NOT_READ) from None
    return str(made.value), pictures


_REFERENCE = re.compile(r"\[\[bsexport:(page|image|attachment|chapter|book):(\d+)\]\]")


def _bookstack(bundle: Bundle, report: Report) -> None:
    """Books, chapters and pages of a portable zip as folders and files, its references as paths."""
    try:
        said = json.loads(bundle.read("data.json"))
    except (ValueError, RecursionError):
        return
    if isinstance(said, dict):
        _Books(bundle).read(said)
        del bundle.files["data.json"]


class _Books:
    """Writes the files of a BookStack export; two passes, because pages refer to pages that come later."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        self.paths: dict[tuple[str, int], str] = {}
        self.pages: list[tuple[str, dict[str, Any]]] = []

    def read(self, said: dict[str, Any]) -> None:
        for book in [said.get("book"), *_dicts(said.get("books"))]:
            if isinstance(book, dict):
                self._book(book)
        if isinstance(said.get("chapter"), dict):
            self._chapter(said["chapter"], "")
        if isinstance(said.get("page"), dict):
            self._page(said["page"], "")
        for path, page in self.pages:
            self._write(path, page)

    def _book(self, book: dict[str, Any]) -> None:
        folder = self._place("book", book, "", "")
        for chapter in _dicts(book.get("chapters")):
            self._chapter(chapter, folder)
        for page in _dicts(book.get("pages")):
            self._page(page, folder)

    def _chapter(self, chapter: dict[str, Any], above: str) -> None:
        folder = self._place("chapter", chapter, above, "")
        for page in _dicts(chapter.get("pages")):
            self._page(page, folder)

    def _page(self, page: dict[str, Any], above: str) -> None:
        suffix = ".md" if page.get("markdown") else ".html"
        path = self._place("page", page, above, suffix)
        for kind in ("images", "attachments"):
            for file in _dicts(page.get(kind)):
                self._file(kind[:-1], file, stem(path))
        self.pages.append((path, page))

    def _place(self, kind: str, item: dict[str, Any], above: str, suffix: str) -> str:
        title = str(item.get("name") or kind)
        name = safe_name(title.replace(".", "_"))
        path, number = safe_path(f"{above}/{name}{suffix}".strip("/")), 2
        while path in self.bundle.files or path in self.bundle.directories:
            path, number = safe_path(f"{above}/{name} ({number}){suffix}".strip("/")), number + 1
        if suffix:
            self.bundle.files[path] = b""
            self.bundle.made_pages.add(path)
        else:
            self.bundle.directories.add(path)
        self.bundle.titles[path] = title
        self.bundle.order[path] = float(item["priority"]) if isinstance(item.get("priority"), int) else 0.0
        if isinstance(item.get("id"), int):
            self.paths[kind, item["id"]] = path
        return path

    def _file(self, kind: str, file: dict[str, Any], folder: str) -> None:
        kept = f"files/{file.get('file')}"
        if kept not in self.bundle.files:
            return
        path = safe_path(f"{folder}/{safe_name(str(file.get('name') or file['file']))}")
        self.bundle.files[path] = self.bundle.files.pop(kept)
        if isinstance(file.get("id"), int):
            self.paths[kind, file["id"]] = path

    def _write(self, path: str, page: dict[str, Any]) -> None:
        text = str(page.get("markdown") or page.get("html") or "")

        def address(hit: re.Match[str]) -> str:
            found = self.paths.get((hit[1], int(hit[2])))
            return hit[0] if found is None else "/" + found.replace(" ", "%20")

        self.bundle.files[path] = _REFERENCE.sub(address, text).encode()


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def html_body(text: str) -> tuple[str, str]:
    """Return the title and the inner HTML of the part of a page that is its text."""
    from lxml import html as reader  # type: ignore[import-untyped]  # only where HTML is read

    try:
        root = reader.document_fromstring(text)
    except (ValueError, reader.etree.ParserError):
        return "", ""
    title = " ".join((root.findtext(".//title") or "").split())
    for path in (".//article", ".//main", ".//body"):
        found = root.find(path)
        if found is not None:
            for tag in ("script", "style", "nav"):
                for element in list(found.iter(tag)):
                    element.drop_tree()
            inner = [reader.tostring(child, encoding="unicode") for child in found]
            return title, escape(found.text or "", quote=False) + "".join(inner)
    return title, ""
