"""kill -9 at every step of reading pages: the next worker ends it, and no version is lost or kept twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import timedelta

import pytest
from django.conf import settings
from django.db.models.functions import Now

from watchbook.base import clock
from watchbook.base.testing import servers
from watchbook.core.jobs import queue, runner
from watchbook.core.jobs.models import JobRun, State
from watchbook.systems.pages.jobs import run_for
from watchbook.systems.pages.models import Page, PageEvent, PageEvidence, PageVersion, Site
from watchbook.systems.pages.tests.conftest import Desk

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.crash]

LONG = ("job.claimed", "job.before_commit", "job.after_commit", "job.before_finish", "pages.fetched", "pages.stored")
SYNC = ("pages.sync.batch", "pages.sync.left")
KILLED = 9


def kill(plan: str, desk: Desk) -> None:
    """Kill a worker that executes a new run, then do what the next worker does when the lease has ended."""
    site = Site.objects.get()
    site.next_at = desk.now
    with clock.set_to(desk.now):
        (run,) = queue.enqueue_many([run_for(site)])
    command = [sys.executable, "-m", "watchbook.systems.pages.tests.crashing", f"{plan}={run.pk}"]
    environment = {
        **os.environ, "DATABASE_URL": servers.same_database(), "WATCHBOOK_HOME": str(settings.HOME),
        "CRASH_NOW": desk.now.isoformat(),
    }  # fmt: skip
    done = subprocess.run(command, env=environment, capture_output=True, timeout=300, check=True)
    assert set(json.loads(done.stdout).values()) == {KILLED}, (plan, done.stderr[-2000:])
    JobRun.objects.filter(state=State.RUNNING).update(lease_until=Now() - timedelta(seconds=1))
    with clock.set_to(desk.now + timedelta(minutes=5)):
        queue.requeue_expired()
        while (left := queue.claim_next(["crawler_queue"], "heir")) is not None:
            assert runner.execute(left).state == State.DONE


def check_versions(desk: Desk, places: tuple[str, ...]) -> None:
    text = "This is a page of the harbour."
    pages = [desk.watch(f"/p/{n}", title=f"Page {n}", paragraphs=[text]) for n in range(3)]
    Site.objects.update(keeps_evidence=True)
    desk.read()
    JobRun.objects.all().delete()
    for number, place in enumerate(places, start=2):
        for page in range(3):
            desk.site.write(f"/p/{page}", paragraphs=[f"This is page {page}, edition {number}, of the harbour."])
        desk.now += timedelta(hours=2)
        Page.objects.update(next_at=desk.now - timedelta(minutes=1))
        kill(f"{place}:1", desk)
        for page in pages:
            versions = list(PageVersion.objects.filter(page=page).order_by("number").values_list("number", flat=True))
            assert versions == list(range(1, number + 1)), place
            kept = PageEvidence.objects.filter(page=page).order_by("number").values_list("number", flat=True)
            assert list(kept) == versions, place
            assert f"edition {number}" in desk.texts(page)[-1], place
    assert PageEvent.objects.count() == 3 * len(places)


def test_killed_while_a_version_is_stored_the_run_ends_with_each_version_once(desk: Desk) -> None:
    check_versions(desk, ("pages.version.saved",))


@pytest.mark.nightly
def test_killed_at_every_step_the_run_ends_with_each_version_once(desk: Desk) -> None:
    check_versions(desk, LONG)


@pytest.mark.nightly
def test_killed_while_a_list_is_read_each_url_is_known_once_and_each_fate_is_stored(desk: Desk) -> None:
    for path in ("/a", "/b", "/c"):
        desk.site.write(path, title=path, paragraphs=[f"This is {path} of the harbour."])
        desk.site.add(path)
    desk.website()
    desk.cycle()
    JobRun.objects.all().delete()
    for number, place in enumerate(SYNC):
        desk.site.write(f"/new-{number}", title=f"New {number}", paragraphs=[f"New page {number}."])
        desk.site.add(f"/new-{number}")
        desk.site.remove(("/a", "/b")[number])
        desk.now += timedelta(hours=2)
        with clock.set_to(desk.now):
            desk.check_list()
        kill(f"{place}:1", desk)
    assert Page.objects.filter(is_listed=True).count() == 3
    assert dict(Page.objects.filter(is_listed=False).values_list("title", "fate")) == {
        "/a": "delisted",
        "/b": "delisted",
    }
