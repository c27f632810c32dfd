"""Declaration of the pages system: the pages of websites, under the menu entry of the lists that name them."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy as _p

from watchbook.core.registry import (
    AddressReader,
    Colour,
    Example,
    Inbox,
    Job,
    Media,
    Owned,
    Recogniser,
    SearchKind,
    Source,
    Tool,
)
from watchbook.core.watching import cron, every
from watchbook.kit.badges import bad, info, off, ok, warn

PACKAGE = "watchbook.systems.pages"

PAGE_BADGES = {
    "unread": off(_p("web page", "Not read yet"), "s-wait"),
    "ok": ok(_p("web page", "200 OK")),
    "redirect": info(_p("web page", "Redirect"), "s-info"),
    "missing": bad(_p("web page", "Not found")),
    "blocked": warn(_p("web page", "Blocked")),
    "failed": warn(_p("web page", "Error")),
    "moved": info(_p("fate", "Moved"), "s-info"),
    "gone": bad(_p("fate", "Gone")),
    "delisted": warn(_p("fate", "No longer listed")),
    "rule": info(_p("web page", "Rule"), "s-info"),
    "asking": off(_p("fate", "Not known yet"), "s-wait"),
}
FIGURES = {
    "pages_read": _p("figure", "pages read"),
    "blocked": _p("figure", "blocked"),
    "moved": _p("figure", "moved"),
    "gone": _p("figure", "gone"),
    "delisted": _p("figure", "no longer listed"),
    "versions": _p("figure", "versions"),
    "clips": _p("figure", "clips"),
    "evidence": _p("figure", "evidence files"),
    "screenshots": _p("figure", "screenshots"),
    "sites": _p("figure", "websites"),
}
TOOLS = (
    Tool("web_sites", "GET /pages/sites", "List the websites whose pages are read, with counts and state."),
    Tool("web_pages", "GET /pages/sites/{site_id}/pages", "List the pages of one website, newest change first."),
    Tool("web_changes", "GET /pages/changes", "List what changed on the pages of all websites, newest first."),
    Tool("web_page_versions", "GET /pages/{page_id}/versions", "List the versions of one page, newest first."),
    Tool("web_page_version", "GET /pages/{page_id}/versions/{number}", "Read one version of a page: fields and text."),
    Tool("web_page_changes", "GET /pages/{page_id}/diff/{old}/{new}", "Compare two versions of a page word by word."),
)

SOURCE = Source(
    slug="pages",
    title="Web pages",
    icon="globe",
    order=21,
    colour=Colour("#3a6ea5", "#8fbbe8"),
    badges={"web_page": PAGE_BADGES},
    figures=FIGURES,
    home_url="pages:sites",
    menu_of="sitemaps",
    url_list_tab=f"{PACKAGE}.views:list_tab",
    tools=TOOLS,
    owned=(
        Owned("web_sites", _("Websites"), f"{PACKAGE}.actions:site_titles", delete=f"{PACKAGE}.actions:delete_sites"),
    ),
    jobs=(
        Job(
            name="pages.due",
            title="Queue due websites",
            run=f"{PACKAGE}.jobs:enqueue_due",
            wanted=f"{PACKAGE}.jobs:anything_due",
            queue="monitoring_queue",
            schedule=every(seconds=30),
        ),
        Job(
            name="pages.read",
            title="Read pages",
            run=f"{PACKAGE}.jobs.read:read_site",
            queue="crawler_queue",
            lease_seconds=300,
            by_hand=False,
        ),
        Job(
            name="pages.screenshot",
            title="Take screenshots of pages",
            run=f"{PACKAGE}.jobs.shots:take_screenshot",
            queue="analysis_queue",
            lease_seconds=180,
            by_hand=False,
        ),
        Job(
            name="pages.forget",
            title="Delete old page versions",
            run=f"{PACKAGE}.jobs:delete_old",
            queue="cleanup_queue",
            schedule=cron("40 4 * * *"),
        ),
    ),
    search_kinds=(SearchKind("web_page", "Web pages"),),
    search_attributes=f"{PACKAGE}.store.pages:search_attributes",
    inbox=Inbox(detail=f"{PACKAGE}.inbox:detail"),
    stream_kinds=(
        ("changed", "Page changed"),
        ("moved", "Page moved"),
        ("gone", "Page gone"),
        ("delisted", "Page no longer listed"),
        ("rule", "Rule became true"),
    ),
    audit_kinds=(("pages.site_added", "Website added"), ("pages.site_deleted", "Website deleted")),
    card=f"{PACKAGE}.card:card",
    health=f"{PACKAGE}.health:health",
    health_items=f"{PACKAGE}.health:items",
    examination=f"{PACKAGE}.store.counts:examine",
    recogniser=Recogniser(
        read=f"{PACKAGE}.recognise:read",
        offer=f"{PACKAGE}.recognise:offer",
        add=f"{PACKAGE}.recognise:add",
        examples=(Example(_("Page"), "example.com/prices", "globe", ("page",)),),
    ),
    clip=f"{PACKAGE}.clip:clip",
    reader=AddressReader(f"{PACKAGE}.clip:read", "web_clip", is_general=True),
    media=Media(visible=f"{PACKAGE}.store.clips:visible", switch=f"{PACKAGE}.options:CLIP_PICTURES"),
    page_titles=f"{PACKAGE}.clip:page_titles",
)
