"""Health of the Reddit system, from stored rows only. Home card, pages, alerts and API use this function."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Max, Min, Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as noop
from django.utils.translation import ngettext

from watchbook.base import clock
from watchbook.base.text import Sentence
from watchbook.core import health as states
from watchbook.core.accounts.models import User
from watchbook.core.health import Health, HealthItem, last_use
from watchbook.core.registry import Use
from watchbook.systems.reddit import options, records
from watchbook.systems.reddit.fetch import outage as outages
from watchbook.systems.reddit.fetch.outage import Outage
from watchbook.systems.reddit.models import CommentListing, CommunityCache, Crawl, Outcome
from watchbook.systems.reddit.models.communities import REFUSALS

LATE_AFTER = timedelta(hours=1)
ERROR_AFTER = 3
EMPTY = noop("The last listing was empty although posts were expected.")
EMPTY_REMEDY = noop("No action is needed. Another crawl confirms it. Stored posts are kept.")
CHECK_WORKER = noop("Check that a worker is running.")
GAP_REMEDY = noop("No action is needed. The next full scan closes the gap.")
NO_LONGER = noop("A community failed and was read again just now.")
REFUSED_REMEDY = noop("Open the community on Reddit. Watchbook disables it after 3 refusals over 24 hours.")
# Outcome of an outage: reason and remedy.
REASONS: dict[str, tuple[str, str]] = {
    Outcome.AUTH: (
        noop("Reddit refused the sign-in."),
        noop("Check client ID and client secret under Settings, then select Test."),
    ),
    Outcome.WALL: (
        noop("Reddit blocks requests from this server."),
        noop("Check the user agent under Settings and the IP address of this server."),
    ),
    Outcome.THROTTLED: (
        noop("Reddit returned HTTP 429: too many requests."),
        noop("No action is needed. Requests continue after the pause."),
    ),
    Outcome.UPSTREAM: (
        noop("Reddit returned HTTP 5xx to the last requests."),
        noop("No action is needed. Watchbook retries automatically."),
    ),
    Outcome.UNREACHABLE: (
        noop("Watchbook could not connect to Reddit."),
        noop("Check the network connection of this server."),
    ),
    Outcome.GARBAGE: (
        noop("Reddit returned responses that Watchbook cannot read."),
        noop("Watchbook retries automatically. If this continues, update Watchbook."),
    ),
}
BLOCKED = (Outcome.AUTH, Outcome.WALL, Outcome.THROTTLED)


def reason_of(outcome: str) -> Sentence:
    return Sentence(REASONS.get(outcome, REASONS[Outcome.GARBAGE])[0])


def remedy_of(outcome: str) -> Sentence:
    return Sentence(REASONS.get(outcome, REASONS[Outcome.GARBAGE])[1])


def health(user: User | None = None) -> Health:
    """Return the health of all communities; it is the same for every user. Two queries."""
    now = clock.now()
    return of_rows(rows(now), outages.current(), now)


def items(user: User | None = None) -> list[HealthItem]:
    """Return the health of each community. Three queries."""
    now, outage = clock.now(), outages.current()
    comments = {row.community_name: row for row in CommentListing.objects.all()}
    return [
        HealthItem(
            str(each),
            _("Community"),
            community_health(each, outage, now, comments.get(each.community_name)),
            try_url=f"{records.community_path(each.community_name)}visit/",
        )
        for each in CommunityCache.objects.order_by("community_name")
    ]


# Outcomes of a service that fails: they say nothing about the access before an outage begins.
_OTHER = (Outcome.BUSY, Outcome.THROTTLED, Outcome.UPSTREAM, Outcome.UNREACHABLE, Outcome.GARBAGE)


def last_access(after: datetime | None) -> Use | None:
    """The last crawl to which Reddit answered, or the open outage. For the settings page."""
    if not options.is_live():
        return None
    rows = Crawl.objects.exclude(outcome__in=_OTHER)
    good = ~Q(outcome__in=[Outcome.AUTH, Outcome.WALL])
    use = last_use(rows, "crawled_at", good, after=after, answer=lambda crawl: str(reason_of(crawl.outcome)))
    outage = outages.current()
    if outage is None or (after and outage.last_failure_at < after):
        return use
    success_at = None if use is None else use.at if use.is_ok else use.other_at
    reason = str(reason_of(outage.outcome))
    return Use(False, outage.last_failure_at, outage.since, reason, other_at=success_at)


def community_health(
    each: CommunityCache, outage: Outage | None, now: datetime, comments: CommentListing | None = None
) -> Health:
    """Return the health of one community with its comments. An outage of Reddit concerns every active one."""
    seen: dict[str, Any] = {
        "last_success_at": each.last_crawled_at,
        "next_try_at": each.next_due,
        "url": records.community_path(each.community_name),
    }
    if not each.is_active or not options.is_live():
        state = states.PAUSED if each.last_crawled_at else states.NEVER
        return Health(
            state, **{**seen, "next_try_at": None}, remedy=_(each.inactive_reason) if each.inactive_reason else ""
        )
    if outage is not None:
        return _in_outage(outage, seen)
    if each.failures_in_row:
        return _failed(each, seen)
    if each.last_crawled_at is None:
        return Health(states.NEVER, **seen)
    if each.last_outcome == Outcome.SUSPICIOUS_EMPTY:
        return Health(
            states.UNCONFIRMED, reason=_(EMPTY), remedy=_(EMPTY_REMEDY), last_failure_at=each.updated_at, **seen
        )
    if each.next_due < now - LATE_AFTER:
        return Health(states.LATE, reason=_("The crawl was due and did not run."), remedy=_(CHECK_WORKER), **seen)
    if each.possible_gap:
        return Health(states.INCOMPLETE, reason=_("Posts may be missing."), remedy=_(GAP_REMEDY), **seen)
    return _comments_health(comments, now, seen)


def _comments_health(comments: CommentListing | None, now: datetime, seen: dict[str, Any]) -> Health:
    """Return the health of comments, where posts are healthy."""
    if comments is None or not _is_on(comments):
        return Health(states.HEALTHY, **seen)
    if comments.failures_in_row:
        cause = str(reason_of(comments.last_outcome))
        text = _("The last crawl of comments failed: %(cause)s") % {"cause": cause}
        failed: dict[str, Any] = {"last_failure_at": comments.updated_at, "last_failure": cause}
        state = states.FAILING if comments.failures_in_row < ERROR_AFTER else states.ERROR
        return Health(state, reason=text, remedy=str(remedy_of(comments.last_outcome)), **failed, **seen)
    if comments.next_due < now - LATE_AFTER:
        reason = _("The crawl of comments was due and did not run.")
        return Health(states.LATE, reason=reason, remedy=_(CHECK_WORKER), **seen)
    if comments.possible_gap:
        return Health(states.INCOMPLETE, reason=_("Comments may be missing."), remedy=_(GAP_REMEDY), **seen)
    return Health(states.HEALTHY, **seen)


def _is_on(comments: CommentListing) -> bool:
    return options.COMMENTS.value if comments.is_on is None else comments.is_on


def _failed(each: CommunityCache, seen: dict[str, Any]) -> Health:
    """Return the health of a community whose last crawls failed while Reddit itself responds."""
    cause, remedy, n = _cause(each), remedy_of(each.last_outcome), each.failures_in_row
    if each.last_outcome in REFUSALS:
        remedy = Sentence(REFUSED_REMEDY)
    text = ngettext("The last crawl failed: %(cause)s", "The last %(n)s crawls failed: %(cause)s", n)
    return Health(
        states.FAILING if n < ERROR_AFTER else states.ERROR,
        reason=text % {"n": n, "cause": cause},
        remedy=str(remedy),
        last_failure_at=each.updated_at,
        last_failure=cause,
        **seen,
    )


def _cause(each: CommunityCache) -> str:
    if each.last_outcome in REFUSALS:
        return _("Reddit refuses this community: %(outcome)s.") % {"outcome": each.get_last_outcome_display()}
    return str(reason_of(each.last_outcome))


def rows(now: datetime) -> dict[str, object]:
    """Return the figures of the communities that health and home card need. One query."""
    active = Q(is_active=True)
    on = Q(comment_listing__is_on=True)
    if options.COMMENTS.value:
        on |= Q(comment_listing__is_on=None)
    return CommunityCache.objects.aggregate(
        total=Count("pk"),
        active=Count("pk", filter=active),
        overdue=Count("pk", filter=active & Q(next_due__lt=now - LATE_AFTER)),
        gaps=Count("pk", filter=active & Q(possible_gap=True)),
        comment_gaps=Count("pk", filter=active & on & Q(comment_listing__possible_gap=True)),
        comment_failures=Count("pk", filter=active & on & Q(comment_listing__failures_in_row__gt=0)),
        unconfirmed=Count("pk", filter=active & Q(last_outcome=Outcome.SUSPICIOUS_EMPTY, failures_in_row=0)),
        failing=Count("pk", filter=active & Q(failures_in_row__gt=0)),
        failed_at=Max("updated_at", filter=active & Q(failures_in_row__gt=0)),
        last_at=Max("last_crawled_at"),
        next_at=Min("next_due", filter=active),
    )


def of_rows(found: dict[str, object], outage: Outage | None, now: datetime) -> Health:
    """Return the health for these figures. The most serious state wins."""
    seen = {"last_success_at": found["last_at"], "next_try_at": found["next_at"], "url": records.HOME}
    if not options.is_live() or not found["active"]:
        return Health(states.PAUSED if found["last_at"] else states.NEVER, **{**seen, "next_try_at": None})  # type: ignore[arg-type]
    if outage is not None:
        return _in_outage(outage, seen)
    if found["last_at"] is None and not found["failing"]:
        return Health(states.NEVER, **seen)  # type: ignore[arg-type]
    state, reason, remedy, cause = _state(found)
    failed = {"last_failure_at": found["failed_at"], "last_failure": cause} if cause else {}
    return Health(state, reason=reason, remedy=remedy, **failed, **seen)  # type: ignore[arg-type]


def _in_outage(outage: Outage, seen: dict[str, object]) -> Health:
    return Health(
        states.BLOCKED if outage.outcome in BLOCKED else states.ERROR,
        reason=str(reason_of(outage.outcome)),
        remedy=str(remedy_of(outage.outcome)),
        last_failure_at=outage.last_failure_at,
        last_failure=str(reason_of(outage.outcome)),
        detail=outage.detail,
        **{**seen, "next_try_at": outage.retry_at},  # type: ignore[arg-type]
    )


def _failing_named(count: int) -> tuple[str, str, str]:
    """Return reason, remedy and cause: the community with the most failures is named, the others are counted."""
    rows = CommunityCache.objects.active().filter(failures_in_row__gt=0)
    each = rows.order_by("-failures_in_row", "community_name").first()
    if each is None:  # a crawl succeeded since the figures were counted
        return _(NO_LONGER), "", ""
    own = _failed(each, {})
    more = ngettext(" (+ %(n)s more community)", " (+ %(n)s more communities)", count - 1) % {"n": count - 1}
    return f"{each}: {own.reason}{more if count > 1 else ''}", own.remedy, own.last_failure


def _state(found: dict[str, object]) -> tuple[str, str, str, str]:
    """Return state, reason, remedy and cause of the last failure without an outage."""
    names = ("active", "failing", "unconfirmed", "overdue", "gaps", "comment_gaps", "comment_failures")
    numbers = {name: int(str(found[name] or 0)) for name in names}
    if numbers["failing"]:
        is_all = numbers["failing"] == numbers["active"]
        return states.ERROR if is_all else states.FAILING, *_failing_named(numbers["failing"])
    if numbers["unconfirmed"]:
        return states.UNCONFIRMED, _(EMPTY), _(EMPTY_REMEDY), ""
    if numbers["overdue"]:
        n = numbers["overdue"]
        text = ngettext("%(n)s community is late.", "%(n)s communities are late.", n) % {"n": n}
        return states.LATE, text, _(CHECK_WORKER), ""
    if numbers["gaps"]:
        n = numbers["gaps"]
        text = ngettext("Posts of %(n)s community may be missing.", "Posts of %(n)s communities may be missing.", n) % {
            "n": n
        }
        return states.INCOMPLETE, text, _(GAP_REMEDY), ""
    return _state_of_comments(numbers["comment_failures"], numbers["comment_gaps"])


def _state_of_comments(failing: int, gaps: int) -> tuple[str, str, str, str]:
    """Return state, reason, remedy and cause of comments, where all posts are healthy."""
    if failing:
        text = ngettext(
            "The last crawl of comments failed for %(n)s community.",
            "The last crawl of comments failed for %(n)s communities.",
            failing,
        ) % {"n": failing}
        return states.FAILING, text, _("No action is needed. Watchbook retries automatically."), ""
    if gaps:
        text = ngettext(
            "Comments of %(n)s community may be missing.", "Comments of %(n)s communities may be missing.", gaps
        )
        return states.INCOMPLETE, text % {"n": gaps}, _(GAP_REMEDY), ""
    return states.HEALTHY, "", "", ""
