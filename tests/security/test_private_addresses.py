"""No private address is reached, whatever it is spelt like and wherever it is written.

Every address of `bad_addresses` goes through every door that takes one. Each refusal is a sentence, nothing is kept,
no canary is touched, and the witness sees no connection but those to the sites a test named.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from tests.security import bad_addresses as bad
from tests.security.conftest import HOUSE_PORTS, Canary, Names, Trust
from tests.security.witness import Witness
from watchbook.base.testing.people import client_of
from watchbook.base.web import address
from watchbook.core.notify import actions as channels
from watchbook.core.notify import config
from watchbook.core.notify.models import Delivery, NotificationChannel
from watchbook.core.notify.outbox import Notice, deliver_due, tell
from watchbook.project import cli
from watchbook.sources.sitemaps.models import ChangeRecord, Health, MonitorTask, SitemapSnapshot
from watchbook.sources.sitemaps.tests.conftest import Watch

pytestmark = pytest.mark.django_db

SENTENCES = {*address.SENTENCES.values(), "The site could not be reached."}


@pytest.fixture
def inward(canary: Canary, names: Names) -> dict[str, str]:
    """Every address that leads inside, at the canary's port."""
    for host, answers in bad.NAMES.values():
        names.say(host, answers)
    return {**bad.literal(canary.at), **bad.named(canary.at)}


@pytest.fixture
def untouched(canary: Canary, witness: Witness) -> Any:
    """At the end of a test: nobody knocked, and nobody was dialled but the doors that were trusted."""
    trusted: list[int] = []
    yield trusted
    assert witness.strangers(*trusted, *HOUSE_PORTS) == []
    assert canary.knocks == 0


def each(inward: Mapping[str, str], attempt: Callable[[str], str | None]) -> None:
    """All complaints at once."""
    found = [f"{number} {url!r}: {said}" for number, url in inward.items() if (said := attempt(url))]
    if found:
        pytest.fail("\n".join(found), pytrace=False)


def complaint(page: str) -> str:
    """What the page says beside the field, if it is one of the sentences for addresses."""
    shown = re.findall(r'class="[^"]*error[^"]*"[^>]*>(.*?)</', page, re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", text)).strip() for text in shown)


def is_worded(text: str) -> bool:
    return any(sentence in text for sentence in SENTENCES)


def test_the_page_that_adds_a_monitor_refuses_them(inward: dict[str, str], untouched: list[int], alice: Any) -> None:
    browser = client_of(alice)

    def attempt(url: str) -> str | None:
        for step in ("check", "save"):
            cache.clear()  # looks are counted
            answer = browser.post(
                "/sitemaps/add/", {"sitemap_url": url, "name": "x", "check_interval_minutes": 60, "step": step}
            )
            if answer.status_code != 422 or not is_worded(complaint(answer.content.decode())):
                return f"{step} answered {answer.status_code}: {complaint(answer.content.decode())!r}"
        return None

    each(inward, attempt)
    assert not MonitorTask.objects.exists()


def test_the_api_refuses_them_as_a_monitor(
    inward: dict[str, str], untouched: list[int], watch: Watch, alice: Any
) -> None:
    untouched.append(watch.site.port)
    browser, before = client_of(alice), watch.monitor.sitemap_url

    def attempt(url: str) -> str | None:
        body = json.dumps({"name": "x", "sitemap_url": url})
        added = browser.post("/api/v1/sitemaps/monitors", body, content_type="application/json")
        moved = browser.patch(f"/api/v1/sitemaps/monitors/{watch.monitor.pk}", body, content_type="application/json")
        for answer in (added, moved):
            error = answer.json().get("error", {})
            if answer.status_code != 422 or error.get("message") not in SENTENCES or error["code"] == "invalid":
                return f"answered {answer.status_code} {error}"
        return None

    each(inward, attempt)
    assert [monitor.sitemap_url for monitor in MonitorTask.objects.all()] == [before]


def test_the_page_that_changes_a_monitor_refuses_them(
    inward: dict[str, str], untouched: list[int], watch: Watch, alice: Any
) -> None:
    untouched.append(watch.site.port)
    browser, before = client_of(alice), watch.monitor.sitemap_url

    def attempt(url: str) -> str | None:
        form = {"sitemap_url": url, "name": "x", "check_interval_minutes": 60}
        answer = browser.post(f"/sitemaps/{watch.monitor.pk}/edit/", form)
        said = complaint(answer.content.decode())
        return None if answer.status_code == 422 and is_worded(said) else f"answered {answer.status_code}: {said!r}"

    each(inward, attempt)
    monitor = MonitorTask.objects.get()
    assert (monitor.sitemap_url, monitor.current_snapshot_id) == (before, watch.monitor.current_snapshot_id)


def test_the_command_refuses_them(
    inward: dict[str, str], untouched: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    def attempt(url: str) -> str | None:
        with pytest.raises(SystemExit) as end:
            cli.run("sitemaps", "check", "--json", "--", url)
        error = json.loads(capsys.readouterr().out)["error"]
        return None if end.value.code == 1 and error["message"] in SENTENCES else f"{end.value.code} {error}"

    each(inward, attempt)


def is_refused_now(url: str) -> bool:
    """A webhook is dialled when it is used, not when it is saved: a name is taken and refused later."""
    return not any(host in url for host, _ in bad.NAMES.values())


def test_no_webhook_can_be_saved_with_them(inward: dict[str, str], untouched: list[int], alice: Any) -> None:
    browser = client_of(alice)
    good = channels.create(alice, name="good", channel_type="webhook", given={"url": "https://example.com/h"}).channel

    def attempt(url: str) -> str | None:
        given = {"name": "x", "channel_type": "webhook", "config": {"url": url}}
        body = json.dumps(given)
        made = browser.post("/api/v1/channels", body, content_type="application/json")
        changed = browser.patch(f"/api/v1/channels/{good.pk}", body, content_type="application/json")
        for answer in (made, changed):
            details = answer.json().get("error", {}).get("details") or [{}]
            if answer.status_code != 422 or details[0].get("message") not in SENTENCES:
                return f"answered {answer.status_code} {details}"
        page = browser.post("/channels/add/webhook/", {"name": "x", "url": url, "method": "POST", "digest": "immediate"})
        said = complaint(page.content.decode())
        return None if page.status_code in (200, 422) and is_worded(said) else f"page {page.status_code} {said!r}"

    each({number: url for number, url in inward.items() if is_refused_now(url)}, attempt)
    assert [channel.config["url"] for channel in NotificationChannel.objects.all()] == ["https://example.com/***"]


def test_no_webhook_reaches_them_when_it_is_used(
    inward: dict[str, str], untouched: list[int], alice: Any, noon: Any
) -> None:
    """As if they had been saved before the rules were what they are, or as if the name had moved since."""
    browser = client_of(alice)
    channel = channels.create(alice, name="hook", channel_type="webhook", given={"url": "https://example.com/h"}).channel
    known = config.read(channel)

    def attempt(url: str) -> str | None:
        cache.clear()  # tests of a channel are counted
        NotificationChannel.objects.update(failure_count=0, blocked_until=None, is_active=True)
        Delivery.objects.all().delete()
        config.write(channel, {**known, "url": url})
        channel.save()
        tried = browser.post(f"/api/v1/channels/{channel.pk}/test").json()
        tell([channel], Notice(event_id="e", source="x", kind="y", subject="z"))
        deliver_due(noon)
        told = Delivery.objects.exclude(kind="test").get()
        if tried["success"] or tried["message"] not in SENTENCES:
            return f"the test said {tried}"
        if told.state == "sent" or told.last_error not in SENTENCES or told.last_body:
            return f"the delivery is {told.state}: {told.last_error!r}"
        return None

    each(inward, attempt)


def test_no_service_address_reaches_them(inward: dict[str, str], untouched: list[int], alice: Any) -> None:
    browser = client_of(alice)

    def attempt(url: str) -> str | None:
        rest = url.strip().partition("://")[2]
        for service in (url, f"json://{rest}", f"jsons://{rest}", f"form://{rest}", f"tgram://x/y?webhook={url}"):
            given = {"name": "x", "channel_type": "apprise", "config": {"url": service}}
            answer = browser.post("/api/v1/channels", json.dumps(given), content_type="application/json")
            details = answer.json().get("error", {}).get("details") or [{}]
            if answer.status_code != 422 or not details[0].get("message"):
                return f"{service} answered {answer.status_code}"
        return None

    each(inward, attempt)
    assert not NotificationChannel.objects.exists()


def test_no_redirect_leads_to_them(inward: dict[str, str], canary: Canary, untouched: list[int], watch: Watch) -> None:
    untouched.append(watch.site.port)
    watch.site.add("/d", lastmod="2026-02-02")
    locations = {number: text.replace("{at}", canary.at) for number, text in bad.LOCATIONS.items()}
    # A line break ends the header, and white space around it says nothing: such a redirect goes nowhere inside.
    kept = {number: url for number, url in inward.items() if "\n" not in url}

    def attempt(url: str) -> str | None:
        with watch.site.faults.on(watch.site.sitemap.removeprefix(watch.site.url)).redirect(url):
            watch.check()
        if watch.monitor.health != Health.FAILING or not watch.monitor.last_error:
            return f"health {watch.monitor.health}, error {watch.monitor.last_error!r}"
        return None

    each({**kept, **locations}, attempt)
    nothing_came_of_it(watch)


def nothing_came_of_it(watch: Watch) -> None:
    """What was known before is what is known now, and the next good check goes on from there."""
    assert SitemapSnapshot.objects.count() == 1
    assert set(ChangeRecord.objects.values_list("change_type", flat=True)) == {"initial"}
    watch.site.faults.clear()
    assert watch.check()["changed"] == 1
    assert watch.monitor.current_snapshot.url_count == 4


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_every_kind_of_redirect_meets_the_gate(status: int, canary: Canary, untouched: list[int], watch: Watch) -> None:
    untouched.append(watch.site.port)
    watch.site.faults.on("*").redirect(f"http://127.0.0.1{canary.at}/", status)
    watch.check()
    assert watch.monitor.last_error == address.SENTENCES["private_address"]


def test_a_smuggled_header_changes_nothing(canary: Canary, untouched: list[int], watch: Watch) -> None:
    untouched.append(watch.site.port)
    header = f"Location: http://127.0.0.1{canary.at}/"
    with watch.site.faults.on("*").redirect_with_smuggled_header("/b", header):
        watch.check()
    assert watch.monitor.health == Health.FAILING


def test_too_many_redirects_and_a_loop_are_a_failed_check(untouched: list[int], watch: Watch) -> None:
    untouched.append(watch.site.port)
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


INDEX = '<?xml version="1.0" encoding="UTF-8"?><sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'


def test_children_that_lead_inside_are_left_out_and_the_rest_is_read(
    inward: dict[str, str], untouched: list[int], watch: Watch
) -> None:
    site = watch.site
    untouched.append(site.port)
    lists = [
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        + "".join(f"<url><loc>{site.page_url(page)}</loc></url>" for page in pages)
        + "</urlset>"
        for pages in (("/a", "/b"), ("/c", "/d", "/e"))
    ]
    children = [site.address("/one.xml"), *inward.values(), site.address("/two.xml")]
    index = INDEX + "".join(f"<sitemap><loc>{html.escape(url)}</loc></sitemap>" for url in children) + "</sitemapindex>"
    site.faults.on("/one.xml").answer(200, lists[0])
    site.faults.on("/two.xml").answer(200, lists[1])
    site.faults.on("/sitemap.xml").answer(200, index)
    watch.check()
    assert watch.monitor.health == Health.DEGRADED
    assert watch.newest.added_count == 2, "what the good children list is told"
    assert watch.newest.removed_count == 0, "what could not be read is not gone"
    outcomes = {part.url: part.outcome for part in watch.monitor.parts.all()}
    assert outcomes[site.address("/one.xml")] == outcomes[site.address("/two.xml")] == "ok"
    refused = {url for url, outcome in outcomes.items() if outcome == "failed"}
    assert len(refused) > 50, "the refused ones are listed as such"
    assert all(part.summary == {} for part in watch.monitor.parts.filter(outcome="failed"))


def test_sitemaps_that_a_robots_file_names_meet_the_same_gate(
    inward: dict[str, str], untouched: list[int], site: Any, alice: Any
) -> None:
    untouched.append(site.port)
    site.robots([url for url in inward.values() if "\n" not in url])
    browser = client_of(alice)
    form = {"sitemap_url": site.address("/"), "name": "x", "check_interval_minutes": 60, "step": "check"}
    offered = html.unescape(browser.post("/sitemaps/add/", form).content.decode())
    assert f"127.0.0.1{untouched and ''}" in offered, "the site's own words are shown, not followed"
    body = json.dumps({"name": "x", "sitemap_url": site.address("/")})
    answer = browser.post("/api/v1/sitemaps/monitors", body, content_type="application/json")
    assert answer.json()["error"]["code"] == "site_instead"

    def attempt(url: str) -> str | None:
        cache.clear()
        chosen = {**form, "chosen": url, "offered_for": site.address("/")}
        page = browser.post("/sitemaps/add/", chosen)
        return None if page.status_code == 422 else f"answered {page.status_code}"

    each(dict(enumerate(answer.json()["error"]["details"]["sitemaps"])), attempt)  # type: ignore[arg-type]
    assert not MonitorTask.objects.exists()


def test_what_a_file_says_about_other_addresses_is_not_followed(
    canary: Canary, untouched: list[int], watch: Watch
) -> None:
    inside = f"http://127.0.0.1{canary.at}/"
    untouched.append(watch.site.port)
    watch.site.add(inside, lastmod="2026-02-02")
    watch.site.route("*", lambda request: watch.site.respond(request))
    watch.site.faults.on("/sitemap.xml", nth=1).treat(
        lambda exchange: exchange.send(
            exchange.ordinary().with_headers({
                "Refresh": f"0; url={inside}", "Link": f'<{inside}>; rel="canonical"', "Content-Location": inside,
            })
        )
    )  # fmt: skip
    watch.check()
    assert watch.newest.added_count == 1, "a page inside may be listed; it is only never asked for"
    page = f'<html><head><meta http-equiv="refresh" content="0; url={inside}"><link rel="canonical" href="{inside}">'
    watch.site.faults.on("*").answer(200, page, {"Content-Type": "text/html"})
    watch.check()
    assert watch.monitor.health == Health.NOT_A_SITEMAP


def test_a_name_that_moves_inside_is_dialled_where_it_was_checked(
    canary: Canary, names: Names, trust: Trust, untouched: list[int], alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """U73: the second answer is an inner one. It is asked for once per connection, and that answer is what counts."""
    names.say("rebind.example", [bad.PUBLIC_4], ["127.0.0.1"])
    dialled: list[str] = []

    def refuse(place: Any, exchange: Any) -> Any:
        dialled.append(str(place))
        raise ConnectionRefusedError

    monkeypatch.setattr("watchbook.base.web.guard._dial", lambda place, port, exchange: refuse(place, exchange))
    body = json.dumps({"name": "x", "sitemap_url": f"http://rebind.example{canary.at}/"})
    for wanted in ("unreachable", "private_address"):
        answer = client_of(alice).post("/api/v1/sitemaps/monitors", body, content_type="application/json")
        assert answer.json()["error"]["code"] == wanted
        cache.clear()
    assert set(dialled) == {bad.PUBLIC_4}


def test_a_slow_name_service_ends_at_the_deadline(
    names: Names, alice: Any, monkeypatch: pytest.MonkeyPatch, trust: Trust
) -> None:
    import threading

    release = threading.Event()
    monkeypatch.setenv("SITEMAPS_PART_DEADLINE_SECONDS", "1")
    trust("slow.example:80")
    names.on_ask = lambda host: release.wait(60) and None
    body = json.dumps({"name": "x", "sitemap_url": "http://slow.example/"})
    try:
        answer = client_of(alice).post("/api/v1/sitemaps/monitors", body, content_type="application/json")
    finally:
        release.set()
    assert answer.json()["error"]["code"] == "timed_out"


def test_long_and_broken_names_are_refused_before_anybody_is_asked(
    names: Names, witness: Witness, canary: Canary, alice: Any
) -> None:
    for url in bad.literal(canary.at).values():
        body = json.dumps({"name": "x", "sitemap_url": url})
        client_of(alice).post("/api/v1/sitemaps/monitors", body, content_type="application/json")
    assert names.asked == []
    assert witness.lookups == []


def test_a_look_alike_name_is_shown_as_what_it_is(
    names: Names, trust: Trust, site: Any, alice: Any
) -> None:
    names.say("xn--exmple-4nf.com", ["127.0.0.1"])
    trust(f"xn--exmple-4nf.com:{site.port}")
    body = json.dumps({"name": "x", "sitemap_url": f"http://exаmple.com:{site.port}/sitemap.xml"})  # noqa: RUF001
    answer = client_of(alice).post("/api/v1/sitemaps/monitors", body, content_type="application/json")
    assert answer.json()["sitemap_url"] == f"http://xn--exmple-4nf.com:{site.port}/sitemap.xml"
    assert "xn--exmple-4nf.com" in client_of(alice).get("/sitemaps/").content.decode()


def test_a_proxy_of_the_environment_is_not_used(
    canary: Canary, untouched: list[int], watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    untouched.append(watch.site.port)
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1{canary.at}")
    monkeypatch.delenv("NO_PROXY", raising=False)
    from watchbook.base.web import client

    client._shared.close()
    watch.site.add("/d", lastmod="2026-02-02")
    assert watch.check()["changed"] == 1


@pytest.mark.parametrize(
    "url",
    [
        "https://desk.example.com/hook", "https://DESK.example.com./hook", "https://desk.example.com:443/api/v1/channels",
        "http://desk.example.com/", "http://desk.example.com:80/x?y",
    ],
)  # fmt: skip
def test_a_webhook_to_ourselves_is_a_loop_and_refused(url: str, alice: Any, settings: Any) -> None:
    settings.PUBLIC_URL = "https://desk.example.com"
    body = json.dumps({"name": "x", "channel_type": "webhook", "config": {"url": url}})
    answer = client_of(alice).post("/api/v1/channels", body, content_type="application/json")
    assert answer.status_code == 422
    assert answer.json()["error"]["details"][0]["message"] == address.SENTENCES["own_address"]


def test_a_password_in_an_address_is_refused_and_not_repeated(alice: Any, caplog: pytest.LogCaptureFixture) -> None:
    body = json.dumps({"name": "x", "channel_type": "webhook", "config": {"url": "https://bob:s3ntinel@example.com/"}})
    answer = client_of(alice).post("/api/v1/channels", body, content_type="application/json")
    monitor = json.dumps({"name": "x", "sitemap_url": "https://bob:s3ntinel@example.com/"})
    other = client_of(alice).post("/api/v1/sitemaps/monitors", monitor, content_type="application/json")
    assert (answer.status_code, other.status_code) == (422, 422)
    assert "s3ntinel" not in answer.content.decode() + other.content.decode() + caplog.text


def test_an_allowed_network_works_and_its_neighbour_does_not(
    alice: Any, witness: Witness, monkeypatch: pytest.MonkeyPatch
) -> None:
    from standins.sitemap_site import SitemapSite

    with SitemapSite(host="127.0.0.2") as inside, SitemapSite(host="127.0.0.3") as neighbour:
        for one in (inside, neighbour):
            one.add("/a")
        monkeypatch.setenv("WATCHBOOK_TRUSTED_NETWORKS", "127.0.0.2/32")
        monkeypatch.setenv("WATCHBOOK_EXTRA_PORTS", f"{inside.port},{neighbour.port}")
        monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", f"127.0.0.2:{inside.port}")
        monkeypatch.setenv("WATCHBOOK_PACE", "off")
        statuses = []
        for one in (inside, neighbour):
            body = json.dumps({"name": "x", "sitemap_url": one.sitemap})
            answer = client_of(alice).post("/api/v1/sitemaps/monitors", body, content_type="application/json")
            statuses.append(answer.status_code)
        assert statuses == [201, 422]
        assert neighbour.connection_count == 0
        assert inside.connection_count > 0, "the witness and the site agree that somebody came"


@pytest.mark.parametrize("url", bad.POSITIVE)
def test_honest_addresses_can_be_told(url: str, alice: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHBOOK_EXTRA_PORTS", "8443")
    body = json.dumps({"name": "x", "channel_type": "webhook", "config": {"url": url}})
    answer = client_of(alice).post("/api/v1/channels", body, content_type="application/json")
    assert answer.status_code == 201, answer.content


@pytest.mark.parametrize("path", ["/@somebody/site@home.xml", "/a%20b.xml", "/moved.xml"])
def test_honest_addresses_can_be_watched(path: str, site: Any, alice: Any) -> None:
    body = site.press.file("/sitemap.xml").body
    site.faults.on(path).redirect("/sitemap.xml", 308) if "moved" in path else site.faults.on(path).answer(200, body)
    given = json.dumps({"name": "x", "sitemap_url": site.address(path)})
    answer = client_of(alice).post("/api/v1/sitemaps/monitors", given, content_type="application/json")
    assert answer.status_code == 201, answer.content


def test_closed_silent_and_unknown_hosts_read_the_same(
    names: Names, trust: Trust, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks cannot tell a closed port from a filtered one or from a name that does not exist."""
    import socket

    monkeypatch.setenv("SITEMAPS_PART_DEADLINE_SECONDS", "1")
    monkeypatch.setattr("watchbook.core.notify.senders.webhook.DEADLINE_SECONDS", 1.0)
    names.say("closed.example", ["127.0.0.1"])
    names.say("filtered.example", ["127.0.0.1"])
    with socket.socket() as closed, socket.socket() as full:
        closed.bind(("127.0.0.1", 0))
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        ports = [sock.getsockname()[1] for sock in (closed, full)]
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:  # a queue that is full answers nobody: what a filter looks like from outside
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", ports[1]))
        doors = [f"closed.example:{ports[0]}", f"filtered.example:{ports[1]}", f"unknown.example:{ports[0]}"]
        trust(*doors)
        said = [_told(alice, door) for door in doors]
        for filler in fillers:
            filler.close()
    assert said == [said[0]] * 3
    assert said[0][0] == ("unreachable", "The site could not be reached.")


def _told(alice: Any, door: str) -> list[tuple[str, str]]:
    """What a monitor and what a channel's test say about a host."""
    browser: Client = client_of(alice)
    body = json.dumps({"name": "x", "sitemap_url": f"http://{door}/"})
    error = browser.post("/api/v1/sitemaps/monitors", body, content_type="application/json").json()["error"]
    channel = channels.create(alice, name="x", channel_type="webhook", given={"url": f"http://{door}/"}).channel
    tried = browser.post(f"/api/v1/channels/{channel.pk}/test").json()
    return [(error["code"], error["message"]), (tried["error_code"], tried["message"])]
