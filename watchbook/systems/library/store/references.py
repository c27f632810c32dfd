"""What the text of a page refers to: attachments, pages, items of sources. Written whenever a text is saved.

An attachment becomes part of a page only if the writer may see it, or if the page showed it before: writing the address
of a file into a page of one's own opens nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from uuid import UUID

from watchbook.core.accounts.models import User
from watchbook.core.stream.clip import find_address
from watchbook.systems.library import access
from watchbook.systems.library.models import Attachment, AttachmentUse, Page, PageLink
from watchbook.systems.library.parse import links

BATCH = 500
PAGE, VERSION = "page", "page_version"
# Links to items of sources that one text may have; each can cost a query.
MOST_ITEMS = 200


def record_new(pages: Sequence[Page], user: User | None, known: Collection[UUID] = ()) -> None:
    """Write the rows of new pages. `known` are attachments that came with them."""
    found = {page.pk: links.addresses(page.content) for page in pages if page.content}
    wanted = {page_id: links.attachment_ids(addresses) for page_id, addresses in found.items()}
    allowed = _allowed({UUID(pk) for ids in wanted.values() for pk in ids} - set(known), user) | set(known)
    numbers = {page.pk: page.version for page in pages}
    uses = [
        AttachmentUse(page_id=page_id, attachment_id=UUID(pk), first_number=numbers[page_id])
        for page_id, ids in wanted.items()
        for pk in sorted(ids)
        if UUID(pk) in allowed
    ]
    AttachmentUse.objects.bulk_create(uses, batch_size=BATCH)
    rows = [
        PageLink(page_id=page_id, kind=kind, key=key)
        for page_id, addresses in found.items()
        for kind, key in sorted(targets(addresses))
    ]
    PageLink.objects.bulk_create(rows, batch_size=BATCH)


def record_saved(page: Page, user: User | None) -> None:
    """Bring the rows of a page up to its saved text. Two queries when nothing changed."""
    found = links.addresses(page.content)
    _record_uses(page, {UUID(pk) for pk in links.attachment_ids(found)}, user)
    wanted = targets(found)
    rows = PageLink.objects.filter(page=page)
    present = set(rows.values_list("kind", "key"))
    if gone := present - wanted:
        rows.filter(
            pk__in=[pk for pk, *target in rows.values_list("pk", "kind", "key") if tuple(target) in gone]
        ).delete()
    fresh = [PageLink(page=page, kind=kind, key=key) for kind, key in sorted(wanted - present)]
    if fresh:
        PageLink.objects.bulk_create(fresh, batch_size=BATCH)


def _record_uses(page: Page, wanted: set[UUID], user: User | None) -> None:
    uses = AttachmentUse.objects.filter(page=page)
    shown = set(uses.filter(last_number=None).values_list("attachment_id", flat=True))
    if gone := shown - wanted:
        uses.filter(last_number=None, attachment_id__in=gone).update(last_number=page.version - 1)
    fresh = wanted - shown
    if not fresh:
        return
    # What an old version of this page showed may return when it is restored.
    earlier = set(uses.filter(attachment_id__in=fresh).values_list("attachment_id", flat=True))
    allowed = earlier | _allowed(fresh - earlier, user)
    rows = [AttachmentUse(page=page, attachment_id=pk, first_number=page.version) for pk in sorted(fresh & allowed)]
    AttachmentUse.objects.bulk_create(rows, batch_size=BATCH)


def _allowed(wanted: set[UUID], user: User | None) -> set[UUID]:
    """Return those that exist and that this user may see; without a user, all that exist."""
    if not wanted:
        return set()
    rows = access.attachments_of(user) if user is not None else Attachment.objects.all()
    return set(rows.filter(pk__in=wanted).values_list("pk", flat=True))


def is_of_a_source(address: str) -> bool:
    return address.startswith("/") and not address.startswith(("//", "/library/"))


def targets(found: Iterable[str]) -> set[tuple[str, str]]:
    """Return kind and key of everything in Watchbook that these addresses lead to."""
    own = {(PAGE, pk) for pk in links.page_ids(found)} | {(VERSION, key) for key in links.version_keys(found)}
    others = sorted(filter(is_of_a_source, found))
    known = (find_address(address) for address in others[:MOST_ITEMS])
    return own | {(kind, key) for kind, key in filter(None, known) if len(key) <= 200}
