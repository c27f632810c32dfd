"""What a site says about other addresses: redirects, children of an index, robots.txt, links. None leads inside.

A check that is led astray is a failed check: what was known stays, nobody is told of a change, and the rest of the
sitemap is read.
"""

from __future__ import annotations

import html
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache

from tests.security import bad_addresses as bad
from tests.security.attempts import complaint, each, inward, known_ports, send
from tests.security.conftest import Canary
from watchbook.base.testing.people import client_of
from watchbook.base.web.address import MESSAGES as REASONS
from watchbook.core.notify.models import Delivery
from watchbook.systems.sitemaps.models import ChangeRecord, Health, MonitorTask, SitemapSnapshot
from watchbook.systems.sitemaps.tests.conftest import Watch

pytestmark = pytest.mark.django_db

__all__ = ["inward", "known_ports"]

# A monitor in trouble is looked at ever more rarely, but at least once a day.
LATER = timedelta(days=2)
NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


def test_redirect_to_a_private_address_is_refused(
    inward: dict[str, str], canary: Canary, known_ports: list[int], watch: Watch
) -> None:
    known_ports.append(watch.site.port)
    watch.site.add("/d", lastmod="2026-02-02")
    locations = {number: text.replace("{at}", canary.at) for number, text in bad.LOCATIONS.items()}

    def attempt(url: str) -> str | None:
        with watch.site.faults.on("/sitemap.xml").redirect(url):
            tally = watch.check(LATER)
        if (tally["failed"], tally["checked"]) != (1, 1) or not watch.monitor.last_error:
            return f"{tally}, error {watch.monitor.last_error!r}"
        return None

    each({**inward, **locations}, attempt)
    assert SitemapSnapshot.objects.count() == 1
    assert set(ChangeRecord.objects.values_list("change_type", flat=True)) == {"initial"}
    assert watch.check(LATER)["changed"] == 1, "a good check goes on from where the last good one was"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_every_redirect_status_is_checked(status: int, canary: Canary, known_ports: list[int], watch: Watch) -> None:
    known_ports.append(watch.site.port)
    watch.site.faults.on("*").redirect(f"http://127.0.0.1{canary.at}/", status)
    watch.check()
    assert watch.monitor.last_error == REASONS["private_address"]
    assert not Delivery.objects.exists()


def test_header_injection_in_a_redirect_has_no_effect(canary: Canary, known_ports: list[int], watch: Watch) -> None:
    known_ports.append(watch.site.port)
    header = f"Location: http://127.0.0.1{canary.at}/"
    with watch.site.faults.on("*").redirect_with_smuggled_header("/b", header):
        watch.check()
    assert watch.monitor.health == Health.FAILING


def test_redirect_loop_is_a_failed_check(known_ports: list[int], watch: Watch) -> None:
    known_ports.append(watch.site.port)
    for script in (lambda rule: rule.redirect_hops(6), lambda rule: rule.redirect_loop()):
        script(watch.site.faults.on("*"))
        before = watch.site.log.count()
        watch.check()
        assert watch.monitor.last_error == "The address leads from one redirect to the next without end."
        assert watch.site.log.count() - before <= 6
    watch.site.faults.clear()
    watch.site.faults.on("/sitemap.xml").redirect_hops(5, status=308)
    watch.check()
    assert watch.monitor.health == Health.OK


def test_child_sitemap_at_a_private_address_is_skipped(
    inward: dict[str, str], known_ports: list[int], watch: Watch
) -> None:
    site = watch.site
    known_ports.append(site.port)
    children = [site.address("/one.xml"), *inward.values(), site.address("/two.xml")]
    site.faults.on("/one.xml").answer(200, _urlset(site, "/a", "/b"))
    site.faults.on("/two.xml").answer(200, _urlset(site, "/c", "/d", "/e"))
    site.faults.on("/sitemap.xml").answer(200, _index(children))
    watch.check()
    assert watch.monitor.health == Health.DEGRADED
    assert watch.newest.added_count == 2, "what the good children list is told"
    assert watch.newest.removed_count == 0, "what could not be read is not gone"
    parts = {part.url: part for part in watch.monitor.parts.all()}
    assert parts[site.address("/one.xml")].outcome == parts[site.address("/two.xml")].outcome == "ok"
    refused = [part for part in parts.values() if part.outcome == "failed"]
    assert len(refused) > 50, "the refused ones are named as such"
    assert all(part.summary == {} and not part.body_sha256 for part in refused)


def _index(children: list[str]) -> str:
    listed = "".join(f"<sitemap><loc>{html.escape(url)}</loc></sitemap>" for url in children)
    return f'<sitemapindex xmlns="{NAMESPACE}">{listed}</sitemapindex>'


def _urlset(site: Any, *pages: str) -> str:
    listed = "".join(f"<url><loc>{site.page_url(page)}</loc></url>" for page in pages)
    return f'<urlset xmlns="{NAMESPACE}">{listed}</urlset>'


def test_sitemap_address_of_robots_txt_is_checked(
    inward: dict[str, str], known_ports: list[int], site: Any, alice: Any
) -> None:
    known_ports.append(site.port)
    browser = client_of(alice)
    addresses = [url for url in inward.values() if "\n" not in url]
    form = {"sitemap_url": site.address("/"), "name": "x", "check_interval_minutes": 60, "step": "check"}
    for start in range(0, len(addresses), 40):  # so many are offered at once
        site.robots(addresses[start : start + 40])
        answer = send(browser, "post", "/api/v1/sitemaps/monitors", {"name": "x", "sitemap_url": site.address("/")})
        offered = answer.json()["error"]["details"]["sitemaps"]
        assert answer.json()["error"]["code"] == "site_instead"

        def attempt(url: str) -> str | None:
            cache.clear()  # looks are counted
            page = browser.post("/sitemaps/add/", {**form, "chosen": url, "offered_for": site.address("/")})
            return complaint(page, 422)

        # What has no scheme is a path of the site itself, and may be asked for there.
        each(dict(enumerate(url for url in offered if not url.startswith(site.url + "/"))), attempt)
    assert not MonitorTask.objects.exists()


def test_addresses_inside_a_file_are_not_followed(canary: Canary, known_ports: list[int], watch: Watch) -> None:
    inside = f"http://127.0.0.1{canary.at}/"
    known_ports.append(watch.site.port)
    watch.site.add(inside, lastmod="2026-02-02")
    said = {"Refresh": f"0; url={inside}", "Link": f'<{inside}>; rel="next canonical"', "Content-Location": inside}
    rule = watch.site.faults.on("/sitemap.xml")
    rule.treat(lambda exchange: exchange.send(exchange.ordinary().with_headers(said)))
    watch.check()
    assert watch.newest.added_count == 1, "a page inside may be listed; it is only never asked for"
    rule.lift()
    page = f'<html><head><meta http-equiv="refresh" content="0; url={inside}"><link rel="canonical" href="{inside}">'
    watch.site.faults.on("*").answer(200, page, {"Content-Type": "text/html"})
    watch.check()
    assert watch.monitor.health == Health.NOT_A_SITEMAP
