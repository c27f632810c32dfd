"""Requests and responses of the API under /api/v1/pages."""

from __future__ import annotations

from datetime import date, datetime
from uuid import UUID

from ninja import Field, Schema
from pydantic import ConfigDict

from watchbook.core.api.lists import DaysQuery, ListQuery
from watchbook.core.api.schemas import Answer, Listing, Mirrored, said
from watchbook.systems.pages.models import Page, PageVersion, Site, SiteRule


class SiteIn(Schema):
    """A website to read: the name of a list, and what of it is read."""

    model_config = ConfigDict(extra="forbid")

    list_name: str = Field(max_length=200, description="Name of a list, as GET /pages/lists returns it.")
    name: str | None = Field(default=None, max_length=200)
    mode: str | None = Field(default=None, description="none, new (new and changed pages) or all (by rate of change).")
    daily_requests: int | None = Field(default=None, ge=1, le=1_000_000)
    masks_noise: bool | None = None
    keeps_evidence: bool | None = Field(
        default=None, description="Keep the requests and responses of every version. Off by default."
    )
    takes_screenshots: bool | None = Field(
        default=None, description="Take a screenshot of every new version. Off by default; needs SITES_CHROMIUM."
    )
    notifies_changed: bool | None = None
    notifies_removed: bool | None = None
    more_lists: list[str] = Field(
        default=[], max_length=100, description="Further lists of the same website, as GET /pages/lists names them."
    )
    channel_ids: list[UUID] | None = Field(default=None, max_length=100)


class SitePatch(Schema):
    """Fields of a website that change; other fields stay."""

    model_config = ConfigDict(extra="forbid")

    name: str | None = Field(default=None, max_length=200)
    mode: str | None = Field(default=None, description="none, new (new and changed pages) or all (by rate of change).")
    daily_requests: int | None = Field(default=None, ge=1, le=1_000_000)
    masks_noise: bool | None = None
    keeps_evidence: bool | None = Field(
        default=None, description="Keep the requests and responses of every version. Off by default."
    )
    takes_screenshots: bool | None = Field(
        default=None, description="Take a screenshot of every new version. Off by default; needs SITES_CHROMIUM."
    )
    notifies_changed: bool | None = None
    notifies_removed: bool | None = None
    is_paused: bool | None = None
    more_lists: list[str] | None = Field(
        default=None, max_length=100, description="Further lists of the same website, as GET /pages/lists names them."
    )
    channel_ids: list[UUID] | None = Field(default=None, max_length=100)


class WatchedPageIn(Schema):
    """A single address to watch."""

    model_config = ConfigDict(extra="forbid")

    url: str = Field(max_length=2048)
    interval_minutes: int = Field(default=1440, description="Minutes between two looks, from 15.")


class PageCounts(Answer):
    """Completeness: `known` is `read` and `never_read` together."""

    known: int = said("Pages that the list names now, or that were added one by one.")
    read: int
    never_read: int
    due: int = said("Pages to be read now, counted up to 10,000.")
    has_more_due: bool
    blocked: int
    failed: int
    ok: int
    redirect: int
    missing: int
    noindex: int
    excluded: int = said("Pages that a rule leaves out: listed and not read.")
    moved: int
    gone: int
    delisted: int
    asking: int = said("URLs that left the list and whose fate is not known yet.")
    last_read_at: datetime | None


class PageSection(Answer):
    """Pages below one path."""

    section: str
    count: int


class WebSiteOut(Answer):
    """A website whose pages are read."""

    row = Site

    id: int
    name: str
    address: str
    list_name: str = said("Name of its list; empty for single addresses.")
    more_lists: list[str] = said("Further lists of the same website.")
    mode: str = said("none, new or all.")
    daily_requests: int
    requests_left: int = said("Requests that this day still allows.")
    is_paused: bool
    masks_noise: bool
    keeps_evidence: bool = said("True if the requests and responses of every version are kept.")
    takes_screenshots: bool = said("True if a screenshot of every new version is taken.")
    notifies_changed: bool
    notifies_removed: bool
    channel_ids: list[UUID]
    list_count: int
    left_out_count: int = said("URLs of the list beyond the limit of this server; they are not read.")
    state: str = said("healthy, failing, error, late, paused or never.")
    reason: str
    remedy: str
    last_success_at: datetime | None
    last_failure_at: datetime | None
    next_at: datetime
    created_at: datetime


class WebSiteList(Listing[WebSiteOut]):
    """Websites, newest first."""


class WebSiteDetail(WebSiteOut):
    """A website with its counts and sections."""

    counts: PageCounts
    sections: list[PageSection]


class UrlListOut(Answer):
    """A list of URLs whose pages can be read."""

    name: str
    title: str
    address: str
    count: int
    site_id: int | None = said("The website that reads this list; null if none does.")


class UrlListPage(Listing[UrlListOut]):
    """Lists of URLs, by name."""


class WebPageOut(Answer):
    """A page as it was last read."""

    row = Page

    id: int
    site_id: int
    url: str
    section: str
    title: str
    is_listed: bool
    lastmod: str
    status: int | None
    result: str = said("unread, ok, redirect, missing, blocked or failed.")
    fate: str = said("What became of a URL that left the list: moved, gone, delisted or asking; empty otherwise.")
    moved_to: str
    error: str = said("Why the last look failed; empty otherwise.")
    is_noindex: bool
    version_count: int
    words_added: int
    words_removed: int
    changed_fields: list[str]
    first_seen_at: datetime
    last_read_at: datetime | None
    changed_at: datetime
    next_at: datetime | None


class WebPageList(Listing[WebPageOut]):
    """Pages, most recently changed first."""


class WebPageVersionOut(Answer):
    """A version of a page, without its text."""

    row = PageVersion

    number: int
    read_at: datetime
    status: int
    fields: dict[str, str]
    size: int = said("Bytes of the document.")
    text_length: int
    words_added: int
    words_removed: int
    changed_fields: list[str]


class WebPageVersionList(Mirrored[WebPageVersionOut]):
    """Versions of a page, newest first."""


class WebPageText(WebPageVersionOut):
    """A version of a page with its main text."""

    text: str


class DiffPiece(Answer):
    """A piece of text."""

    kind: str = said("same, del or ins.")
    text: str


class WebPageDiff(Answer):
    """The difference between two versions of a page, without learned noise."""

    old: int
    new: int
    changed_fields: list[str]
    added: int = said("Characters that were added.")
    removed: int
    is_coarse: bool
    is_too_large: bool
    paragraphs: list[list[DiffPiece]]


class ChangedValue(Answer):
    """A field before and after a change."""

    field: str
    old: str
    new: str


class WebPageEvent(Answer):
    """A change of a page, or what became of a URL that left its list."""

    id: int
    kind: str = said("changed, moved, gone, delisted or rule.")
    rule: str = said("The rule that became true; empty otherwise.")
    at: datetime
    version: int | None
    fields: list[str] = said("Fields that changed; text is the main text.")
    values: list[ChangedValue] = said("Changed fields with old and new value, without the main text.")
    page: WebPageOut


class WebPageEventList(Mirrored[WebPageEvent]):
    """Changes of the pages of a website, newest first."""


class WebChangesQuery(DaysQuery):
    """Filters of a list of changes."""

    q: str = Field("", description="Words of title or address.")
    kind: str = Field("", description="changed, moved, gone, delisted or rule.")
    field: str = Field("", description="A field that changed, such as title, price or title_or_price.")


class SectionReport(Answer):
    """Pages below one path; new, changed and removed in 30 days; new pages per week, oldest first."""

    section: str
    pages: int
    read: int
    new: int
    changed: int
    removed: int
    trend: list[int]


class SectionReports(Listing[SectionReport]):
    """Sections of a website, largest first."""

    more: int = said("Smaller sections that are not in the list.")


class WeeklySite(Answer):
    """What a website had per week; null for weeks before it was added."""

    site_id: int
    name: str
    weeks: list[int | None]
    total: int


class WeeklySites(Listing[WeeklySite]):
    """Websites compared by week, most first."""

    weeks: list[date] = said("Mondays, oldest first. The last week is not over.")


class UrlMoment(Answer):
    """Something that happened to a URL."""

    at: datetime
    kind: str = said("listed, version, left, moved, gone, delisted or rule.")
    version: int | None
    fields: str
    words_added: int | None
    words_removed: int | None
    more: str = said("Where it moved, which rule, or its lastmod.")


class UrlTimeline(Listing[UrlMoment]):
    """The life of one URL, newest first."""


class WeeklyQuery(Schema):
    """What is compared."""

    count: str = Field("new", description="new, changed, moved, gone or delisted.")


class WebRuleIn(Schema):
    """A rule to add or to preview."""

    model_config = ConfigDict(extra="forbid")

    kind: str = Field(
        default="notify",
        description="notify (when a condition becomes true), include or exclude (which URLs are read), only or ignore "
        "(which parts of a page are compared).",
    )
    condition: str = Field(
        default="",
        max_length=300,
        description="notify: such as text contains sale, price < 50, status != 200, noindex, title changed, "
        "more than 50 new under /products/. only, ignore: a CSS selector.",
    )
    pattern: str = Field(
        default="",
        max_length=200,
        description="Beginning of a path, a path with * and ?, or re: and a regular expression. Empty: all pages.",
    )
    page_id: int | None = Field(default=None, ge=1, description="notify: the only page that the rule is about.")
    channel_ids: list[UUID] = Field(
        default=[], max_length=100, description="notify: channels of this rule. Empty: those of the website."
    )


class WebRuleOut(Answer):
    """A rule over pages of a website."""

    row = SiteRule

    id: int
    site_id: int
    kind: str = said("notify, include, exclude, only or ignore.")
    condition: str
    pattern: str
    page_id: int | None = said("The only page that the rule is about.")
    channel_ids: list[UUID] = said("Channels of this rule; empty if it notifies those of the website.")
    created_at: datetime


class WebRulePreview(Answer):
    """What a rule means for stored pages."""

    count: int = said("Pages of which the rule is true now.")
    tried: int = said("Pages that were tried.")
    pages: list[WebPageOut]
    text: str = said("Text that the selector of a rule compares; empty for other rules.")


class WebRuleList(Listing[WebRuleOut]):
    """Rules of a website, newest first."""


class WebPagesQuery(ListQuery):
    """Filters of a list of pages."""

    section: str = ""
    state: str = ""
    days: str = Field("", description="today, 7d, last_week, or range with `since` and `until`: the last change.")
    since: str = Field("", description="First day or moment of the last change.")
    until: str = Field("", description="Last day, which counts whole; or a moment, which does not.")
    period: str = Field("", description="today, 7 or 30: the last change, in days of 24 hours up to now.")
    q: str = ""
