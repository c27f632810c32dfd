"""Rows of the library for the walks over all addresses, API responses and pages."""

from __future__ import annotations

from watchbook.base.testing.people import make_person
from watchbook.core.accounts.models import User
from watchbook.systems.library import actions
from watchbook.systems.library.models import Page, PageImport, Space


def furnish(owner: User) -> dict[str, list[str]]:
    """Fill every list of the library, and return ids by the name that paths give them."""
    workspace = actions.create_workspace(owner, "Desk")
    space = actions.create_space(owner, workspace.pk, "Files")
    folder = actions.create_page(owner, space.pk, title="Folder", node_type="folder")
    file = actions.create_page(
        owner, space.pk, title="File", node_type="file", parent_page_id=folder.pk, content="One\n\nTwo"
    )
    attachment = actions.upload(owner, folder.pk, [b"One"], "one.txt")
    kept = {"skipped": [("a.md", "empty")], "unresolved": [("b.md", "c.md")], "decoded": [], "tops": []}
    counts = {"pages": 1, "folders": 0, "pictures": 0, "attachments": 0, "links": 0, "format": "markdown"}
    report = {**kept, **counts, "skipped_count": 1, "unresolved_count": 1, "converted": {"callout": 2}}
    brought = PageImport.objects.create(space=space, name="notes.zip", format="markdown", state="done", report=report)
    link, _token = actions.share_page(owner, file.pk)
    actions.set_flags(owner, workspace.pk, {"folders_enabled": False})
    actions.create_page(owner, space.pk, title="Left at the top", node_type="file")
    actions.set_flags(owner, workspace.pk, {"folders_enabled": True})
    thread = actions.add_comment(owner, file.pk, words="A comment", quote="One").thread
    suggestion = actions.suggest_edit(owner, file.pk, version=1, title="File", content="<p>Three</p>")
    tag = actions.set_tags(owner, file.pk, ["harbour"])[0]
    actions.set_template(owner, file.pk, on=True)
    actions.set_properties(owner, file.pk, {"status": "approved", "owner_id": owner.pk, "valid_until": "2026-01-31"})
    job = actions.start_migration(owner, space.pk)
    _share_and_trash(owner, space, folder, file)
    return {
        "workspace_id": [str(workspace.pk)],
        "space_id": [str(space.pk)],
        "page_id": [str(file.pk), str(folder.pk)],
        "user_id": [str(owner.pk)],
        "number": ["1"],
        "import_id": [str(brought.pk)],
        "file_id": [str(attachment.pk)],
        "file_name": ["one.txt"],
        "link_id": [str(link.pk)],
        "job_id": [str(job.pk)],
        "thread_id": [str(thread.pk)],
        "suggestion_id": [str(suggestion.pk)],
        "tag_id": [str(tag.pk)],
    }


def _share_and_trash(owner: User, space: Space, folder: Page, file: Page) -> None:
    friend = make_person("friend-of-the-library")
    actions.set_member(owner, space.workspace_id, person=friend, role="member")
    actions.set_space_member(owner, space.pk, person=friend, role="reader")
    actions.set_favourite(owner, folder.pk, kept=True)
    gone = actions.create_page(owner, space.pk, title="Gone", node_type="file", parent_page_id=folder.pk)
    actions.trash_page(owner, gone.pk)
    link = f'<p><a href="/library/pages/{file.pk}/">up</a> and <a href="/library/pages/{folder.pk}/">top</a></p>'
    actions.create_page(owner, space.pk, title="Below a file", parent_page_id=file.pk, content=link)
    actions.store_reconciliation(owner, space.workspace_id)
