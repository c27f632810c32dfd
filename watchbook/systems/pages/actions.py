"""What a user does with websites and pages; page, API and command call the same functions.

Websites of a user, for the removal of an account.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from watchbook.base import clock, sandbox
from watchbook.base.invalid import InvalidInput
from watchbook.base.text import clean_text, cut
from watchbook.base.web.address import check_url
from watchbook.base.web.errors import WebError
from watchbook.base.work import counted
from watchbook.core import url_lists
from watchbook.core.accounts import audit
from watchbook.core.accounts.models import User
from watchbook.core.erase import erase
from watchbook.core.jobs import queue
from watchbook.core.jobs.models import JobRun
from watchbook.core.notify.actions import own_channels
from watchbook.core.notify.models import NotificationChannel
from watchbook.systems.pages import options
from watchbook.systems.pages.fetch import fetch_page
from watchbook.systems.pages.jobs import run_for
from watchbook.systems.pages.models import (
    CHANGED,
    Mode,
    Page,
    PageEvidence,
    PageShot,
    Result,
    RuleKind,
    Site,
    SiteRule,
    WebClip,
    section_of,
    url_digest,
)
from watchbook.systems.pages.parse import Selectors
from watchbook.systems.pages.parse.noise import count_words
from watchbook.systems.pages.parse.rules import (
    Condition,
    InvalidPattern,
    InvalidRule,
    check_pattern,
    matches,
    parse_condition,
)
from watchbook.systems.pages.store import counts
from watchbook.systems.pages.store.clips import delete_clips
from watchbook.systems.pages.store.evidence import delete_evidence, delete_of_pages
from watchbook.systems.pages.store.lists import BATCH, add_to_day, batched, plan_mode, requests_left
from watchbook.systems.pages.store.pages import KIND, newest
from watchbook.systems.pages.store.rules import count_today, is_about
from watchbook.systems.pages.store.shots import delete_shots

SHORTEST_INTERVAL, LONGEST_INTERVAL = 15, 60 * 24 * 30
# Minutes between readings of a single address that pages offer.
FREQUENCIES, FREQUENCY = (60, 360, 720, 1440, 10080), 1440
MOST_RULES, PREVIEWED, PREVIEWED_URLS = 50, 500, 20_000
SHOWN, PREVIEW_LENGTH = 10, 2_000
CHANGEABLE = (
    "name", "mode", "daily_requests", "masks_noise", "keeps_evidence", "takes_screenshots", "notifies_changed",
    "notifies_removed",
)  # fmt: skip


def add_site(user: User, list_name: str, values: Mapping[str, Any]) -> Site:
    """Read the pages behind a list of URLs from now on."""
    found = url_lists.find(list_name, user)
    if found is None:
        raise InvalidInput("list_name", _("Choose one of your lists."), "unknown_list")
    checked = _checked({"name": found.title, **values})
    site = _new_site(user, live_key=found.name, address=found.address, **checked)
    site.list_name = found.name
    return _save(site, user)


def add_page(user: User, url: str, *, interval_minutes: int = 1440, name: str = "") -> Page:
    """Watch a single address. Addresses of one host share a website and its request budget."""
    try:
        address = check_url(url.strip())
    except WebError as error:
        raise InvalidInput("url", _(error.message)) from error
    if not SHORTEST_INTERVAL <= interval_minutes <= LONGEST_INTERVAL:
        words = _("Choose a frequency from %(least)s to %(most)s minutes.")
        raise InvalidInput("interval_minutes", words % {"least": SHORTEST_INTERVAL, "most": LONGEST_INTERVAL})
    site = _site_of_host(user, address.url, name)
    digest, now = url_digest(address.url), clock.now()
    if Page.objects.filter(site=site, url_digest=digest).exists():
        raise InvalidInput("url", _("You already watch this page."), "exists", is_conflict=True)
    with transaction.atomic():
        page = Page.objects.create(
            site=site, url=address.url, url_digest=digest, section=section_of(address.url), first_seen_at=now,
            changed_at=now, next_at=now, priority=CHANGED, interval_minutes=interval_minutes,
        )  # fmt: skip
        counts.added([page])
        Site.objects.filter(pk=site.pk).update(next_at=now)
        site.next_at = now
        queue.enqueue_many([run_for(site)])
    return page


def _site_of_host(user: User, url: str, name: str) -> Site:
    host = urlsplit(url).netloc
    known = Site.objects.of(user).filter(live_key=f"host:{host}"[:300]).first()
    if known is not None:
        return known
    address = f"{urlsplit(url).scheme}://{host}/"
    site = _new_site(user, live_key=f"host:{host}"[:300], address=address, name=cut(name or host, 200), mode=Mode.ALL)
    return _save(site, user)


def _new_site(user: User, **columns: Any) -> Site:
    if Site.objects.of(user).count() >= options.SITES_PER_USER.value:
        words = _("You have reached the limit of websites on this server.")
        raise InvalidInput("", words, "too_many", is_conflict=True)
    columns.setdefault("daily_requests", options.DAILY_REQUESTS.value)
    now = clock.now()
    return Site(user=user, created_at=now, next_at=now, **columns)


def _save(site: Site, user: User) -> Site:
    try:
        with transaction.atomic():
            site.save(force_insert=True)
            audit.record("pages.site_added", actor=user, subject=site.name)
            queue.enqueue_many([run_for(site)])
    except IntegrityError:
        words = _("The pages of this list are already read.")
        raise InvalidInput("list_name", words, "exists", is_conflict=True) from None
    return site


def change_site(site: Site, values: Mapping[str, Any]) -> Site:
    """Change a website; another mode makes pages due, or not."""
    checked = _checked(values)
    is_new_mode = "mode" in checked and checked["mode"] != site.mode
    for name, value in checked.items():
        setattr(site, name, value)
    with transaction.atomic():
        site.next_at = clock.now()
        site.save(update_fields=[*checked, "next_at"])
        if is_new_mode:
            plan_mode(site, clock.now())
    return site


def _checked(values: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: values[name] for name in CHANGEABLE if values.get(name) is not None}
    if "name" in found:
        found["name"] = cut(" ".join(str(found["name"]).split()), 200)
        if not found["name"]:
            raise InvalidInput("name", _("Enter a name."))
    if "mode" in found and found["mode"] not in Mode.values:
        raise InvalidInput("mode", _("Choose none, new or all."))
    if found.get("takes_screenshots") and not options.CHROMIUM.value:
        words = _("Screenshots need Chromium. An operator names it in SITES_CHROMIUM.")
        raise InvalidInput("takes_screenshots", words, "no_chromium")
    if "daily_requests" in found and not 1 <= int(found["daily_requests"]) <= options.MOST_REQUESTS.value:
        words = _("Choose 1 to %(most)s requests per day.") % {"most": options.MOST_REQUESTS.value}
        raise InvalidInput("daily_requests", words)
    return found


def set_lists(site: Site, names: Sequence[str]) -> None:
    """Read further lists of the same website: several sitemaps and feeds with one budget. Only own lists count."""
    if not site.list_name and names:
        raise InvalidInput("more_lists", _("Single addresses have no list."))
    wanted = [name for name in dict.fromkeys(names) if name != site.list_name]
    if unknown := [name for name in wanted if url_lists.find(name, site.user) is None]:
        words = _("You have no list with this name: %(names)s") % {"names": cut(", ".join(unknown), 200)}
        raise InvalidInput("more_lists", words, "unknown_list")
    if wanted == site.more_lists:
        return
    kept = {name: version for name, version in site.list_versions.items() if name in (site.list_name, *wanted)}
    site.more_lists, site.list_versions, site.next_at = wanted, kept, clock.now()
    site.save(update_fields=["more_lists", "list_versions", "next_at"])


def set_channels(site: Site, channel_ids: Sequence[UUID]) -> None:
    """Set where changes of a website are notified. An id that is not one of the owner's channels is refused."""
    site.channels.set(own_channels(site.user, channel_ids))


def checked_rule(
    site: Site, *, kind: str = RuleKind.NOTIFY, condition: str = "", pattern: str = "", page_id: int | None = None
) -> SiteRule:
    """Return a rule that is not saved yet, or refuse what it says by name."""
    if kind not in RuleKind.values:
        raise InvalidInput("kind", _("Choose notify, include, exclude, only or ignore."))
    said = " ".join(clean_text(condition).split())[:300]
    try:
        pattern = check_pattern(clean_text(pattern))
    except InvalidPattern:
        words = _("Write a path such as /products/ or /products/*/offer, or re: and a regular expression.")
        raise InvalidInput("pattern", words) from None
    if kind in (RuleKind.INCLUDE, RuleKind.EXCLUDE):
        if said or not pattern:
            raise InvalidInput("condition" if said else "pattern", _("This rule has a pattern and no condition."))
    elif kind in (RuleKind.ONLY, RuleKind.IGNORE):
        _check_selector(said)
    else:
        _check_condition(said, pattern)
    page = _page_of_rule(site, page_id, kind, said, pattern) if page_id else None
    return SiteRule(site=site, kind=kind, condition=said, pattern=pattern, page=page, created_at=clock.now())


def _page_of_rule(site: Site, page_id: int, kind: str, condition: str, pattern: str) -> Page:
    page = Page.objects.filter(site=site, pk=page_id).first()
    if page is None:
        raise InvalidInput("page_id", _("This website has no such page."))
    if pattern or kind != RuleKind.NOTIFY or parse_condition(condition).is_count:
        raise InvalidInput("page_id", _("A rule about one page has a condition about that page and no pattern."))
    return page


def _check_condition(said: str, pattern: str) -> None:
    try:
        wanted = parse_condition(said)
    except InvalidRule:
        words = _("Write a condition such as: text contains sale, price < 50, status != 200, noindex, changed.")
        raise InvalidInput("condition", words) from None
    if wanted.under and pattern:
        raise InvalidInput("pattern", _("The condition has a path already."))


def _check_selector(said: str) -> None:
    from cssselect import HTMLTranslator, SelectorError  # only where such a rule is written

    try:
        HTMLTranslator().css_to_xpath(said)
    except SelectorError:
        raise InvalidInput("condition", _("Write a CSS selector such as main, .price or #content p.")) from None


def add_rule(site: Site, *, channel_ids: Sequence[UUID | str] = (), **given: Any) -> SiteRule:
    """Add a rule over pages of a website. Channels of its own receive it instead of those of the website."""
    rule = checked_rule(site, **given)
    if SiteRule.objects.filter(site=site).count() >= MOST_RULES:
        words = _("A website has at most %(most)s rules.") % {"most": MOST_RULES}
        raise InvalidInput("condition", words, "too_many", is_conflict=True)
    _save_rule(rule, channel_ids)
    return rule


def change_rule(rule: SiteRule, *, channel_ids: Sequence[UUID | str] = (), **given: Any) -> SiteRule:
    """Replace what a rule says. Its feed and what it recorded stay."""
    made = checked_rule(rule.site, **given)
    made.pk, made.created_at = rule.pk, rule.created_at
    if made.condition == rule.condition:
        made.notified_on = rule.notified_on
    _save_rule(made, channel_ids, before=rule)
    return made


def _save_rule(rule: SiteRule, channel_ids: Sequence[UUID | str], *, before: SiteRule | None = None) -> None:
    channels = _channels_of_rule(rule, channel_ids)
    with transaction.atomic():
        rule.save()
        rule.channels.set(channels)
        _wake(rule.site, rule, before)


def _channels_of_rule(rule: SiteRule, channel_ids: Sequence[UUID | str]) -> list[NotificationChannel]:
    channels = own_channels(rule.site.user, channel_ids)
    if channels and rule.kind != RuleKind.NOTIFY:
        raise InvalidInput("channel_ids", _("Only a rule that notifies has channels."))
    return channels


def delete_rule(rule: SiteRule) -> None:
    with transaction.atomic():
        rule.delete()
        _wake(rule.site, rule)


def _wake(site: Site, *rules: SiteRule | None) -> None:
    """Let the next run compare all pages with other include and exclude rules."""
    kinds = {rule.kind for rule in rules if rule}
    if kinds & {RuleKind.INCLUDE, RuleKind.EXCLUDE} and not site.is_paused:
        site.next_at = clock.now()
        Site.objects.filter(pk=site.pk).update(next_at=site.next_at)
        queue.enqueue_many([run_for(site)])


@dataclass(frozen=True)
class RulePreview:
    """What a rule means for stored pages: of how many it is true, and the first. `text`: what a selector leaves."""

    count: int
    tried: int
    pages: list[Page]
    text: str = ""
    words: int = 0


def preview_rule(site: Site, *, channel_ids: Sequence[UUID | str] = (), **given: Any) -> RulePreview:
    """Try a rule on what is stored. Selectors are tried on one page, which is read now within the budget."""
    rule, now = checked_rule(site, **given), clock.now()
    _channels_of_rule(rule, channel_ids)  # what saving would refuse, the preview refuses
    if rule.kind in (RuleKind.ONLY, RuleKind.IGNORE):
        return _preview_selector(site, rule, now)
    if rule.kind in (RuleKind.INCLUDE, RuleKind.EXCLUDE):
        rows = Page.objects.filter(site=site, is_listed=True).order_by("-changed_at", "-pk")
        urls = list(rows.values_list("pk", "url")[:PREVIEWED_URLS])
        fitting = [pk for pk, url in urls if matches(rule.pattern, url)]
        return RulePreview(len(fitting), len(urls), list(Page.objects.filter(pk__in=fitting[:SHOWN]).order_by("url")))
    wanted = parse_condition(rule.condition)
    if wanted.is_count:
        count, newest_page = count_today(site, wanted, rule.pattern, now)
        return RulePreview(count, count, [newest_page] if newest_page else [])
    return _preview_condition(site, rule, wanted)


def _preview_condition(site: Site, rule: SiteRule, wanted: Condition) -> RulePreview:
    rows = Page.objects.filter(site=site, version_count__gt=0).order_by("-changed_at", "-pk")
    rows = rows.filter(pk=rule.page_id) if rule.page_id else rows.filter(is_listed=True)
    pages = list(rows[:PREVIEWED])
    fitting = [page for page in pages if is_about(rule, page)]
    if not wanted.is_event:
        fitting = [page for page in fitting if _holds(wanted, page)]
    return RulePreview(len(fitting), len(pages), fitting[:SHOWN])


def _holds(wanted: Condition, page: Page) -> bool:
    version, text = newest(page)
    return version is not None and wanted.holds(version.fields, text)


def _preview_selector(site: Site, rule: SiteRule, now: datetime) -> RulePreview:
    rows = Page.objects.filter(site=site, result=Result.OK, is_listed=True).order_by("-changed_at", "-pk")
    page = next((each for each in rows[:PREVIEWED] if matches(rule.pattern, each.url)), None)
    if page is None:
        return RulePreview(0, 0, [])
    if not requests_left(site, now):
        raise InvalidInput("", _("The requests of today are used up. Try again tomorrow."), "budget", is_conflict=True)
    is_only = rule.kind == RuleKind.ONLY
    selectors = Selectors(only=(rule.condition,)) if is_only else Selectors(ignore=(rule.condition,))
    with counted(most=requests_left(site, now)) as count:
        try:
            record = fetch_page(page.url, selectors=selectors).record
        except (WebError, sandbox.TaskError) as error:
            raise InvalidInput("condition", _(error.message), error.code) from error
        finally:
            add_to_day(site, now, requests=count.requests)
    text = record.text if record else ""
    return RulePreview(1, 1, [page], cut(text, PREVIEW_LENGTH), count_words(text))


def pause(site: Site) -> None:
    Site.objects.filter(pk=site.pk).update(is_paused=True)
    site.is_paused = True


def resume(site: Site) -> None:
    site.is_paused, site.next_at = False, clock.now()
    site.save(update_fields=["is_paused", "next_at"])


def delete_site(site: Site, user: User) -> None:
    """Delete a website with its pages and versions; the rows go with the next cleanup."""
    with transaction.atomic():
        Site.objects.filter(pk=site.pk).update(deleted_at=clock.now(), live_key=None)
        audit.record("pages.site_deleted", actor=user, subject=site.name)


def delete_page(page: Page) -> None:
    """Stop watching a single address."""
    from watchbook.core.erase import erase
    from watchbook.systems.pages.store.pages import KIND

    with transaction.atomic():
        erase(KIND, [str(page.pk)])
        delete_of_pages([page.pk])
        delete_shots(PageShot.objects.filter(page=page))
        with counts.changing(Page.objects.filter(pk=page.pk)):
            page.delete()


def check_now(site: Site, *, user: User) -> JobRun:
    """Queue a run that reads what is due; a run that waits already is returned."""
    if site.is_paused:
        raise InvalidInput("", _("This website is paused. Resume it first."), "paused", is_conflict=True)
    site.next_at = clock.now()
    Site.objects.filter(pk=site.pk).update(next_at=site.next_at)
    run = run_for(site, user_id=user.pk)
    made = queue.enqueue_many([run])
    return made[0] if made else JobRun.objects.get(key=run.key)


def check_page(page: Page, *, user: User) -> JobRun:
    """Read one page as soon as possible, within the budget of its website."""
    Page.objects.filter(pk=page.pk).update(next_at=clock.now(), priority=CHANGED)
    return check_now(page.site, user=user)


def forget_noise(page: Page) -> None:
    """Reset the learned noise of a page; the next two readings learn it again."""
    Page.objects.filter(pk=page.pk).update(mask={})


def site_titles(user: User) -> list[str]:
    """Return the names of the websites of this user."""
    return list(Site.objects.of(user).order_by("name", "pk").values_list("name", flat=True))


def delete_sites(user: User) -> None:
    """Erase the pages of this user from search, activity and notifications; the rows go with the account."""
    for site in Site.objects.filter(user=user):
        ids = [str(pk) for pk in Page.objects.filter(site=site).values_list("pk", flat=True)]
        for batch in batched(ids, BATCH):
            erase(KIND, batch)
        delete_evidence(PageEvidence.objects.filter(site=site))
        delete_shots(PageShot.objects.filter(site=site))
    delete_clips(list(WebClip.objects.filter(user=user).values_list("pk", flat=True)))
