"""Exports to read: a page, folder or space as an EPUB book, or as PDF where the operator named a Chromium."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.store import blobs
from watchbook.kit import epub
from watchbook.systems.library.access import Sight
from watchbook.systems.library.errors import Conflict, Wrong
from watchbook.systems.library.jobs.transfer import EVERYTHING, Export, Place, plan_export, write_html
from watchbook.systems.library.models import Attachment, Page, Space
from watchbook.systems.library.options import CHROMIUM
from watchbook.systems.library.parse.links import with_targets, without_ids

PDF_SECONDS = 120
MOST_PDF_PAGES = 500


def write_epub(space: Space, target: Path, top: Page | None = None, *, seen: Sight = EVERYTHING) -> int:
    """Write a book: a chapter for each folder and page, in the order of the tree, with links between them."""
    plan = plan_export(space, top, seen)
    if not plan.pages:
        raise Wrong("form", _("There is no page to export."), code="empty")
    ordered = list(_in_order(plan, top))
    numbers = {str(place.page.pk): number for number, (place, _depth) in enumerate(ordered, 1)}
    pictures = {f"file-{each.pk}": _picture(each) for _path, each in plan.files if each.is_picture}
    targets = {pk: epub.chapter_file(number) for pk, number in numbers.items()}
    targets |= {name.removeprefix("file-"): name for name in pictures}
    about = top or space
    book = epub.Book(
        title=top.title if top else space.name,
        language=get_language() or "en",
        identifier=f"{settings.PUBLIC_URL}/library/{'pages' if top else 'spaces'}/{about.pk}/",
        modified=max((place.page.updated_at for place in plan.pages), default=clock.now()),
        chapters=_chapters(ordered, targets, seen),
        pictures=pictures,
        source=settings.PUBLIC_URL,
    )
    with target.open("wb") as out:
        return epub.write(book, out).chapters


def _in_order(plan: Export, top: Page | None) -> Iterator[tuple[Place, int]]:
    """Yield each page behind its parent, with its depth. Not recursive: a tree can be deep."""
    below: dict[UUID | None, list[Place]] = {}
    for place in plan.pages:
        is_top = top is not None and place.page.pk == top.pk
        below.setdefault(None if is_top else place.page.parent_page_id, []).append(place)
    waiting = [(place, 1) for place in reversed(below.get(None, []))]
    while waiting:
        place, depth = waiting.pop()
        yield place, depth
        waiting += [(each, depth + 1) for each in reversed(below.get(place.page.pk, []))]


def _chapters(ordered: list[tuple[Place, int]], targets: dict[str, str], seen: Sight) -> Iterator[epub.Chapter]:
    for place, depth in ordered:
        # One page at a time: a space may hold more than fits into memory.
        page = Page.objects.with_type().get(pk=place.page.pk)
        seen.shows(page)
        yield epub.Chapter(page.title, with_targets(without_ids(page.content), targets), depth)


def _picture(attachment: Attachment) -> epub.Picture:
    return epub.Picture(attachment.media_type, partial(_read, attachment.sha256))


def _read(digest: str) -> bytes:
    return b"".join(blobs.stream(digest))


def write_pdf(space: Space, target: Path, top: Page | None = None, *, seen: Sight = EVERYTHING) -> int:
    """Print the HTML export with Chromium, without network; the policy in the file allows no script and no request."""
    if not CHROMIUM.value:
        raise Conflict(_("PDF needs Chromium. An operator names it in LIBRARY_CHROMIUM."), code="no_chromium")
    source = target.with_name("print.html")
    count = write_html(space, source, top, seen=seen)
    if count > MOST_PDF_PAGES:
        raise Conflict(_("A PDF has at most %(n)s pages of the library.") % {"n": MOST_PDF_PAGES}, code="too_many")
    _print(source, target)
    return count


def _print(source: Path, target: Path) -> None:
    printed = target.with_name("print.pdf")
    command = [
        CHROMIUM.value, "--headless=new", "--disable-gpu", "--no-first-run", "--disable-extensions",
        "--disable-background-networking",
        # No name resolves, and what has no name goes to a proxy that does not exist.
        "--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=127.0.0.1:9", "--proxy-bypass-list=<-loopback>",
        f"--user-data-dir={target.with_name('profile')}", "--no-pdf-header-footer",
        f"--print-to-pdf={printed}", source.as_uri(),
    ]  # fmt: skip
    if os.geteuid() == 0:
        command.insert(1, "--no-sandbox")  # Chromium refuses to start as root with it
    try:
        subprocess.run(  # noqa: S603 - the operator names the program, the rest is ours
            command, check=True, timeout=PDF_SECONDS, stdin=subprocess.DEVNULL, capture_output=True,
            env={"PATH": os.environ.get("PATH", ""), "HOME": str(target.parent)},
        )  # fmt: skip
        printed.replace(target)
    except (OSError, subprocess.SubprocessError) as error:
        words = _("Chromium did not write the PDF: %(reason)s") % {"reason": type(error).__name__}
        raise Conflict(words, code="pdf_failed") from None
