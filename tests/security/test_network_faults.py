"""Network faults of a site: the check fails, the known list stays, and no change is notified."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme
from django.db import connections

from standins.server import Site
from standins.sitemap_site import SitemapSite
from standins.webhook_sink import WebhookSink
from tests.security.conftest import Trust
from tests.security.faults import FAULTS, Fault
from watchbook.base.web import client
from watchbook.base.web.errors import WebError
from watchbook.base.web.models import HostPace
from watchbook.core.accounts.models import User
from watchbook.core.notify import actions as channels
from watchbook.core.notify.models import Delivery
from watchbook.systems.sitemaps import actions
from watchbook.systems.sitemaps.models import ChangeRecord, Health, SitemapSnapshot
from watchbook.systems.sitemaps.tests.conftest import Watch

pytestmark = pytest.mark.django_db

# A monitor in trouble is looked at ever more rarely, but at least once a day.
LATER = timedelta(days=2)


@pytest.fixture(autouse=True)
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SITEMAPS_PART_DEADLINE_SECONDS", "1")
    monkeypatch.setenv("SITEMAPS_PART_MEGABYTES", "5")


@pytest.fixture
def hooks(trust: Trust) -> Iterator[WebhookSink]:
    with WebhookSink() as sink:
        trust(sink.netloc)
        yield sink


@pytest.fixture
def told(watch: Watch, hooks: WebhookSink) -> Watch:
    """The monitor with a channel that hears of everything."""
    channel = channels.create(watch.user, name="h", channel_type="webhook", given={"url": hooks.address("/h")}).channel
    actions.set_channels(watch.monitor, [channel])
    return watch


def kinds_told(hooks: WebhookSink) -> list[str]:
    return [delivery.json()["type"] for delivery in hooks.deliveries()]


def test_failed_sitemap_reports_no_change(told: Watch, hooks: WebhookSink) -> None:
    """Also B15: trouble for weeks is told once, and its end once."""
    told.site.remove("/a")
    told.site.add("/d", lastmod="2026-02-02")
    wrong = [f"{fault.number}: {said}" for fault in FAULTS if (said := _outcome(told, fault))]
    assert wrong == [], "\n".join(wrong)
    assert SitemapSnapshot.objects.count() == 1
    assert ChangeRecord.objects.count() == 1
    assert kinds_told(hooks) == ["sitemaps.error"]
    assert told.check(LATER)["changed"] == 1
    assert sorted(kinds_told(hooks)) == ["sitemaps.changed", "sitemaps.error", "sitemaps.recovered"]


def _outcome(watch: Watch, fault: Fault) -> str:
    with watch.site.faults.on("/sitemap.xml") as rule:
        fault.script(rule)
        tally = watch.check(LATER)
    check = watch.monitor.checks.order_by("-pk").first()
    if (tally["checked"], tally["failed"]) != (1, 1):
        return str(tally)
    if fault.code and check.error_code != fault.code:
        return f"{check.error_code} {check.message!r}"
    return "" if watch.monitor.last_error else "no sentence"


def test_failed_child_sitemap_reports_no_removals(watch: Watch) -> None:
    """B1 to B12 at one file of an index: the check is incomplete, the other file is read, nothing is gone."""
    site = watch.site
    site.add_many([f"/{n:02}" for n in range(20)], lastmod="2026-01-01")
    site.split(2)
    watch.check()
    known = watch.monitor.current_snapshot.url_count
    for added, fault in enumerate([fault for fault in FAULTS if fault.on_wire], 1):
        site.add(f"/new/{added}", lastmod="2026-02-02")  # into the last file, which is read
        with site.faults.on(site.child(1)) as rule:
            fault.script(rule)
            tally = watch.check(LATER)
        assert (tally["degraded"], watch.newest.removed_count, watch.newest.added_count) == (1, 0, 1), fault.number
        assert watch.monitor.current_snapshot.url_count == known + added, fault.number
    watch.check(LATER)
    assert (watch.monitor.health, watch.newest.removed_count) == (Health.OK, 0)


GOOD_ODDITIES = {
    "B5 several gzip members": lambda rule: rule.multi_member_gzip(),
    "B5 a tail after gzip": lambda rule: rule.gzip_with_tail(),
    "B16 a thousand cookies": lambda rule: rule.cookies(1000),
    "B16 odd cookies": lambda rule: rule.set_cookie(
        "a=1; Domain=other.example", "b=2; Expires=Fri, 31 Dec 9999 23:59:59 GMT", "c=3; Max-Age=-1", "=;;=", "x"
    ),
    "B17 a wrong type": lambda rule: rule.content_type("image/png"),
    "B18 utf-7": lambda rule: rule.charset("utf-7"),
    "B18 made up": lambda rule: rule.charset("x-made-up"),
    "B18 hex": lambda rule: rule.charset("hex"),
    "B18 rot13": lambda rule: rule.charset("rot13"),
    "B18 gb2312": lambda rule: rule.charset("gb2312"),
    "B18 utf-16 that is not": lambda rule: rule.charset("utf-16"),
}


def test_harmless_irregularities_report_no_change(watch: Watch) -> None:
    for name, script in GOOD_ODDITIES.items():
        with watch.site.faults.on("/sitemap.xml") as rule:
            script(rule)
            tally = watch.check(LATER)
        assert tally["unchanged"] == 1, f"{name}: {watch.monitor.last_error}"
    assert SitemapSnapshot.objects.count() == 1


PAGES = ("/a", "/b", "/c")
NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


def written(watch: Watch, *, before: str = "", more: str = "") -> str:
    """The site's own list by hand, to be spoilt."""
    rows = "".join(f"<url><loc>{watch.site.page_url(page)}</loc><lastmod>2026-01-01</lastmod></url>" for page in PAGES)
    return f'{before}<urlset xmlns="{NAMESPACE}">{rows}{more}</urlset>'


UTF7 = "+ADw-url+AD4-+ADw-loc+AD4-http://evil.example/+ADw-/loc+AD4-+ADw-/url+AD4-"
LIES = {
    "B18 utf-7 markup": lambda watch: written(watch, more=UTF7).encode(),
    "B18 utf-16 without a mark": lambda watch: written(watch).encode("utf-16-le"),
    "B18 bad gb2312": lambda watch: (
        written(
            watch, before='<?xml version="1.0" encoding="gb2312"?>', more="<url><loc>http://x.example/@</loc></url>"
        )
        .encode()
        .replace(b"@", b"\xff\xff\x81")
    ),
    "B18 two declarations": lambda watch: written(
        watch, before='<?xml version="1.0" encoding="utf-16"?>', more="<url><loc>http://x.example/中</loc></url>"
    ).encode(),
    "B19 a mark in the middle": lambda watch: written(
        watch, more="\ufeff<url><loc>http://x.example/\ufeffa</loc></url>"
    ),
    "B19 mixed": lambda watch: (
        written(watch, more="<url><loc>http://x.example/中</loc></url><url><loc>http://x.example/@</loc></url>")
        .encode()
        .replace(b"@", "ä".encode("latin-1"))
    ),
}


@pytest.mark.parametrize("name", LIES)
def test_wrong_charset_reports_no_removals(name: str, watch: Watch) -> None:
    watch.site.faults.on("*").answer(200, LIES[name](watch), {"Content-Type": "application/xml; charset=utf-7"})
    for _ in range(2):  # a doubt is confirmed by a second look
        watch.check()
        assert watch.newest.removed_count == 0
    urls = {entry["url"] for entry in watch.monitor.current_snapshot.urls}
    assert urls >= {watch.site.page_url(page) for page in PAGES}
    assert not [url for url in urls if "evil" in url or "<" in url]


PAUSES = ("-1", "0", "1e9", "1e999", "99999999999999999999", "Wed, 99 Foo", "Fri, 01 Jan 2099 00:00:00 GMT", "", "NaN")


@pytest.mark.parametrize(
    ("status", "asked"), [*((429, asked) for asked in PAUSES), (503, "1e9"), (503, "-1")], ids=lambda value: str(value)
)
def test_retry_after_is_limited_to_a_second_and_a_day(status: int, asked: str, watch: Watch) -> None:
    watch.site.faults.on("*").throttle(asked, status)
    watch.check()
    wait = watch.monitor.next_check_at - watch.now
    assert timedelta(minutes=55) <= wait <= timedelta(days=1)
    assert watch.monitor.health in (Health.BLOCKED, Health.FAILING)
    pauses = [row.paused_until_ms for row in HostPace.objects.all() if row.paused_until_ms]
    assert all(0 < (until / 1000 - time.time()) <= 86_400 for until in pauses)
    assert not Delivery.objects.exists()


# Fewer than the pool of PostgreSQL has places: each asker holds one for its pace.
SILENT = 12


def test_host_that_hangs_does_not_block_others(watch: Watch, trust: Trust) -> None:
    """B20: many connections that say nothing, and the check of another host goes on."""

    def ask(url: str) -> None:
        try:
            with pytest.raises(WebError):
                client.get(url, deadline_seconds=20)
        finally:
            connections.close_all()  # a thread that ends without it keeps its place in the pool

    with Site() as silent:
        trust(silent.netloc)
        silent.faults.on("*").hang()
        askers = [threading.Thread(target=ask, args=(silent.address(f"/{n}"),), daemon=True) for n in range(SILENT)]
        for asker in askers:
            asker.start()
        silent.log.wait_for(lambda log: log.in_flight == SILENT, timeout=20)
        watch.site.add("/d", lastmod="2026-02-02")
        assert watch.check()["changed"] == 1
    for asker in askers:
        asker.join(10)


def _context(authority: trustme.CA, name: str = "127.0.0.1", **facts: object) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name, **facts).configure_cert(context)  # type: ignore[arg-type]
    return context


def _old_protocol(authority: trustme.CA) -> ssl.SSLContext:
    context = _context(authority)
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    return context


PAST = {"not_before": datetime(2019, 1, 1, tzinfo=UTC), "not_after": datetime(2020, 1, 1, tzinfo=UTC)}
BAD_TLS: dict[str, Callable[[trustme.CA], ssl.SSLContext]] = {
    "expired": lambda authority: _context(authority, **PAST),
    "wrong name": lambda authority: _context(authority, "other.example"),
    "unknown authority": lambda _authority: _context(trustme.CA()),
    "old protocol": _old_protocol,
}


def test_tls_error_reports_no_change(
    alice: User, trust: Trust, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B10. Each has a cause that people can read, and what was known stays."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("WATCHBOOK_CA_FILE", str(tmp_path / "authority.pem"))
    with SitemapSite(tls=_context(authority)) as site:
        trust(site.netloc)
        site.add_many(["/a", "/b"])
        watch = Watch(alice, site)
        watch.check()
        good = site.tls
        for name, make in BAD_TLS.items():
            site.tls = make(authority)
            assert _tls_outcome(watch) == ("tls", 2), name
        site.tls = good
        with site.faults.on_connection().hang():
            assert _tls_outcome(watch) == ("timed_out", 2)
        with site.faults.on_connection().say("HTTP/1.1 400 Bad Request\r\n\r\n"):
            assert _tls_outcome(watch) == ("tls", 2)
        client._shared.close()
        assert watch.check(LATER)["unchanged"] == 1


def _tls_outcome(watch: Watch) -> tuple[str, int]:
    client._shared.close()  # a connection that is still open needs no handshake
    watch.check(LATER)
    assert watch.monitor.last_error
    return watch.monitor.checks.order_by("-pk")[0].error_code, watch.monitor.current_snapshot.url_count
