"""Adding and changing monitors: what is looked at, what is refused, what stays typed."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from watchbook.base.testing.pages import squeezed
from watchbook.core.notify.models import NotificationChannel
from watchbook.systems.sitemaps import actions
from watchbook.systems.sitemaps.models import Health, MonitorTask
from watchbook.systems.sitemaps.tests.builders import browser, make_monitor

pytestmark = pytest.mark.django_db


class TestAdding:
    def post(self, client, **values):
        given = {"check_interval_minutes": "60", "tell_removals": "on", "name": "", **values}
        return client.post(reverse("sitemaps:add"), given)

    def test_address_is_checked_once_then_saved(self, site, alice):
        site.add_many(["/a", "/b", "/c"])
        client = browser(alice)
        found = self.post(client, sitemap_url=site.sitemap, step="check")
        assert "with 3 URLs" in found.text
        assert 'value="127.0.0.1"' in found.text
        assert not MonitorTask.objects.exists()
        asked = len(site.log.all())
        proof = re.search(r'name="proof" value="([^"]+)"', found.text)[1]
        answer = self.post(client, sitemap_url=site.sitemap, name="Mine", proof=proof, step="save")
        monitor = MonitorTask.objects.get()
        assert answer.headers["Location"] == reverse("sitemaps:monitor", args=[monitor.pk])
        assert (monitor.name, monitor.user, monitor.kind) == ("Mine", alice, "urlset")
        assert len(site.log.all()) == asked

    def test_preview_of_another_user_is_not_accepted(self, site, alice, bob):
        site.add("/a")
        found = self.post(browser(bob), sitemap_url=site.sitemap, step="check")
        proof = re.search(r'name="proof" value="([^"]+)"', found.text)[1]
        asked = len(site.log.all())
        self.post(browser(alice), sitemap_url=site.sitemap, proof=proof, step="save")
        assert MonitorTask.objects.filter(user=alice).exists()
        assert len(site.log.all()) > asked

    def test_site_offers_the_sitemaps_it_names(self, site, alice):
        site.add("/a")
        client = browser(alice)
        offered = self.post(client, sitemap_url=site.url + "/", step="check")
        assert "This is a web page, not a sitemap" in offered.text
        assert f'name="chosen" value="{site.sitemap}"' in squeezed(offered.text)
        chosen = self.post(
            client, sitemap_url=site.url + "/", offered_for=site.url + "/", chosen=site.sitemap, step="check"
        )
        assert "with 1 URL" in chosen.text
        assert f'value="{site.sitemap}"' in chosen.text

    def test_htmx_is_led_to_the_new_monitor(self, site, alice):
        site.add("/a")
        given = {"sitemap_url": site.sitemap, "name": "x", "check_interval_minutes": "60", "step": "save"}
        answer = browser(alice).post(reverse("sitemaps:add"), given, headers={"HX-Request": "true"})
        assert answer.headers["HX-Redirect"] == reverse("sitemaps:monitor", args=[MonitorTask.objects.get().pk])

    @pytest.mark.parametrize(
        ("address", "words"),
        [
            ("http://10.1.2.3/sitemap.xml", "private network"),
            ("ftp://www.example.com/", "Only http and https addresses are allowed"),
            ("javascript:alert(1)", "Only http and https addresses are allowed"),
            ("www.example.com:8080/sitemap.xml", "Allowed are 80, 443"),
            ("localhost:8080", "Allowed are 80, 443"),
            ("https://user:pw@www.example.com/", "user name or password"),
            ("", "required"),
        ],
    )
    def test_refused_address_keeps_everything_that_was_typed(self, alice, address, words):
        channel = NotificationChannel.objects.create(user=alice, name="Desk", channel_type="email")
        answer = self.post(
            browser(alice), sitemap_url=address, name="My name", include_patterns="/a/*", channels=str(channel.pk),
            check_interval_minutes="240", step="check",
        )  # fmt: skip
        assert answer.status_code == 422
        assert words in answer.text
        for kept in ("My name", "/a/*", str(channel.pk), 'value="240"', address):
            assert kept in answer.text
        assert 'aria-invalid="true"' in answer.text

    def test_what_is_watched_already_can_be_opened(self, alice):
        monitor = make_monitor(alice, name="Known")
        page = self.post(browser(alice), sitemap_url=monitor.sitemap_url, step="check")
        assert "You already monitor this sitemap." in page.text
        assert reverse("sitemaps:monitor", args=[monitor.pk]) in page.text

    def test_channel_of_another_user_cannot_be_chosen(self, site, alice, bob):
        site.add("/a")
        foreign = NotificationChannel.objects.create(user=bob, name="Bobs line", channel_type="email")
        page = self.post(browser(alice), sitemap_url=site.sitemap, channels=str(foreign.pk), step="save")
        assert page.status_code == 422
        assert "Bobs line" not in page.text
        assert not MonitorTask.objects.exists()

    def test_own_channels_and_patterns_are_saved(self, site, alice):
        site.add("/a")
        channel = NotificationChannel.objects.create(user=alice, name="Desk", channel_type="email")
        self.post(
            browser(alice), sitemap_url=site.sitemap, channels=str(channel.pk), step="save",
            exclude_patterns="/tag/*\n\n/x$",
        )  # fmt: skip
        monitor = MonitorTask.objects.get()
        assert list(monitor.channels.all()) == [channel]
        assert monitor.exclude_patterns == ["/tag/*", "/x$"]


class TestEditing:
    def test_new_name_and_interval_need_no_preview(self, desk, alice):
        monitor, _ = desk
        given = {"sitemap_url": monitor.sitemap_url, "name": "Renamed", "check_interval_minutes": "720"}
        answer = browser(alice).post(reverse("sitemaps:edit", args=[monitor.pk]), given)
        assert answer.status_code == 302
        monitor.refresh_from_db()
        assert (monitor.name, monitor.check_interval_minutes, monitor.tell_removals) == ("Renamed", 720, False)

    def test_address_that_cannot_be_read_is_refused(self, desk, alice):
        monitor, _ = desk
        given = {"sitemap_url": "http://10.0.0.1/s.xml", "name": "Kept words", "check_interval_minutes": "60"}
        answer = browser(alice).post(reverse("sitemaps:edit", args=[monitor.pk]), given)
        assert answer.status_code == 422
        assert "private network" in answer.text
        assert "Kept words" in answer.text
        monitor.refresh_from_db()
        assert monitor.name == "Example Shop"

    def test_edit_keeps_what_a_check_wrote_in_between(self, desk):
        monitor, _ = desk
        stale = MonitorTask.objects.get(pk=monitor.pk)
        MonitorTask.objects.filter(pk=monitor.pk).update(health=Health.DEGRADED, error_count=2)
        actions.change_monitor(stale, {"name": "Renamed"})
        monitor.refresh_from_db()
        assert (monitor.name, monitor.health, monitor.error_count) == ("Renamed", Health.DEGRADED, 2)
