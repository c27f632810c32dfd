"""Declarations of systems, and how they are found: by folder, so that a new system edits no other file.

Each folder under `watchbook/systems/` has a `source.py` with one SOURCE. Functions are named as "module:function" and
imported when they are first used, so declaring a system imports nothing.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext

from watchbook.core.watching import Schedule
from watchbook.kit.badges import Vocabulary

BUILTIN_JOBS = "watchbook.core.builtin_jobs:JOBS"
# A keyword is a saved search; it belongs to no system.
BUILTIN_RECOGNISERS = {"search": "watchbook.core.search.recognise:RECOGNISER"}
# What users own in core itself, and the roles that core gives.
BUILTIN_OWNED = (
    "watchbook.core.notify.ownership:OWNED",
    "watchbook.core.search.ownership:OWNED",
    "watchbook.core.stream.feeds:OWNED",
    "watchbook.core.people.ownership:OWNED",
)
BUILTIN_ROLES = {"server": "watchbook.core.people.roles:SERVER"}
# The items of core whose rule of notifications can be set: start of the thread, function.
BUILTIN_RULES = {"saved-search": "watchbook.core.search.saved:rule_subject"}
# (query, user, limit) -> search hits, newest first; for feeds
BUILTIN_SEARCH = "watchbook.core.search.find:newest_for"
QUEUES = ("crawler_queue", "monitoring_queue", "maintenance_queue", "cleanup_queue", "analysis_queue")


@dataclass(frozen=True)
class Job:
    """A piece of background work. `run` is called with a JobContext and the run's arguments."""

    name: str
    run: str
    title: str = ""
    queue: str = "crawler_queue"
    schedule: Schedule | None = None
    # Asked at each due slot; when it answers False no run is made. For jobs that tick often and rarely find work.
    wanted: str = ""
    # "module:OPTION" of an on/off option. While it is off, nothing is scheduled and no next run is announced.
    switch: str = ""
    lease_seconds: int = 120
    max_attempts: int = 3
    # May an operator start it from the jobs page, the API and `watchbook jobs run`?
    by_hand: bool = True
    # Names under which other programs send it through Celery, beside its own.
    celery_names: tuple[str, ...] = ()

    def function(self) -> Callable[..., Any]:
        function: Callable[..., Any] = load(self.run)
        return function

    @property
    def is_off(self) -> bool:
        return bool(self.switch) and not load(self.switch).value


@dataclass(frozen=True)
class SearchKind:
    """A kind of document in the search; `name` is stored, `title` is shown, `types` are its names after `type:`."""

    name: str
    title: str
    # beside `name` and the last word of it
    types: tuple[str, ...] = ()


@dataclass(frozen=True)
class Attributes:
    """Attributes of a search document, for the query language."""

    author: str = ""
    # below its source: `in:SOURCE/PLACE`
    place: str = ""
    # an address or a host
    site: str = ""
    # a number that may change; see core.search.index.set_scores
    score: int | None = None


@dataclass(frozen=True)
class TokenScope:
    """A scope of API tokens that a system brings, beside read, write and staff."""

    name: str
    title: str | Promise
    # "module:function" with the signature f(user) -> bool: who may have it; empty means every user
    allowed: str = ""
    # "module:function" of f() -> ids of the members whom an operator has allowed, and of f(user, allowed, *, actor):
    # with both, the page of users has a button for it
    holders: str = ""
    set_allowed: str = ""


@dataclass(frozen=True)
class Tool:
    """A tool of the MCP server: one operation of the API, such as "GET /search", under a name for programs."""

    name: str
    operation: str
    # English, for a language model: what it returns and when to use it
    description: str


@dataclass(frozen=True)
class Example:
    """What can be pasted into the field *Add source*."""

    title: str | Promise
    text: str
    icon: str
    # kinds of Found that this example represents
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recogniser:
    """How a system recognises a pasted text; records are in core.sources.records. Each value is "module:function".

    - `read` (Pasted) -> Found, Refusal or None: parses, sends no request, queries nothing
    - `offer` (user, Found) -> Offer: a preview of real items through the HTTP client, and what can be chosen
    - `add` (user, Found, Choice) -> list of Added; raises AddError
    """

    read: str
    offer: str
    add: str
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True)
class Owned:
    """Things that belong to one user, and what happens to them when the account is removed.

    Functions are "module:function". Without `transfer` another user cannot get them; without `delete` they are deleted
    with the row of the account.
    """

    name: str
    title: str | Promise
    # (user) -> the title of each
    listed: str
    # (user, successor) -> None
    transfer: str = ""
    # (user) -> None
    delete: str = ""
    # True: without a successor they stay, and other users keep them
    stays: bool = False
    # True: shown to no one, such as rows behind the things; counted all the same
    is_hidden: bool = False


@dataclass(frozen=True)
class RolePlace:
    """A place in which a user can have a role."""

    id: str
    title: str
    # (name, title), weakest first; those that a group or an invitation may give
    roles: tuple[tuple[str, str], ...]
    # id of the place and role that are needed first
    within: tuple[str, str] | None = None


@dataclass(frozen=True)
class Roles:
    """Roles that a system gives to users, for groups and invitations. Each value is "module:function".

    - `places` (user) -> the places in which this user may give roles
    - `place` (id) -> RolePlace or None
    - `role_of` (user, id) -> the name of the role, or ""
    - `set_role` (user, id, role, *, actor) -> None; "" removes it; raises InvalidInput
    """

    places: str
    place: str
    role_of: str
    set_role: str


@dataclass(frozen=True)
class UrlLists:
    """Lists of URLs that a system keeps and others may read; records are in core.url_lists. "module:function" each.

    - `all` (user) -> list of UrlList
    - `one` (user, key) -> UrlList or None
    - `read` (user, key) -> iterator of ListedUrl
    """

    all: str
    one: str
    read: str


@dataclass(frozen=True)
class AddressReader:
    """How a system reads an address of the web for the library; see core.stream.clip.read_address."""

    # "module:function" (address, user) -> Clip, or None for an address that is not its own; raises ClipError
    read: str
    # the kind of its clips
    kind: str
    # True: it reads any address, so readers that know the site are asked before it
    is_general: bool = False


@dataclass(frozen=True)
class Media:
    """How a system keeps files of its items in core.media."""

    # "module:function" (user, object ids) -> those of the ids whose item this user may see
    visible: str
    # "module:OPTION" of an on/off option; while it is off, its files are recorded and not fetched
    switch: str = ""


@dataclass(frozen=True)
class Inbox:
    """What a system adds to the inbox; records are in core.stream.inbox. Each value is "module:function".

    - `key` (StreamEntry) -> str: entries of one day, kind and key are one row; empty = entries of one title
    - `words` (list of StreamEntry) -> GroupWords: title and sum of such a row
    - `detail` (StreamEntry, user) -> Detail or None: what the reading pane shows
    """

    key: str = ""
    words: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Step:
    """One step of a test of settings, and what the other side answered."""

    is_ok: bool
    text: str


@dataclass(frozen=True)
class Use:
    """The last use of a group of settings by a job or a message, and what the other side answered.

    `since` is the first use with this result, as far as one is recorded; `other_at` the last use with the other result.
    """

    is_ok: bool
    at: datetime
    since: datetime | None = None
    answer: str = ""
    other_at: datetime | None = None


@dataclass(frozen=True)
class SettingsGroup:
    """A group of fields of the settings page. Options name it with `group`."""

    name: str
    title: str | Promise
    text: str | Promise
    icon: str
    # "notifications", "sources" or "server"
    section: str = "sources"
    # "module:function" (user) -> steps: asks the other side and says what it answered
    test: str = ""
    # "module:function" (after) -> Use | None: the last use that is recorded, after a moment if one is given
    used: str = ""
    # It works without any value, so that it is never called *Not set*.
    works_by_default: bool = False


@dataclass(frozen=True)
class Origin:
    """Where an item comes from: its original address, its place on the site, its author."""

    url: str = ""
    place: str = ""
    author: str = ""


@dataclass(frozen=True)
class Colour:
    """The colour of a system's icon and charts as CSS colours, on a light and on a dark page."""

    light: str
    dark: str


@dataclass(frozen=True)
class Source:
    """What a system declares about itself in its `source.py`."""

    slug: str
    title: str
    # a drawing of kit/icons.svg, or "<file>#<drawing>" of a sprite among the system's static files
    icon: str
    order: int = 100
    colour: Colour | None = None
    # vocabulary -> state -> badge; names of vocabularies are shared by all systems, so they must differ
    badges: Mapping[str, Vocabulary] = field(default_factory=dict)
    # words for what its jobs count and report: name -> title
    figures: Mapping[str, str | Promise] = field(default_factory=dict)
    # template with example entries for the sign-in page
    examples: str = ""
    jobs: tuple[Job, ...] = ()
    search_kinds: tuple[SearchKind, ...] = ()
    # "module:function" (kind, ids) -> {id: Attributes} of stored items, for documents from before an upgrade
    search_attributes: str = ""
    # "module:function" (kind, ids) -> {id: title} of documents that are stored without one, for lists of hits
    search_titles: str = ""
    # kinds of stream entries: (kind, title)
    stream_kinds: tuple[tuple[str, str], ...] = ()
    # how its entries are grouped and read in the inbox
    inbox: Inbox | None = None
    # what it writes into the audit log: (event, title)
    audit_kinds: tuple[tuple[str, str], ...] = ()
    # "module:function" (request) -> kit.cards.Card for the home page
    card: str = ""
    # "module:function" (user) -> core.health.Health; user None = the whole server
    health: str = ""
    # "module:function" (user) -> list of core.health.HealthItem, each watched thing with its health
    health_items: str = ""
    # "module:function" () -> what `watchbook doctor` says against its stored rows; empty if they are right
    examination: str = ""
    # how it recognises a pasted address; None = nothing is added by address
    recogniser: Recogniser | None = None
    # "module:function" (delivery) -> None, called in the transaction that gives a delivery its new state
    delivery_changed: str = ""
    # "module:function" (kind, id, user) -> core.stream.clip.Clip or None
    clip: str = ""
    # "module:function" (kind, ids) -> {id: Origin}, for the texts of notifications
    origins: str = ""
    # "module:function" (urls, user) -> {url: title} of the pages on websites that it knows
    page_titles: str = ""
    # items whose rule of notifications can be set: (start of the thread, "module:function" (key, user) -> Subject)
    rules: tuple[tuple[str, str], ...] = ()
    # "module:function" (core.stream.clip.Address) -> (kind, id) of the item that a page of this system shows, or None
    address: str = ""
    # kinds that can be saved beside those that search finds
    clip_kinds: tuple[str, ...] = ()
    # name of the URL that saves a clip of another system; empty = this system saves none
    clip_page: str = ""
    # name of the URL that saves an address of the web, which other apps share with this one
    share_page: str = ""
    # how it reads an address of the web for a clip; None = it reads none
    reader: AddressReader | None = None
    # "module:function" (user) -> the scopes of its own that this person may see, beside those of the house
    scopes: str = ""
    # scopes of API tokens for its own part of the API
    token_scopes: tuple[TokenScope, ...] = ()
    # what a user owns in it
    owned: tuple[Owned, ...] = ()
    # roles that it gives to users; None = it has none
    roles: Roles | None = None
    # its groups of the settings page
    settings: tuple[SettingsGroup, ...] = ()
    # "module:function" (Writing) -> iterator of results: re-encrypts its stored secrets; see base.crypto.reencrypt
    secrets: str = ""
    # tools of the MCP server
    tools: tuple[Tool, ...] = ()
    # tables that have rows as soon as the schema exists, because a migration writes them
    seeded_tables: tuple[str, ...] = ()
    # who may see the kept files of its items; None = it keeps none
    media: Media | None = None
    # lists of URLs that other systems may read
    url_lists: UrlLists | None = None
    # "module:function" (user, name of a list) -> core.url_lists.Tab or None: its page about a list of another system
    url_list_tab: str = ""
    # name of the URL that the menu opens; empty = no menu entry
    home_url: str = ""
    # slug of the system under whose menu entry its pages stand; empty = an entry of its own
    menu_of: str = ""
    package: str = ""


@cache
def load(dotted: str) -> Any:
    """The object behind "module:name"."""
    module, _, name = dotted.partition(":")
    return getattr(import_module(module), name)


def _folders(package: str) -> list[str]:
    spec = find_spec(package)
    return [m.name for m in pkgutil.iter_modules(spec.submodule_search_locations if spec else []) if m.ispkg]


@cache
def packages() -> tuple[str, ...]:
    """Dotted names of all system folders, without importing them."""
    found = [f"watchbook.systems.{name}" for name in _folders("watchbook.systems")]
    return tuple(sorted(package for package in found if find_spec(f"{package}.source")))


@cache
def sources() -> tuple[Source, ...]:
    """Every system, in menu order."""
    found = []
    for package in packages():
        source: Source = import_module(f"{package}.source").SOURCE
        object.__setattr__(source, "package", package)
        found.append(source)
    return tuple(sorted(found, key=lambda source: (source.order, source.slug)))


def source(slug: str) -> Source:
    for each in sources():
        if each.slug == slug:
            return each
    raise LookupError(f"no system is called {slug}")


@cache
def jobs() -> dict[str, Job]:
    """Every job by name: the house's own first, then each system's."""
    found: dict[str, Job] = {}
    for job in (*load(BUILTIN_JOBS), *(job for source in sources() for job in source.jobs)):
        if job.name in found:
            raise LookupError(f"two jobs are called {job.name}")
        if job.queue not in QUEUES:
            raise LookupError(f"job {job.name} names an unknown queue {job.queue}")
        found[job.name] = job
    return found


def recognisers() -> list[tuple[str, Recogniser]]:
    """Return the recogniser of every system by slug, then those of core."""
    own = [(source.slug, source.recogniser) for source in sources() if source.recogniser]
    return own + [(name, load(dotted)) for name, dotted in BUILTIN_RECOGNISERS.items()]


def owned_kinds() -> list[tuple[str, Owned]]:
    """Return what users can own: that of every system by slug, then that of core."""
    own = [(source.slug, kind) for source in sources() for kind in source.owned]
    return own + [("", kind) for dotted in BUILTIN_OWNED for kind in load(dotted)]


def roles() -> dict[str, Roles]:
    """Return who gives roles, by name: core first, then the systems."""
    own = {name: load(dotted) for name, dotted in BUILTIN_ROLES.items()}
    return own | {source.slug: source.roles for source in sources() if source.roles}


def badges() -> dict[str, Vocabulary]:
    """Return the badge vocabularies of all systems."""
    found: dict[str, Vocabulary] = {}
    for source in sources():
        for name, vocabulary in source.badges.items():
            if name in found:
                raise LookupError(f"two systems declare the badges {name}")
            found[name] = vocabulary
    return found


def source_of_job(name: str) -> Source | None:
    """Return the system that declares this job, or None for a built-in job."""
    return next((source for source in sources() if any(job.name == name for job in source.jobs)), None)


def clip_source() -> Source | None:
    """Return the system that saves clips of other systems, or None if none is installed."""
    return next((source for source in sources() if source.clip_page), None)


def share_page() -> str:
    """Return the name of the URL that takes shared addresses, or an empty text if no installed system has one."""
    return next((source.share_page for source in sources() if source.share_page), "")


def readers() -> list[AddressReader]:
    """Return who reads addresses for clips: those that know a site first."""
    return sorted((source.reader for source in sources() if source.reader), key=lambda reader: reader.is_general)


def job_called(name: str) -> Job | None:
    """The job of this name, or of a name under which other programs know it."""
    return jobs().get(name) or next((job for job in jobs().values() if name in job.celery_names), None)


def parts(module: str) -> list[tuple[Source, Any]]:
    """The module of that name of every system that has one, e.g. parts("urls")."""
    return [
        (source, import_module(f"{source.package}.{module}"))
        for source in sources()
        if find_spec(f"{source.package}.{module}")
    ]


def forget() -> None:
    """For tests that add a folder: look again."""
    for cached in (load, packages, sources, jobs):
        cached.cache_clear()


def publishing_sources() -> list[Source]:
    """Return the systems that write activity entries."""
    return [source for source in sources() if source.stream_kinds]


def stream_kinds_of(slug: str) -> list[tuple[str, str]]:
    """Return name and translated title of each kind of activity of one system."""
    return [
        (kind, gettext(title)) for source in sources() if source.slug == slug for kind, title in source.stream_kinds
    ]


def stream_kind_title(slug: str, kind: str) -> str:
    return dict(stream_kinds_of(slug)).get(kind, kind)


def stream_kind_titles() -> dict[tuple[str, str], str]:
    """Return the translated title of every (system, kind)."""
    return {(source.slug, kind): gettext(title) for source in sources() for kind, title in source.stream_kinds}


def page_titles(urls: Collection[str], user: object) -> dict[str, str]:
    """Return the titles of these pages that a system has read for this user."""
    found: dict[str, str] = {}
    for source in sources():
        if source.page_titles and urls:
            found |= load(source.page_titles)(urls, user)
    return found


def rule_subjects() -> dict[str, str]:
    return BUILTIN_RULES | {start: dotted for source in sources() for start, dotted in source.rules}


def origins(slug: str, kind: str, ids: Collection[str]) -> dict[str, Origin]:
    """Return where these items come from; nothing for a system that does not say."""
    found = next((each for each in sources() if each.slug == slug and each.origins), None)
    return load(found.origins)(kind, ids) if found else {}


def search_attributes(slug: str, kind: str, ids: Collection[str]) -> dict[str, Attributes]:
    """Return the attributes of these items for the search; nothing for a system that has none."""
    found = next((each for each in sources() if each.slug == slug and each.search_attributes), None)
    return load(found.search_attributes)(kind, ids) if found else {}


def search_titles(slug: str, kind: str, ids: Collection[str]) -> dict[str, str]:
    """Return titles for search documents that have none of their own."""
    found = next((each for each in sources() if each.slug == slug and each.search_titles), None)
    return load(found.search_titles)(kind, ids) if found else {}


def icons() -> dict[str, str]:
    return {source.slug: source.icon for source in sources()}
