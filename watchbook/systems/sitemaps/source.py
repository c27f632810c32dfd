"""Declaration of the sitemaps system."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy as _p

from watchbook.core.registry import Colour, Example, Inbox, Job, Owned, Recogniser, SearchKind, Source, Tool, UrlLists
from watchbook.core.watching import cron, every
from watchbook.kit.badges import bad, off, ok, warn

PACKAGE = "watchbook.systems.sitemaps"

MONITOR_BADGES = {
    "active": ok(_p("monitor", "Active")),
    "paused": warn(_p("monitor", "Paused"), "s-hold"),
    "error": bad(_p("monitor", "Error")),
    "degraded": warn(_p("monitor", "Incomplete")),
    "suspect": warn(_p("monitor", "Unconfirmed"), "s-hold"),
    "baseline": off(_p("monitor", "Baseline")),
    "no_change": off(_p("monitor", "No change")),
}
FIGURES = {
    "added": _p("figure", "added"),
    "broken_off": _p("figure", "interrupted"),
    "changed": _p("figure", "changed"),
    "corrected": _p("figure", "corrected"),
    "degraded": _p("figure", "incomplete"),
    "enqueued": _p("figure", "queued"),
    "modified": _p("figure", "modified"),
    "parts": _p("figure", "files"),
    "removed": _p("figure", "removed"),
    "suspect": _p("figure", "unconfirmed"),
    "told": _p("figure", "notified"),
    "unchanged": _p("figure", "unchanged"),
    "urls": _p("figure", "URLs"),
}

TOOLS = (
    Tool(
        "sitemap_monitors",
        "GET /sitemaps/monitors",
        "List the sitemaps that are monitored, with state, last check and number of URLs.",
    ),
    Tool(
        "sitemap_changes",
        "GET /sitemaps/monitors/{monitor_id}/changes",
        "List the changes of one monitored sitemap, newest first.",
    ),
    Tool(
        "sitemap_change",
        "GET /sitemaps/changes/{change_id}",
        "Read one change of a sitemap: added, removed and modified URLs.",
    ),
    Tool(
        "sitemap_snapshots",
        "GET /sitemaps/monitors/{monitor_id}/snapshots",
        "List the stored versions of one sitemap, newest first.",
    ),
    Tool(
        "sitemap_compare",
        "GET /sitemaps/snapshots/{old_id}/compare/{new_id}",
        "Compare any two stored versions of a sitemap: added, removed and modified URLs.",
    ),
    Tool(
        "sitemap_urls",
        "GET /sitemaps/snapshots/{snapshot_id}/urls",
        "List the URLs of one stored version of a sitemap.",
    ),
)

SOURCE = Source(
    slug="sitemaps",
    title="Websites",
    icon="sitemap",
    order=20,
    colour=Colour("#2a857f", "#62b9b1"),
    badges={"monitor": MONITOR_BADGES},
    figures=FIGURES,
    examples="sitemaps/_examples.html",
    home_url="sitemaps:monitors",
    tools=TOOLS,
    owned=(
        Owned(
            "monitors",
            _("Monitors"),
            f"{PACKAGE}.actions:monitor_titles",
            transfer=f"{PACKAGE}.actions:transfer_monitors",
        ),
    ),
    jobs=(
        Job(
            name="sitemaps.due",
            title="Queue due monitors",
            run=f"{PACKAGE}.jobs.check:enqueue_due",
            wanted=f"{PACKAGE}.jobs.check:anything_due",
            queue="monitoring_queue",
            schedule=every(seconds=30),
        ),
        Job(
            name="sitemaps.check",
            title="Check sitemap",
            run=f"{PACKAGE}.jobs.check:check_monitor",
            queue="crawler_queue",
            lease_seconds=300,
            by_hand=False,
        ),
        Job(
            name="sitemaps.forget",
            title="Delete old snapshots and changes",
            run=f"{PACKAGE}.jobs:delete_old",
            queue="cleanup_queue",
            schedule=cron("20 4 * * *"),
        ),
    ),
    search_kinds=(SearchKind("sitemap_change", "Sitemap changes"),),
    search_attributes=f"{PACKAGE}.store.notifications:search_attributes",
    inbox=Inbox(words=f"{PACKAGE}.inbox:words", detail=f"{PACKAGE}.inbox:detail"),
    stream_kinds=(
        ("changed", "Sitemap changed"),
        ("error", "Checks of a sitemap fail"),
        ("recovered", "Checks of a sitemap succeed again"),
    ),
    card=f"{PACKAGE}.card:card",
    recogniser=Recogniser(
        read=f"{PACKAGE}.recognise:read",
        offer=f"{PACKAGE}.recognise:offer",
        add=f"{PACKAGE}.recognise:add",
        examples=(
            Example(_("Website"), "example.com", "globe", ("website",)),
            Example(_("Sitemap or feed"), "example.com/sitemap.xml", "sitemap", ("sitemap", "feed")),
        ),
    ),
    health=f"{PACKAGE}.health:health",
    health_items=f"{PACKAGE}.health:items",
    clip=f"{PACKAGE}.clip:clip",
    url_lists=UrlLists(
        all=f"{PACKAGE}.url_lists:all_lists", one=f"{PACKAGE}.url_lists:one_list", read=f"{PACKAGE}.url_lists:read_list"
    ),
    rules=(("sitemaps.monitor", f"{PACKAGE}.store.notifications:rule_subject"),),
    address=f"{PACKAGE}.clip:address",
    delivery_changed=f"{PACKAGE}.store.notifications:delivery_changed",
)
