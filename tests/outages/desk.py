"""The run: processes that work, stand-ins that fail in turn, and the ledger at the end."""

from __future__ import annotations

import os
import random
import sys
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate, chain, pairwise, repeat, takewhile
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import connections
from django.db.models import Q, QuerySet

from tests.crash.engines import Engine
from tests.crash.installation import pause_ticks
from tests.crash.process_factory import ProcessFactory
from tests.crash.processes import Processes
from tests.rules import random_outages
from tests.rules.random_outages import ATTEMPTS, Outage, Part, environment, parts_of
from watchbook.base import clock
from watchbook.core.accounts.models import User
from watchbook.core.alerts.models import Alert
from watchbook.core.alerts.outage import PAUSES
from watchbook.core.jobs.models import JobRun, State
from watchbook.core.notify.message import message_id
from watchbook.core.notify.models import Attempt, Delivery
from watchbook.core.notify.outbox.result import FIRST_BREAK
from watchbook.systems.nga.models import CrawlRun
from watchbook.systems.sitemaps.models import SitemapCheck

# Seconds that an outage lasts, and that a site is well before the next.
LASTS, WELL = (25.0, 55.0), (25.0, 50.0)
SLOW_SECONDS = 0.5
GROW_SECONDS = 4.0
STEP_SECONDS = 0.25
# A site without a request for this time is not being read.
QUIET_SECONDS = 2.0
# The clock runs on while an attempt is stored, so the shortest pause of a channel looks a little shorter.
LEAST_BREAK = timedelta(seconds=FIRST_BREAK * 0.9)
# What is owed after the last outage must be read in this time: a day and a half of the fast clock.
SETTLE_SECONDS = 360.0


class Receivers(Part):
    """The receiver of webhooks: what was decided to be sent arrives once its outage is over.

    Its owner gets one mail when deliveries fail, and one when they work again.
    """

    announces_all = False
    outage_kinds = frozenset({"down", "failing", "refusing"})

    def prepare(self, owner: Any) -> None:
        pass

    def grow(self, number: int) -> None:
        pass

    def read(self, now: datetime) -> None:
        pass

    def ledgers(self) -> tuple[set[str], set[str]]:
        rows = Delivery.objects.filter(channel__channel_type="webhook").values_list("event_id", "channel_id")
        arrived = {one.id for one in self.site.deliveries() if one.status == 200}
        return {message_id(event, channel) for event, channel in rows}, arrived

    def given_up(self) -> int:
        return Delivery.objects.exclude(state__in=["pending", "sent"]).count()

    def alerts(self) -> tuple[int, int]:
        kinds = Counter(Delivery.objects.filter(source="notify").values_list("kind", flat=True))
        return kinds["channel_failing"], kinds["channel_recovered"]

    def doubled(self) -> int:
        """Deliveries that the receiver accepted more than once."""
        accepted = Counter(one.id for one in self.site.deliveries() if one.status == 200)
        return sum(count > 1 for count in accepted.values())


@dataclass
class Sick:
    """When the next turn of a part is, and whether it fails now."""

    part: Part
    is_ill: bool
    until: float


class Desk:
    def __init__(self, engine: Engine, sites: list[Any], folder: Path, stack: ExitStack, seed: int) -> None:
        self.dice = random.Random(seed)
        values = environment(sites)
        values["WATCHBOOK_TRUSTED_HOSTS"] = ",".join(site.netloc for site in sites)
        os.environ |= values
        random_outages.SLOW_SECONDS = SLOW_SECONDS
        call_command("migrate", interactive=False, verbosity=0)
        pause_ticks(True)
        owner = User.objects.create_user("watcher@example.com", None, is_verified=True, is_staff=True)
        self.parts: list[Part] = [*parts_of(sites), Receivers(sites[-1])]
        self.parts[0].hook_url = sites[-1].address("/hook")  # type: ignore[attr-defined]
        self._set_time()
        for part in self.parts:
            part.prepare(owner)  # type: ignore[attr-defined]
        connections.close_all()
        logs = folder / "logs"
        logs.mkdir()
        factory = ProcessFactory(logs)
        stack.callback(factory.close)
        self.processes = Processes(engine, factory)
        self.processes.fill()
        if not engine.is_embedded:
            self.processes.start("web")
        stack.callback(connections.close_all)
        # The requests of each part, and since when there were no more.
        self.quiet: dict[str, tuple[int, float]] = {}
        self.faults: Counter[str] = Counter()
        self.wrong: list[str] = []

    def live(self, seconds: float, only: str = "") -> bool:
        """Let every part fail in turn, or `only` the one with this name."""
        began = time.monotonic()
        sick = [part for part in self.parts if only in ("", part.slug)]
        turns = [Sick(part, False, began + self.dice.uniform(3, WELL[1])) for part in sick]
        grown, number = began, 0
        while (now := time.monotonic()) < began + seconds:
            self._turn(turns, now)
            self._keep_watch()
            if now >= grown:
                number, grown = number + 1, now + GROW_SECONDS
                for part in self.parts:
                    if part.grows_while_read or self._is_quiet(part, now):
                        part.grow(number)
            time.sleep(STEP_SECONDS)
        for turn in turns:
            if turn.is_ill:
                turn.part.end()
        print(f"{len(self.faults)} kinds of faults: {dict(self.faults)}; now everything is well", flush=True)
        self._settle()
        return self._judge(time.monotonic() - began)

    def _is_quiet(self, part: Part, now: float) -> bool:
        return now - self.quiet[part.slug][1] >= QUIET_SECONDS

    def _turn(self, turns: list[Sick], now: float) -> None:
        for turn in turns:
            if now < turn.until:
                continue
            if turn.is_ill:
                turn.part.end()
            else:
                kind = self.dice.choice(("refusing", *random_outages.FAULTS))
                self.faults[kind] += 1
                turn.part.begin(kind)
            turn.is_ill = not turn.is_ill
            turn.until = now + self.dice.uniform(*(LASTS if turn.is_ill else WELL))

    def _set_time(self) -> None:
        """The worlds that have a clock follow that of the processes."""
        for part in self.parts:
            world = getattr(part.site, "world", None)
            for name in ("hold_time", "set_time"):
                if hasattr(world, name):
                    getattr(world, name)(clock.now())

    def _keep_watch(self) -> None:
        self._set_time()
        for part in self.parts:
            count = part.site.log.count()
            if self.quiet.get(part.slug, (-1, 0.0))[0] != count:
                self.quiet[part.slug] = (count, time.monotonic())
        for member in self.processes.ended():
            self.wrong.append(f"{member.role} ended by itself: {member.process.said()[-400:]}")
            self.processes.forget(member.process)

    def _settle(self) -> None:
        """Wait until every ledger is equal and every alert is resolved; what does not get there is found later."""
        ends = time.monotonic() + SETTLE_SECONDS
        while time.monotonic() < ends and not all(self._is_done(part) for part in self.parts):
            self._keep_watch()
            time.sleep(1.0)

    @staticmethod
    def _is_done(part: Part) -> bool:
        listed, stored = part.ledgers()
        opened, resolved = part.alerts()
        return listed == stored and opened == resolved and not part.given_up()

    def _judge(self, seconds: float) -> bool:
        for part in self.parts:
            self._judge_part(part)
        stuck = JobRun.objects.filter(state=State.RUNNING, lease_until__lt=clock.now()).exclude(lease_until=None)
        crashed = JobRun.objects.filter(error_code__in=["crashed", "unexpected"]).values_list("name", "error")
        self.wrong += [f"{name} crashed: {error}" for name, error in crashed]
        runs, requests = JobRun.objects.count(), sum(JobRun.objects.values_list("http_request_count", flat=True))
        met = sum(bool(runs_of(part, outage)) for part in self.parts for outage in part.outages)
        print(
            f"{seconds:.0f} s, {runs} runs, {requests} requests, {met} faults met by runs, {stuck.count()} leases held"
        )
        for line in self.wrong:
            print(f"WRONG: {line}")
        return not self.wrong

    def _judge_part(self, part: Part) -> None:
        listed, stored = part.ledgers()
        opened, resolved = part.alerts()
        given_up = part.given_up()
        outages = [outage for outage in part.outages if part.is_outage(outage)]
        bursts = [attempts_of(runs_of(part, outage)) for outage in outages]
        met = [outage for outage, burst in zip(outages, bursts, strict=True) if burst]
        firsts = [burst[0] for burst in bursts if burst]
        later = [count for burst in bursts for count in burst[1:]]
        announced = sum(is_announced(part, outage) for outage in met)
        print(
            f"{part.slug}: {len(part.outages)} faults, {len(met)} outages met, {opened} announced, {resolved} resolved,"
            f" {len(listed)} items, {len(listed - stored)} missing, {given_up} given up, at most"
            f" {max(firsts, default=0)} attempts, then {max(later, default=0)} after each pause",
            flush=True,
        )
        if listed != stored or given_up:
            self.wrong.append(f"{part.slug}: {sorted(listed ^ stored)[:5]} differ, {given_up} given up")
        if isinstance(part, Receivers) and part.doubled():
            self.wrong.append(f"{part.slug}: {part.doubled()} deliveries were accepted twice")
        if opened != resolved or opened != announced:
            self.wrong.append(f"{part.slug}: {announced} outages to announce, {opened} announced, {resolved} resolved")
            self.wrong += [f"  {one.kind} from {one.began_at} to {one.ended_at}" for one in part.outages]
            rows = Alert.objects.filter(source=part.slug).order_by("pk")
            self.wrong += [f"  {row.key} {row.opened_at:%d %H:%M} to {row.closed_at} {row.message}" for row in rows]
        for outage, burst in zip(outages, bursts, strict=True):
            if not is_calm(burst) or len(burst) > 1 + most_pauses(part, outage):
                span = f"{outage.began_at:%d %H:%M:%S} to {outage.ended_at:%d %H:%M:%S}"
                self.wrong.append(
                    f"{part.slug}: {outage.kind} from {span}: {runs_of(part, outage)} requests of its runs"
                )


def runs_of(part: Part, outage: Outage) -> list[int]:
    """Requests of each run that was wholly inside the outage, in order; runs without a request are left out."""
    if part.slug == "nga":
        return list(crawls_in(outage).values_list("http_request_count", flat=True))
    if isinstance(part, Receivers):
        return bursts_of_attempts(outage)
    inside = Q(started_at__gte=outage.began_at, finished_at__lte=outage.ended_at or clock.now())
    rows = JobRun.objects.filter(inside, name__startswith=f"{part.slug}.", http_request_count__gt=0)
    return list(rows.order_by("started_at", "pk").values_list("http_request_count", flat=True))


def crawls_in(outage: Outage) -> QuerySet[CrawlRun]:
    """A scheduled run that is repeated after a pause has one row of jobs and one of its own for each attempt."""
    inside = Q(run_started_at__gte=outage.began_at, run_finished_at__lte=outage.ended_at or clock.now())
    return CrawlRun.objects.filter(inside, http_request_count__gt=0).order_by("run_started_at", "pk")


def attempts_of(runs: list[int]) -> list[int]:
    """Requests until the pause, and those of each run afterwards: a run with little to read leaves attempts over."""
    first, left = 0, list(runs)
    while left and (not first or first + left[0] <= ATTEMPTS):
        first += left.pop(0)
    return [first, *left] if runs else []


def is_calm(burst: list[int]) -> bool:
    """The promise: so many requests until the pause, and one after each pause."""
    return not burst or (burst[0] <= ATTEMPTS and all(count == 1 for count in burst[1:]))


def most_pauses(part: Part, outage: Outage) -> int:
    """How many pauses of the forum end in an outage of this length. Other parts have pauses of their own."""
    if part.slug != "nga" or outage.began_at is None:
        return sys.maxsize
    left = (outage.ended_at or clock.now()) - outage.began_at
    ends = accumulate(timedelta(seconds=seconds) for seconds in chain(PAUSES, repeat(PAUSES[-1])))
    return sum(1 for _end in takewhile(lambda end: end <= left, ends))


def failed_attempts(outage: Outage) -> list[Attempt]:
    inside = Q(at__gte=outage.began_at, at__lte=outage.ended_at or clock.now())
    webhooks = Attempt.objects.filter(inside, delivery__channel__channel_type="webhook", succeeded=False)
    return list(webhooks.order_by("pk"))


def bursts_of_attempts(outage: Outage) -> list[int]:
    """Failed attempts until the pause, then those after each pause: one that did not wait counts to the one before."""
    times = [attempt.at for attempt in failed_attempts(outage)]
    bursts = [len(times[:ATTEMPTS])] if times else []
    for before, after in pairwise(times[ATTEMPTS - 1 :]):
        if after - before >= LEAST_BREAK:
            bursts.append(1)
        else:
            bursts[-1] += 1
    return bursts


def is_announced(part: Part, outage: Outage) -> bool:
    """Whether users must be told: a monitor after three failed checks, a website after three failed requests."""
    if part.announces_all:
        return True
    if part.slug == "sitemaps":
        times = Q(created_at__gte=outage.began_at, created_at__lte=outage.ended_at or clock.now())
        return SitemapCheck.objects.filter(times).exclude(error_code="").count() >= ATTEMPTS
    if isinstance(part, Receivers):
        refusals = ATTEMPTS - 1  # a receiver that refuses the sender twice is announced at once
        return len(failed_attempts(outage)) >= (refusals if outage.kind == "refusing" else ATTEMPTS)
    return (outage.robots if outage.kind == "garbling" else sum(runs_of(part, outage))) >= ATTEMPTS
