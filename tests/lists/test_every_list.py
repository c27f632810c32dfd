"""Every list: its export holds exactly what its pages show, for random filters, and the API has the same filters."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain
from typing import Any

import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.api_document import openapi_document
from watchbook.base import clock
from watchbook.base.testing.fixtures import SharedRows
from watchbook.base.testing.people import client_of, make_person
from watchbook.core.accounts.models import AuditEvent
from watchbook.core.notify.models import Delivery, NotificationChannel
from watchbook.core.notify.models import State as DeliveryState
from watchbook.kit.lists import Shown
from watchbook.systems.nga.models import Forum, Thread
from watchbook.systems.notes.models import Candidate, CandidateStatus, Creator, Keyword, Note, NoteComment, Presence
from watchbook.systems.pages.models import Page, PageEvent, Site
from watchbook.systems.reddit.models import CommunityCache, Crawl, PostRaw
from watchbook.systems.sitemaps.models import ChangeRecord, ChangeType, MonitorTask, SitemapSnapshot, Status

pytestmark = pytest.mark.django_db
ROWS = 55
FORMULAS = ("=1+1", "+1", "-1+2", "@SUM(A1)", "\t=1", "＝1+1")


@dataclass(frozen=True)
class Case:
    """A page with a list, its operation, and the column of the export that names a row of the page."""

    page: str
    api: str
    column: str
    key: Callable[[Any], Any] = lambda row: row.pk

    def __str__(self) -> str:
        return self.page


CASES = [
    Case("/deliveries/", "/api/v1/deliveries", "id"),
    Case("/audit/", "/api/v1/audit", "id"),
    Case("/sitemaps/", "/api/v1/sitemaps/monitors", "id", lambda row: str(row.pk)),
    Case("/sitemaps/{monitor}/changes/", "/api/v1/sitemaps/monitors/{monitor}/changes", "id", lambda row: str(row.pk)),
    Case("/pages/changes/", "/api/v1/pages/changes", "id"),
    Case("/nga/", "/api/v1/nga/threads", "source_thread_id", lambda row: row.source_thread_id),
    Case("/reddit/", "/api/v1/reddit/communities", "community_name", lambda row: row.community_name),
    Case("/reddit/posts/", "/api/v1/reddit/posts", "source_post_id", lambda row: row.source_post_id),
    Case("/reddit/crawls/", "/api/v1/reddit/crawls", "id"),
    Case("/notes/", "/api/v1/notes/candidates", "note_id", lambda row: row.note_id),
    Case("/notes/keywords/", "/api/v1/notes/keywords", "id"),
    Case("/notes/creators/", "/api/v1/notes/creators", "id"),
    Case("/notes/comments/", "/api/v1/notes/comments", "comment_id", lambda row: row.comment_id),
    Case("/notes/notes/", "/api/v1/notes/sources", "note_id", lambda row: row.note_id),
]


@dataclass(frozen=True)
class Made:
    operator: Any
    monitor: str


@pytest.fixture(scope="module")
def made(shared_rows: SharedRows) -> Made:
    with shared_rows():
        person = make_person("operator", is_staff=True)
        make_core_rows(person)
        monitor = make_monitors(person)
        make_pages(person)
        make_topics()
        make_posts()
        make_notes()
    return Made(person, monitor)


@pytest.fixture
def browser(made: Made, db: None) -> Client:
    return client_of(made.operator)


def at(number: int) -> Any:
    return clock.now() - timedelta(days=number % 25, minutes=number)


def title(number: int) -> str:
    return f"{FORMULAS[number % 9]} {number}" if number % 9 < len(FORMULAS) else f'Lantern, "no. {number}"; 灯塔\n2'


def make_core_rows(person: Any) -> None:
    channels = [
        NotificationChannel.objects.create(user=person, name=f"hook {n}", channel_type="webhook", config={})
        for n in range(2)
    ]
    Delivery.objects.bulk_create(
        Delivery(
            channel=channels[n % 2], event_id=f"e{n}", source=("alerts", "search")[n % 2], kind="alert",
            subject=title(n)[:300], state=DeliveryState.values[n % 4], created_at=at(n),
        )
        for n in range(ROWS)
    )  # fmt: skip
    AuditEvent.objects.bulk_create(
        AuditEvent(
            happened_at=at(n), event=("login.ok", "logout", "token.made")[n % 3], subject=title(n),
            actor_email=("operator@example.com", "bob@example.com")[n % 2],
        )
        for n in range(ROWS)
    )  # fmt: skip


def make_monitors(person: Any) -> str:
    monitors = [
        MonitorTask(
            user=person, name=title(n), sitemap_url=f"https://example.com/{n}.xml", status=Status.values[n % 3],
            host="example.com", created_at=at(n),
        )
        for n in range(ROWS)
    ]  # fmt: skip
    MonitorTask.objects.bulk_create(monitors)
    snapshot = SitemapSnapshot.objects.create(
        monitor_task=monitors[0],
        urls=[],
        url_count=0,
        url_hash="0" * 64,
        created_at=at(0),
        parts=[],
        fetch_duration_ms=1,
        parse_duration_ms=1,
    )
    ChangeRecord.objects.bulk_create(
        ChangeRecord(
            monitor_task=monitors[0], new_snapshot=snapshot, change_type=ChangeType.values[n % 3],
            added_count=n % 4, removed_count=n % 3, modified_count=n % 5, noisy_count=n % 2 if n % 5 else 0,
            changes={}, created_at=at(n), health=("ok", "degraded")[n % 2],
        )
        for n in range(ROWS)
    )  # fmt: skip
    return str(monitors[0].pk)


def make_pages(person: Any) -> None:
    site = Site.objects.create(user=person, name="Shop", address="https://example.com/", daily_requests=1)
    page = Page.objects.create(
        site=site, url="https://example.com/a", url_digest="a", section="/", title=title(1), first_seen_at=at(0),
        changed_at=at(0),
    )  # fmt: skip
    PageEvent.objects.bulk_create(
        PageEvent(
            site=site, page=page, kind=("changed", "gone", "rule")[n % 3], version=n,
            fields=("", ",title,", ",price,text,")[n % 3], rule=title(n), at=at(n),
        )
        for n in range(ROWS)
    )  # fmt: skip


def make_topics() -> None:
    board = Forum.objects.create(source_forum_id=7, list_url="https://bbs.example.com/7", forum_name="灯塔")
    Thread.objects.bulk_create(
        Thread(
            forum=board, source_thread_id=1000 + n, title=title(n), author_name=("Marlin", "白鹿")[n % 2],
            author_source_user_id=70 + n % 2, thread_created_at=at(n), is_pinned=n % 5 == 0, is_digest=n % 3 == 0,
            last_reply_at=at(n // 2) if n % 4 else None, reply_count_display=n,
            first_seen_on_list_page_number=1, last_seen_on_list_page_number=1,
        )
        for n in range(ROWS)
    )  # fmt: skip


def make_posts() -> None:
    CommunityCache.objects.bulk_create(
        CommunityCache(
            community_name=f"r/made{n:03}", quality_tier=f"tier{n % 3 + 1}", is_active=n % 5 > 0, rate=float(n % 7),
            possible_gap=n % 4 == 0, last_crawled_at=at(n) if n % 3 else None, next_due=at(n),
        )
        for n in range(ROWS)
    )  # fmt: skip
    PostRaw.objects.bulk_create(
        PostRaw(
            source_post_id=f"p{n}", subreddit=f"r/made{n % 3:03}", title=title(n), content=title(n + 1),
            score=n - 10, created_at=at(n), first_seen_at=at(n), valid_from=at(n), observed_at=at(n),
            text_norm_hash=f"{n:064}", author=("Marlin", "ann")[n % 2], author_deleted=n % 6 == 0,
            removed_by_category="moderator" if n % 4 == 0 else "", version=1 + n % 2, rising=float(n % 5),
        )
        for n in range(ROWS)
    )  # fmt: skip
    Crawl.objects.bulk_create(
        Crawl(
            community_name=f"r/made{n % 3:03}", crawled_at=at(n), kind=("new", "full", "top")[n % 3],
            outcome=("ok", "private")[n % 2], possible_gap=n % 4 == 0, detail=title(n),
        )
        for n in range(ROWS)
    )  # fmt: skip


def make_notes() -> None:
    words = ("灯塔", "lantern")
    Candidate.objects.bulk_create(
        Candidate(
            note_id=f"c{n}", title=title(n), status=CandidateStatus.values[n % 4], source_keyword=words[n % 2],
            created_at=at(n), queued_at=at(n + 1),
        )
        for n in range(ROWS)
    )  # fmt: skip
    Creator.objects.bulk_create(
        Creator(
            author_hash=f"h{n}", platform_id="x", label=title(n), is_active=n % 3 > 0, possible_gap=n % 4 == 0,
            last_error="x: y" if n % 5 == 0 else "", created_at=at(n),
        )
        for n in range(ROWS)
    )  # fmt: skip
    Keyword.objects.bulk_create(
        Keyword(
            keyword=title(n), folded=f"k{n}", is_active=n % 3 > 0, sort=("general", "time_descending")[n % 2],
            note_type=("all", "video", "normal")[n % 3], last_error="x: y" if n % 5 == 0 else "", created_at=at(n),
        )
        for n in range(ROWS)
    )  # fmt: skip
    Note.objects.bulk_create(
        Note(
            idempotency_key=f"n{n}_v1", note_id=f"n{n}", title=title(n), content=title(n + 1), collected_at=at(n),
            note_type=("normal", "video")[n % 2], author_id=f"a{n % 3}", source_keyword=words[n % 2],
            counts={"liked": {"value": n, "exact": True, "raw": str(n)}},
        )
        for n in range(ROWS)
    )  # fmt: skip
    note = Note.objects.get(note_id="n0")
    NoteComment.objects.bulk_create(
        NoteComment(
            note=note, comment_id=f"k{n}", content=title(n), author_id=f"a{n % 3}", first_read_at=at(n),
            presence=Presence.values[n % 3], liked={"value": n, "exact": True, "raw": str(n)},
        )
        for n in range(ROWS)
    )  # fmt: skip


def path_of(case: Case, made: Made, what: str = "page") -> str:
    return str(getattr(case, what)).format(monitor=made.monitor)


def listing_of(case: Case, made: Made, browser: Client) -> Shown[Any]:
    shown: Shown[Any] = browser.get(path_of(case, made)).context["listing"]
    return shown


def values_of(shown: Shown[Any]) -> dict[str, list[str]]:
    """Values that the filters of a page offer, and some that may be written."""
    written = {"author": ["Marlin", "a1"], "who": ["bob@example.com"], "community": ["made001", "r/made002"]}
    found: dict[str, list[str]] = {}
    for drawn in (*shown.fields, *filter(None, [shown.search])):
        name, kind = drawn.filter.name, drawn.kind
        if kind == "days":
            found |= {name: ["", "today", "7d", "last_week", "range"], "since": [str(at(20).date()), "x"]}
        elif kind == "search":
            found[name] = ["LANTERN", "1 =", "zz"] if type(drawn.filter).__name__ == "Search" else []
        elif kind == "number":
            found[name] = ["3", "70"]
        else:
            found[name] = [each.value for each in drawn.offered] or written.get(name, ["x"])
    found["order"] = [each.value for each in shown.orders]
    return {name: values for name, values in found.items() if values}


def keys_on_pages(case: Case, path: str, browser: Client, asked: dict[str, str]) -> list[Any]:
    found: list[Any] = []
    place: dict[str, str] = {}
    for number in range(1, 20):
        page = browser.get(path, asked | place).context["page"]
        found += [case.key(row) for row in page]
        if hasattr(page, "has_next"):
            place = {"page": str(number + 1)} if page.has_next() else {}
        else:
            place = {"older": page.older} if page.older else {}
        if not place:
            return found
    raise AssertionError("no end")


def body(answer: Any) -> bytes:
    assert answer.status_code == 200, answer
    return b"".join(answer.streaming_content)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_export_holds_exactly_what_the_pages_show(case: Case, made: Made, browser: Client) -> None:
    path, api = path_of(case, made), path_of(case, made, "api")
    values = values_of(listing_of(case, made, browser))
    choose = st.fixed_dictionaries({}, optional={name: st.sampled_from(given) for name, given in values.items()})

    @settings(max_examples=4)
    @given(choose)
    def holds(asked: dict[str, str]) -> None:
        # What an export writes into the audit log is newer than what the pages showed.
        last = AuditEvent.objects.order_by("-pk").values_list("pk", flat=True)[0]
        shown = keys_on_pages(case, path, browser, asked)
        file = body(browser.get(path, asked | {"format": "jsonl"})).decode()
        lines = [json.loads(line) for line in file.splitlines()]
        assert [line[case.column] for line in lines if case.api != "/api/v1/audit" or line["id"] <= last] == shown
        table = csv.DictReader(io.StringIO(body(browser.get(path, asked | {"format": "csv"})).decode(), newline=""))
        keys = [row[case.column].lstrip("'") for row in table]
        assert [key for key in keys if case.api != "/api/v1/audit" or int(key) <= last] == [str(key) for key in shown]
        if "x" not in asked.values() and set(asked) <= parameters(case):
            same = body(browser.get(api, asked | {"format": "jsonl"})).decode()
            if case.api not in ("/api/v1/audit", "/api/v1/reddit/communities") and "changes" not in case.api:
                assert same == file

    holds()


def parameters(case: Case) -> set[str]:
    paths = openapi_document()["paths"]
    template = case.api.replace("{monitor}", "{monitor_id}")
    return {each["name"] for each in paths[template]["get"]["parameters"] if each["in"] == "query"}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_api_has_every_filter_of_the_page(case: Case, made: Made, browser: Client) -> None:
    shown = listing_of(case, made, browser)
    # The API gives communities by name; a community is no event.
    is_community = case.page == "/reddit/"
    wanted = shown.list.parameters
    assert not wanted - parameters(case) - ({"order"} if is_community else set())
    assert "format" in parameters(case)
    assert len(shown.orders) > 1, "every list can be sorted"
    assert "days" in wanted
    assert shown.search, "every list can be searched"


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_cell_of_an_export_is_a_formula(case: Case, made: Made, browser: Client) -> None:
    text = body(browser.get(path_of(case, made), {"format": "csv"})).decode()
    cells = chain.from_iterable(csv.reader(io.StringIO(text, newline="")))
    wrong = [cell for cell in cells if cell.startswith(FORMULAS_BEGIN)]
    assert not [cell for cell in wrong if not cell.lstrip("-").replace(".", "").isdigit()]


FORMULAS_BEGIN = ("=", "+", "-", "@", "\t", "\r", "＝")


@pytest.mark.parametrize("case", [case for case in CASES if case.page in ("/reddit/posts/", "/notes/", "/deliveries/")])
def test_mirror_gets_every_row_once(case: Case, made: Made, browser: Client) -> None:
    api = path_of(case, made, "api")
    name = {"/reddit/posts/": "source_post_id", "/notes/": "note_id"}.get(case.page, "id")
    with clock.set_to(clock.now() + timedelta(minutes=5)):
        read, since = [], "beginning"
        while since:
            answer = browser.get(api, {"since": since, "limit": "29"}).json()
            read += [each[name] for each in answer["items"]]
            kept, since = answer["since"], answer["next"]
        assert len(read) == len(set(read)) == ROWS
        assert browser.get(api, {"since": kept}).json()["items"] == []
        changed = Candidate.objects.order_by("pk")[3]
        Candidate.objects.filter(pk=changed.pk).update(updated_at=clock.now() - timedelta(minutes=2))
        later = [each[name] for each in browser.get(api, {"since": kept}).json()["items"]]
    assert later == ([changed.note_id] if case.page == "/notes/" else [])
