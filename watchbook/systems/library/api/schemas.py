"""Response schemas of the library API, and the functions that fill them."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from watchbook.core.accounts.models import User
from watchbook.core.api.schemas import Answer, Listing, said
from watchbook.core.people.models import Invitation
from watchbook.systems.library import access
from watchbook.systems.library.models import (
    CommentThread,
    Page,
    PageVersion,
    ShareLink,
    Space,
    TrashBatch,
    Workspace,
    WorkspaceReleaseChannel,
)
from watchbook.systems.library.store.trash import stays_until


class FlagsOut(Answer):
    """Features of a workspace."""

    folders_enabled: bool
    sharing_enabled: bool


class AttachmentOut(Answer):
    """A picture or another file."""

    id: UUID
    url: str = said("Address of the content on this server, for `src` and `href` in the text of a page.")
    name: str
    type: str = said("Media type, found by content.")
    size: int = said("Bytes.")
    width: int | None = said("Pixels of a picture that is shown in pages; null for everything else.")
    height: int | None = said("Pixels; null if it is not shown as a picture.")


class AttachmentList(Listing[AttachmentOut]):
    """Attachments, oldest first."""


class WorkspaceOut(Answer):
    """A workspace of one user or a team."""

    row = Workspace

    id: UUID
    name: str
    created_at: datetime
    archived_at: datetime | None = said("Null unless archived.")
    deleted_at: datetime | None = said("Null unless in the trash.")
    role: str = said("Your role: owner, admin or member.")
    flags: FlagsOut
    release_channel: str | None = said(
        "The deployment that can change this workspace: prod or staging. Null: read-only everywhere."
    )


class WorkspaceList(Listing[WorkspaceOut]):
    """Workspaces, oldest first."""


class InvitedOut(Answer):
    """An invitation to a workspace for an address without an account."""

    row = Invitation
    id: UUID
    email: str
    role: str
    expires_at: datetime
    link: str = said("Shown once. Empty if the mail server accepted the mail.")


class MemberOut(Answer):
    """A member of a workspace or a space."""

    user_id: UUID
    email: str
    role: str = said("Workspace: owner, admin or member. Space: admin, writer or reader.")


class MemberList(Listing[MemberOut]):
    """All members, in one page."""


class SpaceOut(Answer):
    """A space with its folders and pages."""

    row = Space

    id: UUID
    workspace_id: UUID
    name: str
    tree_version: int = said("Increases with every change of the page tree.")
    created_at: datetime
    archived_at: datetime | None = said("Null unless archived.")
    deleted_at: datetime | None = said("Null unless in the trash.")
    role: str = said("Your role: admin, writer or reader.")


class SpaceList(Listing[SpaceOut]):
    """Spaces, oldest first."""


class PageHead(Answer):
    """A folder or page without its text."""

    row = Page

    id: UUID
    parent_page_id: UUID | None = said("Null at the top level.")
    node_type: str = said("file or folder.")
    title: str
    version: int = said("Increases with every save. Send it back with your change.")


class PageList(Listing[PageHead]):
    """Pages."""


class PageOut(PageHead):
    """A page with its text."""

    space_id: UUID
    content: str = said("Cleaned HTML.")
    is_pinned: bool
    pinned_at: datetime | None
    created_by_id: UUID | None
    updated_by_id: UUID | None
    created_at: datetime
    updated_at: datetime = said("Last change of title or text. Moving a page does not change it.")
    moved_at: datetime | None
    deleted_at: datetime | None = said("Null unless in the trash.")


class CrumbOut(Answer):
    """One level of a breadcrumb."""

    id: UUID
    title: str


class PageWhole(PageOut):
    """A page with its text and breadcrumb."""

    workspace_id: UUID
    breadcrumb: list[CrumbOut] = said("From the top level down to the page itself.")


class ChildOut(PageHead):
    """A page in a list of children."""

    is_pinned: bool
    pinned_at: datetime | None
    updated_at: datetime
    has_children: bool


class ChildList(Listing[ChildOut]):
    """Children of a page: pinned pages first, then in order."""


class SkippedFile(Answer):
    """A file of an import that became no page."""

    path: str
    reason: str = said("program_folder, symbolic_link, duplicate_name, settings, too_large or empty.")


class UnresolvedLink(Answer):
    """A link of an imported file that leads to no page of the import."""

    path: str
    target: str


class ImportPlanOut(Answer):
    """What an import would create and skip. Nothing is changed."""

    dry_run: bool
    format: str = said("The program that wrote the file, such as obsidian or notion.")
    attachment_count: int = said("Number of pictures and other files.")
    page_count: int
    titles: list[str] = said("Titles of the first 200 pages.")
    folder_title: str = said("A new folder around the pages, if they are not allowed there. Empty if none is needed.")
    skipped_count: int = said("Number of files that are skipped.")
    skipped: list[SkippedFile] = said("The first 1,000 of these files, with the reason.")
    decoded: list[str] = said("Files that are not UTF-8 and are read as Windows-1252.")
    unresolved_count: int = said("Number of links to files that are not in the import.")
    unresolved: list[UnresolvedLink] = said("The first 1,000 of these links. They stay as they are.")


class ImportOut(Answer):
    """Result of an import."""

    page_count: int
    import_id: UUID = said("The report is at /library/imports/{import_id}/.")
    format: str = said("The program that wrote the file, such as obsidian or notion.")
    attachment_count: int = said("Number of pictures and other files.")
    items: list[PageHead] = said("The first 200 created pages.")
    skipped_count: int = said("Number of files that were skipped.")
    skipped: list[SkippedFile] = said("The first 1,000 of these files, with the reason.")
    decoded: list[str] = said("Files that were not UTF-8 and were read as Windows-1252.")
    unresolved_count: int = said("Number of links to files that are not in the import.")
    unresolved: list[UnresolvedLink] = said("The first 1,000 of these links. They stay as they are.")


class PageVersionOut(Answer):
    """A version of a page without its text."""

    row = PageVersion

    number: int
    title: str
    reason: str = said("created, saved, autosaved, restored, imported, clipped or copied.")
    created_at: datetime
    author: str | None = said("E-mail of the author. Null if the account was deleted.")


class PageVersionList(Listing[PageVersionOut]):
    """Versions, newest first."""


class PageVersionWhole(PageVersionOut):
    """A version of a page with its text."""

    content: str


class DiffSegment(Answer):
    """An unchanged, removed or added piece of text."""

    kind: str = said("same, del or ins.")
    text: str


class DiffParagraph(Answer):
    """A changed paragraph, or a number of unchanged paragraphs."""

    segments: list[DiffSegment]
    unchanged: int


class DifferenceOut(Answer):
    """Differences between two versions, word by word."""

    paragraphs: list[DiffParagraph]
    added: int = said("Number of added characters.")
    removed: int = said("Number of removed characters.")
    is_coarse: bool = said("True if some paragraphs are shown as replaced as a whole.")
    is_too_large: bool = said("True if the texts are too long to compare. Then the list of paragraphs is empty.")


class ShareOut(Answer):
    """A share link without its token."""

    row = ShareLink

    id: UUID
    page_id: UUID
    created_at: datetime
    expires_at: datetime | None = said("Null if the link does not expire.")
    revoked_at: datetime | None


class ShareList(Listing[ShareOut]):
    """Share links that are not revoked, in one page."""


class ShareMade(ShareOut):
    """A new share link with its token."""

    token: str = said("Shown only in this response.")


class BatchOut(Answer):
    """One deletion: a page and all pages below it."""

    row = TrashBatch

    id: UUID
    page_id: UUID
    page_count: int
    deleted_at: datetime
    until: datetime | None = said("Deleted permanently after this time. Null: never.")
    title: str


class BatchList(Listing[BatchOut]):
    """Deletions, newest first."""


def workspace_out(workspace: Workspace, user: User) -> dict[str, Any]:
    channel = WorkspaceReleaseChannel.objects.filter(workspace=workspace).values_list("release_channel", flat=True)
    return WorkspaceOut.of(
        workspace,
        role=access.workspace_role(user, workspace.pk),
        flags=workspace.flags(),
        release_channel=channel.first(),
    )


def space_out(space: Space, user: User) -> dict[str, Any]:
    return SpaceOut.of(space, role=access.space_role(user, space))


def version_out(version: PageVersion) -> dict[str, Any]:
    return PageVersionOut.of(version, author=version.author.email if version.author else None)


def batch_out(batch: TrashBatch) -> dict[str, Any]:
    return BatchOut.of(batch, title=batch.page.title, until=stays_until(batch.deleted_at))


class PageCommentOut(Answer):
    """One comment of a thread."""

    id: UUID
    author: str | None = said("Address of the member; null if the account was deleted.")
    text: str
    created_at: datetime


class PageThreadOut(Answer):
    """Comments on a page or on a passage of it, oldest first."""

    id: UUID
    page_id: UUID
    quote: str = said("The passage when the thread began; empty for the whole page.")
    created_at: datetime
    resolved_at: datetime | None = said("Null while the thread is open.")
    comments: list[PageCommentOut]


class PageThreadList(Listing[PageThreadOut]):
    """Comment threads of a page, oldest first."""


class PageWatchOut(Answer):
    """Whether you watch a page."""

    page_id: UUID
    watched: bool


def thread_out(thread: CommentThread) -> dict[str, Any]:
    comments = sorted(thread.comments.all(), key=lambda one: (one.created_at, one.pk))
    return {
        "id": thread.pk,
        "page_id": thread.page_id,
        "quote": thread.quote,
        "created_at": thread.created_at,
        "resolved_at": thread.resolved_at,
        "comments": [
            {
                "id": one.pk, "author": one.author.email if one.author else None, "text": one.text,
                "created_at": one.created_at,
            }
            for one in comments
        ],
    }  # fmt: skip
