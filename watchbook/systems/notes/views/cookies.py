"""Cookie pool pages for operators: states, uses, keys, the breaker. A cookie is never displayed after it was added."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib import messages
from django.db.models import Count, Min, Sum
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext_lazy
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_POST

from watchbook.base import clock
from watchbook.core.accounts.access import person_of, staff_required
from watchbook.core.accounts.models import User
from watchbook.core.registry import Step
from watchbook.kit import badges
from watchbook.kit.badges import Badge
from watchbook.kit.paging import keyset
from watchbook.systems.notes import actions, encryption, fetch, options
from watchbook.systems.notes.access import work_required
from watchbook.systems.notes.forms import CookieForm, LimitsForm, ReplaceForm, add_form_error
from watchbook.systems.notes.models import Breaker, Cookie, CookieLease, CookieStatus, under_limit
from watchbook.systems.notes.rules import (
    COOL,
    COUNTED,
    DEAD,
    HEAVY,
    LOCK_TIMEOUT_MINUTES,
    MAX_CONSECUTIVE_ERRORS,
    MAX_TOTAL_ERRORS,
    NotesError,
)
from watchbook.systems.notes.store.pool import STATE_COLUMNS, CookieState, end_cooling, today
from watchbook.systems.notes.views import head, reason_text, top_url

CIPHERS = {"v2": "AES-256-GCM", "v1": "Fernet, AES-128"}


@dataclass(frozen=True)
class Uses:
    """`open_count` leases are out at this moment; the rest is of the last hour."""

    open_count: int = 0
    reserved: int = 0
    since: datetime | None = None
    succeeded: int = 0
    failed: int = 0

    @property
    def rate(self) -> int | None:
        """Of a hundred reads so many were answered; none without reads."""
        asked = self.succeeded + self.failed
        return round(100 * self.succeeded / asked) if asked else None


class Line:
    """One cookie, with what time alone has changed about it taken into account."""

    def __init__(self, row: Cookie, now: datetime, uses: Uses) -> None:
        self.row = row
        self.uses = uses
        self.state = end_cooling(CookieState(**{name: getattr(row, name) for name in STATE_COLUMNS}), now)
        # The count of another day is not today's.
        self.used = row.daily_used if row.daily_date == today(now) else 0

    @property
    def badge(self) -> Badge:
        return badges.find("cookie", self.state.status)

    @property
    def is_cooling(self) -> bool:
        return self.state.status == CookieStatus.COOLING

    @property
    def left(self) -> int:
        return max(self.row.daily_limit - self.used, 0)

    @property
    def bar(self) -> str:
        if not self.row.is_enabled or self.state.status in {CookieStatus.INVALID, CookieStatus.BANNED}:
            return "bar--off"
        return "bar--warn" if self.is_cooling or not self.left else ""

    @property
    def errors(self) -> dict[str, int]:
        return {
            "row": self.state.consecutive_errors,
            "most_in_a_row": MAX_CONSECUTIVE_ERRORS,
            "total": self.state.total_errors,
            "most": MAX_TOTAL_ERRORS,
        }

    @property
    def error(self) -> str:
        row = self.row
        return reason_text(row.last_error_code, row.last_error_reason) if row.last_error_code else ""


def lines_of(rows: list[Cookie], now: datetime) -> list[Line]:
    """Two queries for any number of cookies."""
    uses = _uses([row.pk for row in rows], now)
    return [Line(row, now, uses.get(row.pk, Uses())) for row in rows]


def _uses(keys: list[int], now: datetime) -> dict[int, Uses]:
    leases = CookieLease.objects.filter(cookie_id__in=keys).order_by().values("cookie_id")
    # A lease that a crash left open is not out any more after the time of a lock.
    out = leases.filter(ended_at=None, leased_at__gte=now - timedelta(minutes=LOCK_TIMEOUT_MINUTES))
    late = leases.filter(leased_at__gte=now - timedelta(hours=1), ended_at__isnull=False)
    found: dict[int, dict[str, Any]] = {key: asdict(Uses()) for key in keys}
    for row in out.annotate(n=Count("pk"), held=Sum("reserved"), first=Min("leased_at")):
        found[row["cookie_id"]] |= {"open_count": row["n"], "reserved": row["held"], "since": row["first"]}
    for row in late.annotate(good=Sum("succeeded"), bad=Sum("failed")):
        found[row["cookie_id"]] |= {"succeeded": row["good"], "failed": row["bad"]}
    return {key: Uses(**values) for key, values in found.items()}


def summary(now: datetime) -> dict[str, Any]:
    """Figures over the whole pool, however long it is: a handful of queries."""
    usable = Cookie.objects.usable(now)
    todays = usable.filter(daily_date=today(now))
    left = usable.aggregate(all=Sum("daily_limit"))["all"] or 0
    # Cookies that were last used on another day have all of their quota.
    used = todays.aggregate(all=Sum("daily_used"))["all"] or 0
    ready = (
        todays.filter(under_limit()).count() + usable.exclude(daily_date=today(now)).filter(daily_limit__gt=0).count()
    )
    cooling = Cookie.objects.enabled().filter(status=CookieStatus.COOLING, cooling_until__gt=now)
    figures = cooling.aggregate(n=Count("pk"), until=Min("cooling_until"))
    out = CookieLease.objects.filter(ended_at=None, leased_at__gte=now - timedelta(minutes=LOCK_TIMEOUT_MINUTES))
    return {
        "all": Cookie.objects.count(),
        "ready": 0 if encryption.unavailable_reason() else ready,
        "cooling": figures["n"],
        "cooling_until": figures["until"],
        "leased": out.count(),
        "left": max(left - used, 0),
        "limit": left,
        "breaker": Breaker.objects.filter(open_until__gt=now).order_by("pk").first(),
        **_keys(),
    }


def _keys() -> dict[str, Any]:
    closed = encryption.unavailable_reason()
    counted = dict(Cookie.objects.order_by().values_list("encryption_key_id").annotate(n=Count("pk")))
    current = "" if closed else encryption.current_key_id()
    known = set() if closed else set(encryption.master_keys())
    return {
        "pool_closed": _(closed) if closed else "",
        "cipher": options.COOKIE_CIPHER.value,
        "cipher_words": CIPHERS[options.COOKIE_CIPHER.value],
        "key_id": current,
        "old_keys": sorted((key, count, key in known) for key, count in counted.items() if key != current),
        "old_count": sum(count for key, count in counted.items() if key != current),
    }


PER_PAGE = 50


@work_required
@require_GET
def cookies(request: HttpRequest) -> HttpResponse:
    return _show(request, CookieForm())


@sensitive_post_parameters("cookie")
@staff_required
@require_POST
def add(request: HttpRequest) -> HttpResponse:
    form = CookieForm(request.POST)
    if form.is_valid():
        name = form.cleaned_data["cookie_name"]
        if Cookie.objects.filter(cookie_name=name).exists():
            form.add_error("cookie_name", _("A cookie with this name is already in the pool. Open it to replace it."))
        else:
            try:
                actions.add_cookie(user=person_of(request), plain=form.cleaned_data.pop("cookie"), **_values(form))
            except NotesError as error:
                add_form_error(form, error)
            else:
                messages.success(request, _("%(name)s was encrypted and added.") % {"name": name})
                return redirect(top_url("cookies"))
    if "cookie" not in form.errors:
        # The field is empty again whatever was wrong, and that has to be said.
        form.add_error("cookie", _("Paste the cookie again. The form does not keep it."))
    return _show(request, form, status=422)


def _values(form: CookieForm) -> dict[str, Any]:
    given = form.cleaned_data
    return {
        "name": given["cookie_name"],
        "priority": given["priority"],
        "daily_limit": given["daily_limit"],
        "user_agent": given["user_agent"],
    }


@staff_required
@require_POST
def rotate(request: HttpRequest) -> HttpResponse:
    try:
        done = actions.rotate_keys(user=person_of(request))
    except NotesError as error:
        messages.error(request, _(error.message))
        return redirect("notes:cookies")
    words = ngettext("%(n)s cookie re-encrypted.", "%(n)s cookies re-encrypted.", done.rotated)
    messages.success(request, words % {"n": done.rotated})
    if done.unknown:
        left = ngettext(
            "The key of %(n)s cookie is missing: %(names)s. The cookie was not changed.",
            "The keys of %(n)s cookies are missing: %(names)s. The cookies were not changed.",
            len(done.unknown),
        )
        messages.warning(request, left % {"n": len(done.unknown), "names": ", ".join(done.unknown[:10])})
    return redirect("notes:cookies")


@staff_required
@require_POST
def close_breaker(request: HttpRequest) -> HttpResponse:
    breaker = Breaker.objects.filter(open_until__isnull=False).order_by("pk").first()
    if breaker is not None and actions.close_breaker(breaker.platform, user=person_of(request)):
        messages.success(request, _("Circuit breaker closed. Requests to the platform continue."))
    else:
        messages.info(request, _("The circuit breaker was already closed."))
    return redirect("notes:cookies")


def _show(request: HttpRequest, form: CookieForm, status: int = 200) -> HttpResponse:
    shown = head(request, "cookies")
    page = keyset(Cookie.objects.all(), request.GET, by="priority", size=PER_PAGE)
    pool = summary(shown["now"])
    breaker = pool["breaker"]
    context = {
        **shown,
        "page": page,
        "lines": lines_of(page.items, shown["now"]),
        "pool": pool,
        "breaker_reason": reason_text("", breaker.reason) if breaker else "",
        "form": form,
    }
    return render(request, "notes/cookies.html", context, status=status)


USES_PER_PAGE = 30
COOKIE_ERRORS = {
    COUNTED: pgettext_lazy("charge", "1 error"),
    COOL: pgettext_lazy("charge", "cooling down"),
    HEAVY: pgettext_lazy("charge", "1 error, cooling down"),
    DEAD: pgettext_lazy("charge", "invalid"),
}


@dataclass(frozen=True)
class Use:
    row: CookieLease

    @property
    def charge(self) -> str:
        return str(COOKIE_ERRORS.get(self.row.charge, self.row.charge))


@work_required
@require_GET
def cookie(request: HttpRequest, pk: int) -> HttpResponse:
    return _show_cookie(request, get_object_or_404(Cookie, pk=pk))


@sensitive_post_parameters("cookie")
@staff_required
@require_POST
def replace(request: HttpRequest, pk: int) -> HttpResponse:
    """A new secret under the same name, with a clean record."""
    row = get_object_or_404(Cookie, pk=pk)
    form = ReplaceForm(request.POST)
    if form.is_valid():
        plain = form.cleaned_data.pop("cookie")
        try:
            actions.add_cookie(row.cookie_name, plain, platform=row.platform, user=person_of(request))
        except NotesError as error:
            add_form_error(form, error)
        else:
            messages.success(request, _("Cookie replaced. Error counters are back to 0."))
            return redirect(top_url("cookie", pk))
    return _show_cookie(request, row, replacing=form, status=422)


@staff_required
@require_POST
def limits(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Cookie, pk=pk)
    form = LimitsForm(request.POST)
    if form.is_valid():
        try:
            actions.change_cookie(row.cookie_name, user=person_of(request), **form.cleaned_data)
        except NotesError as error:
            add_form_error(form, error)
        else:
            messages.success(request, _("Saved."))
            return redirect(top_url("cookie", pk))
    return _show_cookie(request, row, limiting=form, status=422)


@staff_required
@require_POST
def step(request: HttpRequest, pk: int, step: str) -> HttpResponse:
    steps = {"on": _enable, "off": _disable, "reset": _reset, "probe": _probe}
    if step not in steps:
        raise Http404
    row = get_object_or_404(Cookie, pk=pk)
    try:
        steps[step](request, row)
    except NotesError as error:
        messages.error(request, _(error.message))
    return redirect("notes:cookie", pk)


def _enable(request: HttpRequest, row: Cookie) -> None:
    actions.switch_cookie(row.cookie_name, on=True, user=person_of(request))
    messages.success(request, _("Cookie enabled."))


def _disable(request: HttpRequest, row: Cookie) -> None:
    actions.switch_cookie(row.cookie_name, on=False, user=person_of(request))
    messages.success(request, _("Cookie disabled. Its state and counters are kept."))


def _reset(request: HttpRequest, row: Cookie) -> None:
    actions.reset_cookie(row.cookie_name, user=person_of(request))
    messages.success(request, _("Cookie reset. Error counters are back to 0."))


def _probe(request: HttpRequest, row: Cookie) -> None:
    found = actions.probe_cookie(row.cookie_name, user=person_of(request))
    if found["success"]:
        messages.success(request, _("The platform accepted the cookie."))
    else:
        messages.warning(request, reason_text(found["code"], found["reason"]))


def try_adapter(user: User | None) -> Iterator[Step]:
    """Send one request through the adapter with the first cookie that can be used. For the settings page."""
    try:
        fetch.adapter()
        row = Cookie.objects.usable(clock.now()).in_turn().first()
        if row is None:
            yield Step(False, _("No cookie can be used. Add one to the cookie pool."))
            return
        found = actions.probe_cookie(row.cookie_name, user=user)
    except NotesError as error:
        yield Step(False, _(error.message))
        return
    if found["success"]:
        yield Step(True, _("The platform accepted the cookie %(name)s.") % {"name": row.cookie_name})
    else:
        yield Step(False, f"{row.cookie_name}: {reason_text(found['code'], found['reason'])}")


def _show_cookie(
    request: HttpRequest,
    row: Cookie,
    *,
    replacing: ReplaceForm | None = None,
    limiting: LimitsForm | None = None,
    status: int = 200,
) -> HttpResponse:
    shown = head(request, "cookies")
    [line] = lines_of([row], shown["now"])
    page = keyset(CookieLease.objects.filter(cookie=row), request.GET, by="leased_at", size=USES_PER_PAGE)
    start = {name: getattr(row, name) for name in ("priority", "daily_limit", "user_agent")}
    context: dict[str, Any] = {
        **shown,
        "line": line,
        "cookie": row,
        "page": page,
        "uses": [Use(lease) for lease in page],
        "pool_closed": _(encryption.unavailable_reason()) if encryption.unavailable_reason() else "",
        "is_current_key": not encryption.unavailable_reason() and row.encryption_key_id == encryption.current_key_id(),
        "replacing": replacing or ReplaceForm(),
        "limiting": limiting or LimitsForm(initial=start),
    }
    return render(request, "notes/cookie.html", context, status=status)
