"""Clips: items of sources as pages of the library, with their pictures, and what became of the source since."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from html import unescape
from uuid import UUID, uuid4

from django.conf import settings
from django.utils import translation
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.text import clean_text, cut, safe_link
from watchbook.core import registry
from watchbook.core.accounts.models import User
from watchbook.core.media.models import FileState, KeptFile
from watchbook.core.media.store import visible_file
from watchbook.core.stream.clip import Clip, ClipError, can_read_again, find_clip, read_address
from watchbook.kit.diff import Difference, compare
from watchbook.systems.library import access
from watchbook.systems.library.errors import NotFound, TooMany, Wrong
from watchbook.systems.library.models import Attachment, NodeType, Page, PageOrigin, PageVersion, Space, SpaceRole
from watchbook.systems.library.parse.archive import PageRecord
from watchbook.systems.library.parse.html import to_text
from watchbook.systems.library.parse.links import with_addresses
from watchbook.systems.library.store import attachments, fresh, parent_at, text, writing
from watchbook.systems.library.store.pages import add_all, clean_content, prepare_all
from watchbook.systems.library.store.publish import file_path

WRITER = SpaceRole.WRITER
# Pictures that one clip keeps.
MOST_PICTURES = 200
_KEPT = re.compile(r"/media/(\d{1,18})", re.ASCII)
_IMAGES = re.compile(r'<img(?: [a-z-]+="[^"]*")*? src="([^"]*)"')


def see_clip(user: User, kind: str, object_id: str) -> Clip:
    """Return the item to save, as the user can see it."""
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


def clip(user: User, *, kind: str, object_id: str, space_id: UUID, parent_page_id: UUID | None = None) -> Page:
    """Save an item of a source as a page with its origin and its pictures. For editors.

    At the top level, which holds only folders, it goes into the folder Clips, created if missing.
    """
    space = access.space_for(user, space_id, WRITER)
    access.may_hold(user, parent_page_id)
    return _save(user, see_clip(user, kind, object_id), space, parent_page_id)


def save_address(
    user: User, url: str, *, space_id: UUID | Callable[[], UUID], parent_page_id: UUID | None = None, title: str = ""
) -> Page:  # fmt: skip
    """Read an address of the web now and save it as a page with its origin and its pictures. For editors.

    A function as `space_id` makes the space once the address could be read: a failed save leaves no workspace behind.
    """
    if not isinstance(space_id, UUID):
        return _save_read(user, _read(user, url), access.space_for(user, space_id(), WRITER), parent_page_id, title)
    space = access.space_for(user, space_id, WRITER)
    access.may_hold(user, parent_page_id)
    with writing(space.pk, structural=False):
        pass  # refused before anything is requested, and again when the page is written
    return _save_read(user, _read(user, url), space, parent_page_id, title)


def _save_read(user: User, found: Clip, space: Space, parent_page_id: UUID | None, title: str) -> Page:
    named = cut(" ".join(clean_text(title).split()), 500)
    return _save(user, replace(found, title=named) if named else found, space, parent_page_id)


def _read(user: User, url: str) -> Clip:
    try:
        found = read_address(url.strip(), user)
    except ClipError as error:
        if error.code == "too_many":
            raise TooMany(error.message) from error
        raise Wrong("url", error.message, code=error.code) from error
    if found is None:
        raise Wrong("url", _("No source on this server reads web pages."), code="no_reader")
    return found


def read_source(user: User, page_id: UUID) -> SourceState:
    """Read the address that a page was saved from again. For editors. The page stays; `update_clip` changes it."""
    page = access.page_for(user, page_id, WRITER)
    state = source_state(user, page)
    if state is None or not state.can_read_again:
        raise NotFound
    with writing(page.space_id, structural=False):
        pass  # refused before anything is requested
    found = _read(user, state.origin.link)
    with writing(page.space_id, structural=False):
        # The reading of another member is not visible to this one: from now on the page is compared with the newest.
        rows = PageOrigin.objects.filter(page=page)
        rows.update(source=found.source, kind=found.kind, object_id=found.id)
    again = source_state(user, page)
    assert again is not None
    return again


def _save(user: User, found: Clip, space: Space, parent_page_id: UUID | None) -> Page:
    content, pictures = _with_pictures(user, clean_content(_content(found)))
    records = prepare_all([PageRecord(cut(found.title, 500) or found.kind, NodeType.FILE, content, None)])
    with writing(space.pk):
        attachments.adopt(space.workspace_id, pictures, user)
        place = parent_at(space, parent_page_id or clips_folder(user, space.pk))
        page = add_all(place, records, user, wrap_title=_("Clips"), reason="clipped")[-1]
        attachments.use_in(page, list(pictures))
        PageOrigin.objects.create(
            page=page, source=found.source, kind=found.kind, object_id=found.id, source_at=found.source_at,
            link=safe_link(found.source_link)[:2048], version=found.version[:200], clipped_by=user,
        )  # fmt: skip
    return page


def _with_pictures(user: User, content: str) -> tuple[str, dict[UUID, KeptFile]]:
    """Return the text with kept pictures of the source as attachments, and these; others stay links to the source."""
    files: dict[UUID, KeptFile] = {}
    others: dict[str, str] = {}
    for address in list(dict.fromkeys(map(unescape, _IMAGES.findall(content))))[:MOST_PICTURES]:
        if (file := _kept(user, address)) is not None:
            made = Attachment(id=uuid4(), name=attachments.name_of(file))
            files[made.pk], others[address] = file, file_path(made)
    return with_addresses(content, others), files


def _kept(user: User, address: str) -> KeptFile | None:
    """Return the picture at an address that a source kept and that the user may see."""
    found = _KEPT.fullmatch(address)
    rows = KeptFile.objects.filter(state=FileState.KEPT, is_picture=True)
    key = sha256(address.encode("utf-8", "replace")).hexdigest()
    file = rows.filter(pk=int(found[1])).first() if found else rows.filter(key=key).first()
    return visible_file(user, file.pk) if file else None


@dataclass(frozen=True)
class SourceState:
    """A clip beside its source as it is now. `item` is None if the item is gone or not for this user."""

    origin: PageOrigin
    item: Clip | None
    # How many versions the source has had since; 0 where it does not count them.
    versions_since: int = 0
    has_changed: bool = False

    @property
    def can_read_again(self) -> bool:
        """Whether its source is an address that is read when a user asks for it."""
        return bool(self.origin.link) and can_read_again(self.origin.kind)


def source_state(user: User, page: Page) -> SourceState | None:
    """Return what became of the source of a clip; None for a page that is no clip."""
    origin = PageOrigin.objects.filter(page=page).select_related("clipped_by").first()
    if origin is None:
        return None
    item = find_clip(origin.kind, origin.object_id, user)
    if item is None or not origin.version or item.version[:200] == origin.version:
        return SourceState(origin, item)
    numbers = [text for text in (origin.version, item.version) if text.isascii() and text.isdigit() and len(text) < 10]
    since = int(numbers[1]) - int(numbers[0]) if len(numbers) == 2 else 0
    return SourceState(origin, item, max(0, since), has_changed=True)


def compare_source(user: User, page_id: UUID) -> tuple[SourceState, Difference]:
    """Compare the text that was saved with the source as it is now, word by word. For viewers."""
    page = access.page_for(user, page_id)
    state = source_state(user, page)
    if state is None or state.item is None:
        raise NotFound
    # To viewers who see approved versions only, `page` is that version, and the others do not exist.
    is_approved = page.space_id in access.sight(user).approved
    number = page.version if is_approved else state.origin.page_version
    saved = PageVersion.objects.filter(page=page, number=number).first()
    old = f"{saved.title}\n{to_text(saved.content)}" if saved else ""
    return state, compare(old, f"{state.item.title}\n{to_text(clean_content(_content(state.item)))}")


def update_clip(user: User, page_id: UUID) -> Page:
    """Save the source as it is now, merged with what members changed in the page. For editors.

    Raises VersionConflict if both changed the same words; then nothing is saved.
    """
    page = access.page_for(user, page_id, WRITER)
    state = source_state(user, page)
    if state is None or state.item is None:
        raise NotFound
    item = state.item
    content, pictures = _with_pictures(user, clean_content(_content(item)))
    new = text.draft(cut(item.title, 500) or item.kind, content)
    with writing(page.space_id):
        page = fresh(page)
        attachments.adopt(page.space.workspace_id, pictures, user)
        attachments.at_home(page, list(pictures))
        text.save(page, user, new, version=state.origin.page_version)
        PageOrigin.objects.filter(page=page).update(
            version=item.version[:200], source_at=item.source_at, page_version=page.version
        )
    return page


def clips_folder(user: User, space_id: UUID) -> UUID | None:
    """The folder that an earlier clip to the top level made, in whichever language: a team has one.

    A restricted one is not for those who cannot open it.
    """
    names = set()
    for code, _language in settings.LANGUAGES:
        with translation.override(code):
            names.add(_("Clips"))
    folders = access.sight(user).rows(Page.objects.below(space_id, None)).folders().filter(title__in=names)
    return folders.in_order().values_list("pk", flat=True).first()


def _content(found: Clip) -> str:
    """Return the text of the item, followed by its source, time and version."""
    facts = [(_("Source"), system_name(found.source))]
    if found.source_at is not None:
        facts.append((_("Time"), found.source_at.isoformat(timespec="seconds")))
    if found.version:
        facts.append((_("Version"), found.version))
    facts.append((_("Saved to library"), clock.now().isoformat(timespec="seconds")))
    lines = format_html_join("", "<li>{}: {}</li>", facts)
    if address := safe_link(found.source_link):
        lines += format_html('<li><a href="{}">{}</a></li>', address, address)
    words = found.html or format_html_join(
        "", "<p>{}</p>", ((line,) for line in found.text.split("\n") if line.strip())
    )
    # The system's markup goes through our own cleaner when the page is made.
    return f"{words}<hr><ul>{lines}</ul>"
