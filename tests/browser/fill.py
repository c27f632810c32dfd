"""Fills a data folder with days of history in virtual time: `python -m tests.browser.fill` with a plan on its input.

It runs in a process of its own, because the tests have another database. Sites are led by their control desks.
"""

from __future__ import annotations

import json
import sys
import urllib.request
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

import django

HOURS = (2, 9, 15, 21)
# As most sites write it into their sitemaps; people look for 元宵特刊.
SPECIAL = quote("/新闻/2026/元宵特刊")
FAILING_DAYS = 2


class Far:
    """A stand-in site that lives in another process."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.sitemap = f"{url}/sitemap.xml"

    def do(self, name: str, **values: Any) -> None:
        self._post(f"do/{name}", values)

    def fault(self, verb: str, path: str = "*", **details: Any) -> None:
        self._post("faults", {"on": {"path": path}, "do": verb, "with": details})

    def _post(self, where: str, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/_standin/{where}", data=data, method="POST")
        urllib.request.urlopen(request, timeout=30).close()


def open_sites(sites: dict[str, Far]) -> None:
    """What the sites list on the first day."""
    sites["shop"].do("add_many", pages=[f"/products/lantern-{n:03}" for n in range(240)], lastmod="2026-10-01")
    sites["shop"].do("split", children=4)
    words = ("灯会", "渡口", "茶馆", "夜市", "老街", "花灯", "江边", "雨巷")
    sites["paper"].do("add_many", pages=[f"/新闻/2026/{word}-{n}" for n in range(8) for word in words])
    sites["docs"].do("add_many", pages=[f"/handbook/chapter-{n:02}" for n in range(60)], lastmod="2026-09-14")
    sites["docs"].do("split", children=3)
    sites["sale"].do("add_many", pages=[f"/offers/autumn-{n:03}" for n in range(180)])
    sites["atlas"].do("add_bulk", count=12_000)
    sites["atlas"].do("arrange", children=3, per_child=5_000, packing="file")
    for name in ("down", "wall", "rest"):
        sites[name].do("add_many", pages=[f"/{name}/{n:02}" for n in range(40)], lastmod="2026-08-01")


NAMES = {
    "shop": "Example Shop",
    "paper": "城市晚报 · 新闻",
    "docs": "Harbour Library handbook",
    "sale": "Autumn Sale",
    "down": "Old Mill Museum",
    "wall": "Ticket Office",
    "rest": "冬季市集",
    "atlas": "Street Atlas of a town with a rather long name, all districts",
}
ALERTS = {
    "en": {
        "disk": ("The disk is nearly full", "92 % of it is in use.", "71 % in use"),
        "receiver": ("A receiver has not answered for an hour", "Notices wait and none is lost. Mend the receiver."),
        "museum": ("Old Mill Museum cannot be read", "The last 9 checks failed. Nothing is taken for deleted."),
    },
    "zh": {
        "disk": ("磁盘快满了", "已使用 92 %。", "已使用 71 %"),
        "receiver": ("一个接收方已有一小时没有应答", "通知在等待，没有丢失。请修复接收方。"),
        "museum": ("无法读取 Old Mill Museum", "最近 9 次检查失败。没有任何内容被当作删除。"),
    },
}
OF_THE_OPERATOR = ("shop", "paper", "docs", "atlas", "down")


def make_people(plan: dict[str, Any]) -> dict[str, Any]:
    from django.contrib.auth.hashers import BCryptSHA256PasswordHasher

    from watchbook.core.accounts import actions

    # Cheap here; whoever signs in gets a hash at the full price.
    BCryptSHA256PasswordHasher.rounds = 4
    people = {
        name: actions.add(email, plan["password"], operator=name == "operator", verified=True)
        for name, email in plan["people"].items()
    }
    people["operator"].has_completed_onboarding = True
    for person in people.values():
        person.language = {"zh": "zh-hans"}.get(plan["language"], "")
        person.save(update_fields=["has_completed_onboarding", "language"])
    return people


def make_channels(user: Any, hooks: Far) -> dict[str, Any]:
    from watchbook.core.notify import actions

    def channel(name: str, channel_type: str, given: dict[str, str], **choices: Any) -> Any:
        made = actions.create(user, name=name, channel_type=channel_type, given=given, **choices)
        return made.channel

    level = {"alert_level": "P2"} if user.is_staff else {}
    return {
        "mail": channel("Desk mail", "email", {"email": user.email}, **level),
        "hook": channel("Build hook", "webhook", {"url": f"{hooks.url}/build"}),
        "busy": channel("忙碌的接收方", "webhook", {"url": f"{hooks.url}/busy"}),
        "broken": channel("Old receiver", "webhook", {"url": f"{hooks.url}/broken"}),
        "gone": channel("Closed receiver", "webhook", {"url": f"{hooks.url}/gone"}),
        "digest": channel("Evening digest", "email", {"email": f"digest+{user.email}"}, digest="daily"),
    }


def make_monitors(user: Any, sites: dict[str, Far], names: tuple[str, ...], channels: dict[str, Any]) -> None:
    from watchbook.systems.sitemaps import actions

    for name in names:
        wanted = [channels[one] for one in TOLD.get(name, ("mail", "hook"))]
        actions.add_monitor(
            user,
            {
                "name": NAMES[name],
                "sitemap_url": sites[name].sitemap,
                "check_interval_minutes": 360,
                "channel_ids": [channel.pk for channel in wanted],
            },
        )


TOLD = {"shop": ("mail", "hook", "digest"), "docs": ("mail", "busy"), "sale": ("broken", "gone"), "atlas": ()}


def live(sites: dict[str, Far], number: int) -> None:
    """A few hours of everybody's life."""
    sites["shop"].do("live", times=1 + number % 5)
    sites["paper"].do("add", page=f"/新闻/2026/晚报-第{number}号", lastmod=None)
    if number % 3 == 0:
        sites["docs"].do("live")
    if number % 7 == 0:
        sites["sale"].do("add", page=f"/offers/late-{number}")
        sites["atlas"].do("live", times=3)


def pass_days(plan: dict[str, Any], sites: dict[str, Far], now: datetime) -> None:
    """Checks at several hours of every day but one of the reader's, so that a day without a measurement is there."""
    from watchbook.base import clock
    from watchbook.core.jobs import runner
    from watchbook.systems.sitemaps.jobs.check import run_due_now

    days = plan["days"]
    silent = (now - timedelta(days=days // 3)).astimezone(clock.SHANGHAI).date() if days > 6 else None
    number, is_failing = 0, False
    for day in range(days, -1, -1):
        for hour in HOURS:
            moment = (now - timedelta(days=day)).replace(hour=hour, minute=4)
            is_past = now - timedelta(days=days) <= moment < now - timedelta(hours=1)
            if not is_past or moment.astimezone(clock.SHANGHAI).date() == silent:
                continue
            number += 1
            if day <= FAILING_DAYS and not is_failing:
                is_failing = True
                sites["down"].fault("fail")
                sites["wall"].fault("forbid")
            for site in sites.values():
                site.do("hold_time", moment=moment.isoformat())
            live(sites, number)
            with clock.set_to(moment):
                run_due_now(moment)
                if hour == HOURS[0]:
                    for job in ("jobs.clean", "notify.clean", "stream.clean"):
                        runner.run_now(job)


def last_hour(sites: dict[str, Far], now: datetime) -> None:
    """The states that last only a while: degraded, suspect, paused."""
    from watchbook.base import clock
    from watchbook.systems.sitemaps import actions
    from watchbook.systems.sitemaps.jobs.check import run_due_now
    from watchbook.systems.sitemaps.models import MonitorTask

    for site in sites.values():
        site.do("hold_time", moment=None)
    sites["shop"].do("live", times=4)
    sites["paper"].do("add", page=SPECIAL)
    sites["docs"].fault("fail", "/sitemap-2.xml")
    for n in range(8, 170):
        sites["sale"].do("remove", page=f"/offers/autumn-{n:03}")
    actions.pause(MonitorTask.objects.get(name=NAMES["rest"]))
    with clock.set_to(now - timedelta(minutes=40)):
        MonitorTask.objects.exclude(status="paused").update(next_check_at=clock.now())
        run_due_now(clock.now())


def raise_alerts(language: str, now: datetime) -> None:
    """Two that are open and one that was."""
    from watchbook.base import clock
    from watchbook.core.alerts.conditions import open_alert, resolve_alert

    words = ALERTS[language]
    with clock.set_to(now - timedelta(days=2, hours=3)):
        title, message, note = words["disk"]
        open_alert("disk", level="P1", source="", title=title, message=message)
    with clock.set_to(now - timedelta(days=2, hours=1)):
        resolve_alert("disk", note)
    with clock.set_to(now - timedelta(minutes=40)):
        title, message = words["receiver"]
        open_alert("receiver", level="P2", source="", title=title, message=message, link="/channels/")
        title, message = words["museum"]
        open_alert("museum", level="P1", source="sitemaps", title=title, message=message, link="/sitemaps/")


def small_things(people: dict[str, Any]) -> None:
    """Saved searches, feeds, tokens and a backup."""
    from watchbook.core.accounts import tokens
    from watchbook.core.jobs import runner
    from watchbook.core.search import saved
    from watchbook.core.stream import feeds

    for user in (people["member"], people["operator"]):
        saved.save(user, name="Lanterns", query="lantern")
        saved.save(user, name="花灯", query="花灯")
        feeds.make(user, name="Kitchen reader")
        tokens.make(user, ["read"], 30, name="n8n")
    runner.run_now("ops.backup")


def fill_forum() -> None:
    """A few days of a board, and an audit that finds the gap in it."""
    from watchbook.core.jobs import runner

    runner.run_now("nga.crawl")
    runner.run_now("nga.audit")


def fill_communities(plan: dict[str, Any]) -> None:
    """Read hours ago; since then one post was edited, and that was seen."""
    from watchbook.base import clock
    from watchbook.core.jobs import runner
    from watchbook.systems.reddit import actions
    from watchbook.systems.reddit.pool import PoolEntry

    site = Far(plan["url"])
    with clock.set_to(datetime.fromisoformat(plan["read_at"])):
        actions.load_entries([PoolEntry(f"r/{name}", "high", ("harbour",)) for name in plan["names"]], "harbour.json")
        runner.run_now("reddit.incremental")
    site.do("hold_time", moment=None)
    site.do("edit", post_id=plan["edited"], text="The lantern was a beacon.")
    for job in ("reddit.due", "reddit.recheck", "reddit.crawler_health", "reddit.warmup_metrics"):
        runner.run_now(job)


def fill_notes(cookie: str) -> None:
    from watchbook.core.jobs import runner
    from watchbook.systems.notes import actions

    actions.add_cookie("harbour_account", cookie, daily_limit=500)
    actions.add_keyword("Lantern")
    for job in ("notes.search", "notes.collect", "notes.watch"):
        runner.run_now(job)


def fill_library(operator: Any, member: Any) -> None:
    from tests.browser.library_desk import make_tree
    from watchbook.systems.library import actions

    team = actions.create_workspace(operator, "Harbour team")
    actions.set_member(operator, team.pk, person=member, role="member")
    space = actions.create_space(operator, team.pk, "Timetables")
    actions.set_space_member(operator, space.pk, person=member, role="writer")
    make_tree(operator, member, space)


def main() -> None:
    plan = json.load(sys.stdin)
    django.setup()

    from watchbook.base import clock

    sites = {name: Far(url) for name, url in plan["sites"].items()}
    hooks = Far(plan["hooks"])
    hooks.fault("answer", "/busy", status=429, headers={"Retry-After": "7200"})
    hooks.fault("answer", "/broken", status=500, body="no such table: receivers\n")
    hooks.fault("answer", "/gone", status=410)
    now = clock.now()
    with clock.set_to(now - timedelta(days=plan["days"], hours=1)):
        people = make_people(plan)
        open_sites(sites)
        for name, names in (("member", tuple(NAMES)), ("operator", OF_THE_OPERATOR)):
            make_monitors(people[name], sites, names, make_channels(people[name], hooks))
    pass_days(plan, sites, now)
    last_hour(sites, now)
    raise_alerts(plan["language"], now)
    small_things(people)
    fill_forum()
    fill_communities(plan["communities"])
    fill_notes(plan["cookie"])
    fill_library(people["operator"], people["member"])


if __name__ == "__main__":
    main()
