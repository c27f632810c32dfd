"""Monitors of an account that is removed."""

from __future__ import annotations

from typing import Any

import pytest

from watchbook.base import clock
from watchbook.base.testing.people import make_person
from watchbook.core.notify.models import NotificationChannel
from watchbook.core.people import ownership
from watchbook.systems.sitemaps.models import MonitorTask, MonitorTaskChannel, url_digest

pytestmark = pytest.mark.django_db


def watch(user: Any, name: str) -> MonitorTask:
    url = f"https://{name}.example.com/sitemap.xml"
    return MonitorTask.objects.create(
        user=user, name=name, sitemap_url=url, host=f"{name}.example.com", live_url_digest=url_digest(url)
    )


def test_monitors_and_their_channels_go_to_the_successor() -> None:
    alice, bob = make_person("alice"), make_person("bob")
    ferry, pier = watch(alice, "ferry"), watch(alice, "pier")
    bobs = watch(bob, "pier")
    channel = NotificationChannel.objects.create(user=alice, name="Desk", channel_type="webhook")
    MonitorTaskChannel.objects.create(monitor_task=ferry, channel=channel, created_at=clock.now())

    removed = ownership.remove(alice, successor=bob, actor=None)

    assert removed.transferred == {"monitors": 2, "channels": 1}
    ferry.refresh_from_db()
    pier.refresh_from_db()
    assert (ferry.user_id, list(ferry.channels.all())) == (bob.pk, [channel])
    # Both watched this sitemap: the history is kept in the trash, and one monitor goes on.
    assert (pier.user_id, pier.deleted_at is not None, pier.live_url_digest) == (bob.pk, True, None)
    assert set(MonitorTask.objects.of(bob)) == {ferry, bobs}


def test_monitors_are_deleted_without_a_successor() -> None:
    alice = make_person("alice")
    watch(alice, "ferry")
    assert ownership.remove(alice, successor=None, actor=None).deleted == {"monitors": 1}
    assert not MonitorTask.objects.exists()
