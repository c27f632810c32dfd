"""Rules of a website: what of a page is compared, and which rules a version or a day made true.

One notification for everything that a run found on a website.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, time
from urllib.parse import urljoin

from django.conf import settings
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from watchbook.base.clock import SHANGHAI
from watchbook.base.web.response import Validators
from watchbook.core.notify import outbox
from watchbook.core.notify.message import Named
from watchbook.core.notify.models import NotificationChannel
from watchbook.core.stream.entries import Entry, record
from watchbook.systems.pages.models import Fate, Page, PageEvent, PageVersion, RuleKind, Site, SiteRule, url_digest
from watchbook.systems.pages.parse import PageRecord, Selectors
from watchbook.systems.pages.parse.noise import Mask
from watchbook.systems.pages.parse.rules import Condition, matches, parse_condition
from watchbook.systems.pages.store import counts
from watchbook.systems.pages.store.pages import KIND, SOURCE, newest, page_path, store_version

ROBOTS = "robots.txt"


def selectors_of(site: Site, url: str) -> Selectors:
    """The selectors of all rules that fit an address. One query."""
    rows = SiteRule.objects.filter(site=site, kind__in=[RuleKind.ONLY, RuleKind.IGNORE]).order_by("condition", "pk")
    fitting = [rule for rule in rows if matches(rule.pattern, url)]
    return Selectors(
        tuple(rule.condition for rule in fitting if rule.kind == RuleKind.ONLY),
        tuple(rule.condition for rule in fitting if rule.kind == RuleKind.IGNORE),
    )


def is_about(rule: SiteRule, page: Page) -> bool:
    """Whether a rule is about this page."""
    return rule.page_id == page.pk if rule.page_id else matches(rule.pattern, page.url)


def apply_rules(
    site: Site, page: Page, version: PageVersion, found: PageRecord, before: tuple[PageVersion | None, str]
) -> None:
    """Record each rule that this version made true. A page of the first list had no chance to become anything."""
    old, old_text = before
    if version.is_restart or (old is None and page.is_baseline):
        return
    past = (old.fields, old_text) if old else None
    true = [
        rule
        for rule in SiteRule.objects.filter(site=site, kind=RuleKind.NOTIFY).order_by("pk")
        if is_about(rule, page) and parse_condition(rule.condition).crosses(past, (found.fields, found.text))
    ]
    for rule in true:
        _store(site, page, rule, str(rule), at=version.read_at, version=version.number)


def store_robots(site: Site, text: str, *, now: datetime) -> None:
    """Keep a changed robots.txt as a version of its own page, with the text before as the first one. No request."""
    url = urljoin(site.address, "/robots.txt")
    page, made = Page.objects.get_or_create(
        site=site,
        url_digest=url_digest(url),
        defaults={
            "url": url, "section": "/", "title": ROBOTS, "first_seen_at": now, "changed_at": now, "is_listed": False,
            "is_baseline": True,
        },
    )  # fmt: skip
    if made:
        counts.added([page])
    for said in (text,) if page.version_count else (site.robots, text):
        before = newest(page)
        found = PageRecord({"status": "200", "title": ROBOTS}, said, len(said.encode()))
        version = store_version(
            site, page, found, now=now, mask=Mask(), validators=Validators(), before=before, is_redirect=False
        )
        apply_rules(site, page, version, found, before)


def apply_counts(site: Site, now: datetime) -> None:
    """Record each rule about a number of pages that is exceeded today, once a day."""
    today = now.astimezone(SHANGHAI).date()
    for rule in SiteRule.objects.filter(site=site, kind=RuleKind.NOTIFY, condition__startswith="more ").order_by("pk"):
        wanted = parse_condition(rule.condition)
        if rule.notified_on == today:
            continue
        count, newest = count_today(site, wanted, rule.pattern, now)
        if newest is not None and count > int(wanted.value):
            rule.notified_on = today
            rule.save(update_fields=["notified_on"])
            _store(site, newest, rule, f"{rule} ({count})", at=now)


def count_today(site: Site, wanted: Condition, pattern: str, now: datetime) -> tuple[int, Page | None]:
    """Return how many pages a rule counts today, and the newest of them."""
    since = datetime.combine(now.astimezone(SHANGHAI).date(), time(), SHANGHAI)
    found: Iterable[tuple[int, str]]
    if wanted.field == "new":
        new = Page.objects.filter(site=site, first_seen_at__gte=since, is_baseline=False)
        found = new.order_by("first_seen_at", "pk").values_list("pk", "url").iterator(2000)
    else:
        events = PageEvent.objects.filter(site=site, at__gte=since, kind=wanted.field)
        found = events.order_by("at", "pk").values_list("page_id", "page__url").iterator(2000)
    fitting = [pk for pk, url in found if matches(wanted.under or pattern, url)]
    counted = set(fitting)
    return len(counted), Page.objects.get(pk=fitting[-1]) if fitting else None


def _store(site: Site, page: Page, rule: SiteRule, words: str, *, at: datetime, version: int = 0) -> None:
    PageEvent.objects.create(
        site=site, page=page, kind=PageEvent.RULE, version=version, rule=words[:500], by_rule=rule, at=at
    )
    moment = f"{version}" if version else f"{at.astimezone(SHANGHAI):%Y%m%d}"
    record([
        Entry(
            source=SOURCE, kind="rule", title=page.title or page.path, summary=f"{words}: {page.path}",
            url_path=f"{page_path(page)}?to={version}" if version else page_path(page), scope=site.scope,
            object_kind=KIND, object_id=str(page.pk), occurred_at=at, event_key=f"rule:{rule.pk}:{moment}",
            data={"url": page.url, "version": version or None, "rule": words, "site": site.pk},
        )
    ])  # fmt: skip


LISTED = 50


def notify_events(site: Site) -> int:
    """Notify of all events that were not notified yet, in the caller's transaction. Returns how many there were."""
    pending = PageEvent.objects.filter(site=site, is_notified=False)
    last = pending.order_by("-pk").values_list("pk", flat=True).first()
    if last is None:
        return 0
    pending = pending.filter(pk__lte=last)
    wanted = Q(kind=PageEvent.CHANGED) if site.notifies_changed else Q(pk__in=[])
    wanted |= Q(kind__in=Fate.values) if site.notifies_removed else Q(pk__in=[])
    wanted |= Q(kind=PageEvent.RULE)
    own = list(SiteRule.objects.filter(site=site, channels__isnull=False, events__in=pending).distinct().order_by("pk"))
    for rule in own:
        _notify(site, pending.filter(by_rule=rule), rule.channels.all(), last, rule)
    _notify(site, pending.filter(wanted).exclude(by_rule__in=own), site.channels.all(), last)
    return pending.update(is_notified=True)


def _notify(
    site: Site,
    pending: QuerySet[PageEvent],
    where: QuerySet[NotificationChannel],
    last: int,
    rule: SiteRule | None = None,
) -> None:
    total = pending.count()
    channels = list(where.select_related("user").order_by("pk")) if total else []
    if channels:
        events = list(pending.select_related("page").order_by("pk")[:LISTED])
        with translation.override(site.user.language or settings.LANGUAGE_CODE):
            outbox.notify(channels, _notification(site, events, total, last, rule))


def _notification(
    site: Site, events: Sequence[PageEvent], total: int, last: int, rule: SiteRule | None
) -> outbox.Notification:
    lines = [line_of(event) for event in events]
    if total > len(events):
        lines.append(_("and %(count)s more") % {"count": total - len(events)})
    words = ngettext("%(name)s: %(n)s page changed", "%(name)s: %(n)s pages changed", total)
    if rule:
        words = ngettext("%(name)s: %(rule)s, %(n)s page", "%(name)s: %(rule)s, %(n)s pages", total)
    place = f"pages:{site.pk}:rule:{rule.pk}" if rule else f"pages:{site.pk}"
    return outbox.Notification(
        event_id=f"{place}:{last}",
        source=SOURCE,
        kind="changed",
        subject=words % {"name": site.name, "n": total, "rule": rule},
        lines=lines,
        payload={"site": {"id": site.pk, "name": site.name}, "count": total, "pages": [_fact(one) for one in events]},
        link=reverse("pages:site", args=[site.pk]),
        thread=place,
        objects=[Named(KIND, str(event.page_id), number) for number, event in enumerate(events)],
    )


def line_of(event: PageEvent) -> str:
    """An event in one line."""
    page: Page = event.page
    name = page.title or page.path
    if event.kind == PageEvent.CHANGED:
        return f"{name}: +{page.words_added} −{page.words_removed} {page.url}"
    if event.kind == PageEvent.RULE:
        return _("Rule %(rule)s: %(page)s") % {"rule": event.rule, "page": f"{name} {page.url}"}
    if event.kind == Fate.MOVED:
        return _("Moved: %(old)s → %(new)s") % {"old": page.url, "new": page.moved_to}
    words = {Fate.GONE.value: _("Gone: %(url)s"), Fate.DELISTED.value: _("No longer listed: %(url)s")}
    return words[event.kind] % {"url": page.url}


def _fact(event: PageEvent) -> dict[str, object]:
    page: Page = event.page
    return {
        "kind": KIND, "id": str(page.pk), "event": event.kind, "url": page.url, "title": page.title,
        "version": event.version or None, "moved_to": page.moved_to or None,
    }  # fmt: skip
