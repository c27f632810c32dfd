"""What a person brings in and takes out: files, and clips of what the other systems hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

from django.conf import settings
from django.utils import translation
from django.utils.html import format_html, format_html_join
from django.utils.text import slugify
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.store.scratch import scratch
from watchbook.base.text import cut
from watchbook.core import registry
from watchbook.core.accounts import audit
from watchbook.core.search.links import safe_link
from watchbook.core.stream.clip import Clip, find_clip
from watchbook.library import access
from watchbook.library.errors import NotFound
from watchbook.library.jobs.transfer import read_file, write_zip
from watchbook.library.models import NodeType, Page, PageOrigin, SpaceRole
from watchbook.library.parse.archive import PageRecord
from watchbook.library.store.guard import writing_workspace
from watchbook.library.store.imports import add_all
from watchbook.library.store.lock import writing
from watchbook.library.store.rules import place_at

WRITER = SpaceRole.WRITER


def import_file(user: Any, space_id: UUID, path: Path, name: str, *, parent_page_id: UUID | None = None) -> list[Page]:
    """The pages of a zip or Markdown file, all or none. Files that would land at the top level get a folder around."""
    space = access.space_for(user, space_id, WRITER)
    with writing_workspace(space.workspace_id):
        pass  # refused before a minute is spent on reading
    records = read_file(path, name)
    with writing(space.pk):
        place = place_at(space, parent_page_id)
        title = cut(Path(name).stem, 200) or _("Imported")
        return add_all(place, records, user, wrap_title=title, reason="imported")


def export_space(user: Any, space_id: UUID) -> tuple[BinaryIO, str]:
    """The whole space as a zip of Markdown files, and what to call it; importing it gives the same tree. For readers.

    Whoever sends the file closes it.
    """
    space = access.space_for(user, space_id)
    audit.record("library.exported", actor=user, subject=str(space.pk), title=space.name)
    with scratch("export") as folder:
        path = folder / "space.zip"
        write_zip(space, path)
        # Opened before the folder goes: the file lives on until the answer is sent.
        file = path.open("rb")
    return file, f"{slugify(space.name) or 'space'}-{clock.now():%Y-%m-%d}.zip"


def see_clip(user: Any, kind: str, object_id: str) -> Clip:
    """The item that is about to be filed, as this person may see it."""
    found = find_clip(kind, object_id, user)
    if found is None:
        raise NotFound
    return found


def system_name(slug: str) -> str:
    """The name of the system that an item is from, in words; one that is gone is named as it was kept."""
    try:
        return _(registry.source(slug).title)
    except LookupError:
        return slug


def clip(user: Any, *, kind: str, object_id: str, space_id: UUID, parent_page_id: UUID | None = None) -> Page:
    """An item of any system becomes a page that says where it is from. For writers.

    At the top level, where files may not stand, it goes into the folder Clips, which is made when it is missing.
    """
    space = access.space_for(user, space_id, WRITER)
    found = see_clip(user, kind, object_id)
    with writing(space.pk):
        place = place_at(space, parent_page_id or clips_folder(space.pk))
        record = PageRecord(cut(found.title, 500) or kind, NodeType.FILE, _content(found), None)
        page = add_all(place, [record], user, wrap_title=_("Clips"), reason="clipped")[-1]
        PageOrigin.objects.create(
            page=page, source=found.source, kind=found.kind, object_id=found.id, source_at=found.source_at,
            link=safe_link(found.source_link)[:2048], version=found.version[:200], clipped_by=user,
        )  # fmt: skip
    return page


def clips_folder(space_id: UUID) -> UUID | None:
    """The folder that an earlier clip to the top level made, in whichever language: a team has one."""
    names = set()
    for code, _language in settings.LANGUAGES:
        with translation.override(code):
            names.add(_("Clips"))
    folders = Page.objects.below(space_id, None).folders().filter(title__in=names)
    return folders.in_order().values_list("pk", flat=True).first()


def _content(found: Clip) -> str:
    """What the item says, and below it where and when that was."""
    facts = [(_("Source"), system_name(found.source))]
    if found.source_at is not None:
        facts.append((_("Time"), found.source_at.isoformat(timespec="seconds")))
    if found.version:
        facts.append((_("Version"), found.version))
    facts.append((_("Filed"), clock.now().isoformat(timespec="seconds")))
    lines = format_html_join("", "<li>{}: {}</li>", facts)
    if address := safe_link(found.source_link):
        lines += format_html('<li><a href="{}">{}</a></li>', address, address)
    words = found.html or format_html_join(
        "", "<p>{}</p>", ((line,) for line in found.text.split("\n") if line.strip())
    )
    # The system's markup goes through our own cleaner when the page is made.
    return f"{words}<hr><ul>{lines}</ul>"
