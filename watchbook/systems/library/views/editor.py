"""What the editor asks for while someone writes: its words, pages to link to, people to mention, Markdown as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from watchbook.kit.formatting import asset_url
from watchbook.systems.library import actions
from watchbook.systems.library.models import Page
from watchbook.systems.library.store.publish import page_path
from watchbook.systems.library.views import answers, given, reader
from watchbook.systems.library.views.links import broken_link


@require_GET
@answers
def link_targets(request: HttpRequest, page_id: UUID) -> HttpResponse:
    """Pages whose title has these words, for the picker behind `[[`; without words, those changed last."""
    found = actions.link_targets(reader(request), page_id, request.GET.get("q", ""))
    rows = [{"id": str(one.id), "title": one.title, "path": one.path, "url": page_path(one.id)} for one in found]
    return JsonResponse(rows, safe=False)


@require_GET
@answers
def people(request: HttpRequest, page_id: UUID) -> HttpResponse:
    """Members who can read the page, for the picker behind `@`."""
    found = actions.people_of(reader(request), page_id, request.GET.get("q", ""))
    return JsonResponse(
        [{"id": str(one.pk), "name": actions.short_name(one), "email": one.email} for one in found], safe=False
    )


@require_POST
@answers
def convert(request: HttpRequest, page_id: UUID) -> HttpResponse:
    """Return pasted Markdown as cleaned HTML. Nothing is saved."""
    return JsonResponse({"html": actions.convert_markdown(reader(request), page_id, given(request, "markdown"))})


def written(request: HttpRequest) -> str:
    """Return the HTML of a form of the editor: of its Markdown view if it was sent from there."""
    is_markdown = "markdown" in request.POST
    return actions.from_markdown(given(request, "markdown")) if is_markdown else given(request, "content")


def addresses(page: Page, broken: Sequence[str]) -> dict[str, str]:
    """Return the addresses that the editor uses, where its icons are, and which pages its links do not reach."""
    return {
        "files": f"{page_path(page.pk)}files/",
        "targets": reverse("library:link_targets", args=[page.pk]),
        "people": reverse("library:people", args=[page.pk]),
        "convert": reverse("library:convert", args=[page.pk]),
        "create": reverse("library:create", args=[page.space_id]),
        "parent": str(page.parent_page_id or ""),
        "broken": " ".join(broken),
        "sprite": asset_url("kit/icons.svg"),
        "icons": asset_url("library/icons-editor.svg"),
    }


def words() -> dict[str, Any]:
    """Return what the editor says, in the reader's language."""
    return {
        **_places(),
        "blocks": _blocks(),
        "groups": {
            "blocks": _("Blocks"), "media": _("Media and links"), "pages": _("Link to page"), "people": _("Mention"),
        },
        "keys": {"choose": _("choose"), "insert": _("insert"), "close": _("close")},
        "table": {
            "rowAbove": _("Insert row above"), "rowBelow": _("Insert row below"), "headRow": _("Header row"),
            "copyRow": _("Duplicate row"),
            "deleteRow": _("Delete row"), "columnBefore": _("Insert column before"),
            "columnAfter": _("Insert column after"), "left": _("Align left"), "centre": _("Align centre"),
            "right": _("Align right"), "merge": _("Merge or split cells"), "deleteColumn": _("Delete column"),
            "deleteTable": _("Delete table"),
        },
    }  # fmt: skip


def _places() -> dict[str, str]:
    return {
        "picture": _("picture"), "caption": _("Caption"), "alt": _("Alt text"), "removePicture": _("Remove picture"),
        "askAlt": _("Picture description"), "askLink": _("Link address"), "language": _("Language of the code block"),
        "plainText": _("Plain text"), "copy": _("Copy"), "done": _("Done"), "insert": _("Insert"),
        "createPage": _("Create page “#”"), "uploading": _("Uploading"), "cancel": _("Cancel"),
        "notUploaded": _("# was not uploaded"), "failed": _("The server did not accept it. Try again."),
        "addBlock": _("Add block"), "moveBlock": _("Move block"), "moveUp": _("Move up"), "moveDown": _("Move down"),
        "link": _("Link"), "openPage": _("Open page"), "editLink": _("Edit link"), "removeLink": _("Remove link"),
        "badLink": _("Enter an address, for example https://example.org."), "apply": _("Apply"),
        "brokenLink": broken_link(),
        "duplicate": _("Duplicate"), "remove": _("Delete"), "noTitle": _("no text"),
    }  # fmt: skip


def _blocks() -> dict[str, list[str]]:
    """Title, note and other words that find a block in the menu."""
    return {
        "text": [_("Text"), _("Plain paragraph"), "paragraph 正文"],
        "h1": [_("Heading 1"), _("Large heading"), "title 标题"],
        "h2": [_("Heading 2"), _("Section"), "subtitle 标题"],
        "h3": [_("Heading 3"), _("Subsection"), "subtitle 标题"],
        "bullets": [_("List"), _("Bulleted list"), "bullet 列表"],
        "numbers": [_("Numbered list"), _("List with numbers"), "ordered 编号"],
        "tasks": [_("Task list"), _("Check boxes"), "todo checklist 任务 待办"],
        "table": [_("Table"), _("Rows and columns"), "grid 表格"],
        "quote": [_("Quote"), _("Quoted text"), "blockquote 引用"],
        "note": [_("Note"), _("Callout with a hint"), "callout info 提示"],
        "tip": [_("Tip"), _("Callout with advice"), "callout 建议"],
        "warning": [_("Warning"), _("Callout with a warning"), "callout alert 警告"],
        "code": [_("Code block"), _("Code with its language"), "snippet 代码"],
        "divider": [_("Divider"), _("Line across the page"), "rule hr 分隔线"],
        "picture": [_("Picture"), _("Upload a picture"), "image photo 图片"],
        "file": [_("Attachment"), _("Upload a file"), "upload 附件"],
        "page": [_("Link to page"), _("Search pages by title"), "[[ link 链接"],
        "person": [_("Mention"), _("Name a member"), "@ person 提及"],
    }
