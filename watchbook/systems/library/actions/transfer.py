"""Import and export of Markdown files, and clips of items from other sources."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

from django.utils.text import slugify
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.store.folder import scratch
from watchbook.base.text import cut
from watchbook.core.accounts import audit
from watchbook.core.accounts.models import User
from watchbook.systems.library import access
from watchbook.systems.library.errors import NotFound, Wrong
from watchbook.systems.library.jobs.books import write_epub, write_pdf
from watchbook.systems.library.jobs.transfer import read_file, write_html, write_zip
from watchbook.systems.library.models import NodeType, Page, PageImport, Space, SpaceRole
from watchbook.systems.library.options import ATTACHMENT_MEGABYTES
from watchbook.systems.library.parse.archive import Contents
from watchbook.systems.library.parse.bundle import (
    DUPLICATE_NAME,
    PROGRAM_FOLDER,
    SETTINGS,
    SYMBOLIC_LINK,
    TOO_LARGE_FILE,
    Report,
)
from watchbook.systems.library.store import parent_at, trash, writing, writing_workspace
from watchbook.systems.library.store.pages import add_all, needs_folder, prepare_all

WRITER = SpaceRole.WRITER
# Entries of each list that a report keeps.
LISTED = 1000


@dataclass(frozen=True)
class Imported:
    """Created pages, the files that were skipped, and the stored report."""

    pages: list[Page]
    report: Report
    log: PageImport


@dataclass(frozen=True)
class ImportPlan:
    """What an import would create: titles in order, and the title of a new folder around them, if one is needed."""

    titles: list[str]
    folder: str
    report: Report
    facts: dict[str, Any]


def skip_reason(code: str) -> str:
    """Return the reason why a file was skipped, for users."""
    return {
        PROGRAM_FOLDER: _("folder of another program"),
        SYMBOLIC_LINK: _("symbolic link"),
        DUPLICATE_NAME: _("the same name occurs twice"),
        SETTINGS: _("settings of the other program"),
        TOO_LARGE_FILE: _("larger than %(n)s MB") % {"n": ATTACHMENT_MEGABYTES.value},
        "empty": _("the file is empty"),
    }.get(code, code)


def import_file(user: User, space_id: UUID, path: Path, name: str, *, parent_page_id: UUID | None = None) -> Imported:
    """Import the pages and attachments of a file, all or none, and keep a report of what was skipped."""
    space = _importable(user, space_id, parent_page_id)
    with scratch("import") as folder:
        found, report = read_file(path, name, folder)
        records = prepare_all(found.pages)
        with writing(space.pk):
            place = parent_at(space, parent_page_id)
            made = add_all(
                place, records, user, wrap_title=_wrap_title(name), reason="imported", files=found.files
            )  # fmt: skip
            log = PageImport.objects.create(
                space=space, parent_page_id=parent_page_id, created_by=user, name=name[:255], format=report.format,
                state=PageImport.DONE, size=path.stat().st_size, finished_at=clock.now(),
                report={**import_facts(found, report), "tops": _tops(made, parent_page_id)},
            )  # fmt: skip
    return Imported(made, report, log)


def _tops(made: list[Page], parent_page_id: UUID | None) -> list[str]:
    return [str(page.pk) for page in made if page.parent_page_id == parent_page_id]


def plan_import(user: User, space_id: UUID, path: Path, name: str, *, parent_page_id: UUID | None = None) -> ImportPlan:
    """Return what an import of this file would create and leave out. Writes nothing."""
    space = _importable(user, space_id, parent_page_id)
    with scratch("import") as folder:
        found, report = read_file(path, name, folder)
    records = prepare_all(found.pages)
    place = parent_at(space, parent_page_id)
    around = _wrap_title(name) if needs_folder(place, records, found.files) else ""
    return ImportPlan([record.new.title for record in records], around, report, import_facts(found, report))


def import_facts(found: Contents, report: Report) -> dict[str, Any]:
    """Return the figures and lists of a report, as they are stored and shown. Lists are cut, counts are whole."""
    return {
        "format": report.format,
        "pages": sum(page.node_type == NodeType.FILE for page in found.pages),
        "folders": sum(page.node_type == NodeType.FOLDER for page in found.pages),
        "pictures": sum(file.width is not None for file in found.files),
        "attachments": sum(file.width is None for file in found.files),
        "links": report.links,
        "converted": report.converted,
        "skipped_count": len(report.skipped),
        "skipped": report.skipped[:LISTED],
        "decoded": report.decoded[:LISTED],
        "unresolved_count": len(report.unresolved),
        "unresolved": report.unresolved[:LISTED],
        "places": {path: report.places[path] for path, _target in report.unresolved[:LISTED] if path in report.places},
    }


def open_import(user: User, import_id: UUID) -> PageImport:
    """Return the report of an import. For viewers of the space."""
    found = PageImport.objects.filter(pk=import_id).select_related("space__workspace", "created_by").first()
    if found is None:
        raise NotFound
    access.space_for(user, found.space_id)
    return found


def undo_import(user: User, import_id: UUID) -> int:
    """Move what an import created to the trash; return how many deletions it took. For editors."""
    found = open_import(user, import_id)
    access.space_for(user, found.space_id, WRITER)
    with writing(found.space_id):
        seen = access.readable(user).live().filter(space_id=found.space_id)
        tops = seen.with_type().filter(pk__in=found.report.get("tops", []))
        batches = [trash.trash(page, user) for page in tops.select_related("space")]
        PageImport.objects.filter(pk=found.pk).update(state=PageImport.UNDONE)
    return len(batches)


def _importable(user: User, space_id: UUID, parent_page_id: UUID | None) -> Space:
    space = access.space_for(user, space_id, WRITER)
    access.may_hold(user, parent_page_id)
    with writing_workspace(space.workspace_id):
        pass  # refused before a minute is spent on reading
    return space


def _wrap_title(name: str) -> str:
    return cut(Path(name).stem, 200) or _("Imported")


FORMS = {
    "markdown": ("zip", "application/zip", write_zip),
    "html": ("html", "text/html", write_html),
    "epub": ("epub", "application/epub+zip", write_epub),
    "pdf": ("pdf", "application/pdf", write_pdf),
}


def export_space(user: User, space_id: UUID, form: str = "markdown") -> tuple[BinaryIO, str]:
    """Write the space as a zip of Markdown files or one HTML file; return the open file and its name. For viewers.

    The caller closes the file.
    """
    space = access.space_for(user, space_id)
    audit.record("library.exported", actor=user, subject=str(space.pk), title=space.name)
    return _write(space, None, form, access.sight(user))


def export_page(user: User, page_id: UUID, form: str = "markdown") -> tuple[BinaryIO, str]:
    """Write a page or folder with everything below it. For viewers. The caller closes the file."""
    page = access.page_for(user, page_id)
    audit.record("library.exported", actor=user, subject=str(page.pk), title=page.title)
    return _write(page.space, page, form, access.sight(user))


def _write(space: Space, top: Page | None, form: str, seen: access.Sight) -> tuple[BinaryIO, str]:
    if form not in FORMS:
        raise Wrong("form", _("Use one of: %(names)s.") % {"names": ", ".join(FORMS)})
    suffix, _kind, write = FORMS[form]
    with scratch("export") as folder:
        path = folder / "export"
        write(space, path, top, seen=seen)
        # Opened before the folder goes: the file lives on until the answer is sent.
        file = path.open("rb")
    title = top.title if top else space.name
    return file, f"{slugify(title, allow_unicode=True)[:80] or 'export'}-{clock.now():%Y-%m-%d}.{suffix}"
