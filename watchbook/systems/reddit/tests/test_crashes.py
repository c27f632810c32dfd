"""kill -9 while comments are read, stored and erased: the next worker ends it, and the archive equals the ledger."""

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
from watchbook.core.search.models import SearchDocument
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.reddit.actions.comments import versions
from watchbook.systems.reddit.models import Comment, Crawl, PostRaw
from watchbook.systems.reddit.tests.conftest import Scanner

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.crash]

QUICK = ("reddit.listing_read:2", "reddit.listing_stored:2")  # the second listing is that of the comments
LONG = (
    "job.claimed:1",
    "job.before_commit:2",
    "job.after_commit:2",
    "reddit.listing_read:1",
    "reddit.listing_stored:1",
)
KILLED = 9


def kill(plan: str, scanner: Scanner, job: str, **args: str) -> None:
    """Kill a worker that executes a new run, then do what the next worker does when the lease has ended."""
    JobRun.objects.all().delete()
    with clock.set_to(scanner.now):
        run = queue.enqueue(job, args)
    assert run is not None
    command = [sys.executable, "-m", "watchbook.systems.reddit.tests.crashing", f"{plan}={run.pk}"]
    environment = {
        **os.environ, "DATABASE_URL": servers.same_database(), "WATCHBOOK_HOME": str(settings.HOME),
        "CRASH_NOW": scanner.now.isoformat(),
    }  # fmt: skip
    done = subprocess.run(command, env=environment, capture_output=True, timeout=300, check=True)
    assert json.loads(done.stdout) == KILLED, (plan, done.stderr[-2000:])
    JobRun.objects.filter(state=State.RUNNING).update(lease_until=Now() - timedelta(seconds=1))
    scanner.wait(minutes=5)
    with clock.set_to(scanner.now):
        queue.requeue_expired()
        while (left := queue.claim_next(["crawler_queue", "maintenance_queue"], "heir")) is not None:
            assert runner.execute(left).state == State.DONE


def check_crawls(scanner: Scanner, plans: tuple[str, ...]) -> None:
    (post,) = scanner.add_with_comments("webdev")
    edited = scanner.world.comment(post, "Edition 1")
    for number in range(4):
        scanner.world.comment(post, f"Comment {number}")
    scanner.crawl_comments("webdev")
    for edition, plan in enumerate(plans, start=2):
        scanner.wait(hours=1)
        scanner.world.edit(edited, f"Edition {edition}")
        scanner.world.post("webdev", f"Thread {edition}", "Text")
        scanner.world.comment(post, f"After {plan}")
        kill(plan, scanner, "reddit.community", community="r/webdev")
        assert set(Comment.objects.values_list("comment_id", flat=True)) == set(scanner.world.comments), plan
        row = Comment.objects.get(comment_id=edited)
        assert [one.content for one in versions(row)] == scanner.world.comments[edited].texts(), plan
        assert not scanner.comments("webdev").possible_gap, plan
    assert set(PostRaw.objects.values_list("source_post_id", flat=True)) == set(scanner.world.posts)
    assert StreamEntry.objects.filter(kind="comment_edited").count() == len(plans)
    added = [entry.data["added"] for entry in StreamEntry.objects.filter(kind="commented")]
    assert added == [1] * len(plans)
    assert sum(Crawl.objects.filter(kind="comments").values_list("new_posts", flat=True)) == 5 + len(plans)


def test_killed_while_comments_are_read_or_stored_each_comment_and_version_is_kept_once(site) -> None:
    check_crawls(Scanner(site), QUICK)


@pytest.mark.nightly
def test_killed_at_every_step_of_a_crawl_each_comment_and_version_is_kept_once(site) -> None:
    check_crawls(Scanner(site), LONG)


def test_killed_while_comments_are_erased_nothing_of_them_stays(site) -> None:
    scanner = Scanner(site)
    (post,) = scanner.add_with_comments("webdev")
    made = [scanner.world.comment(post, f"Zanzibar {number}", author="gone") for number in range(3)]
    scanner.world.comment(post, "Stays", author="stays")
    scanner.crawl_comments("webdev")
    for comment in made:
        scanner.world.delete(comment)
    scanner.wait(hours=3)
    scanner.run("reddit.recheck")
    kill("reddit.comments_erased:1", scanner, "reddit.honor_deletions")
    assert list(Comment.objects.exclude(content="").values_list("content", flat=True)) == ["Stays"]
    assert not SearchDocument.objects.filter(body__contains="Zanzibar").exists()
    assert Comment.objects.exclude(blanked_at=None).count() == 3
