"""The page Add source: a pasted text, what was found, what can be chosen, the cost, and adding it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from watchbook.base import clock
from watchbook.base.invalid import InvalidInput
from watchbook.core import registry
from watchbook.core.accounts.access import person_of
from watchbook.core.accounts.models import User
from watchbook.core.notify import actions as notify_actions
from watchbook.core.notify.models import NotificationChannel
from watchbook.core.sources import recognise
from watchbook.core.sources.recognise import Recognised, Signed
from watchbook.core.sources.records import CHANGED, LONGEST, NEW, NOTIFY_DEFAULT, REMOVED, Added, AddError, Offer
from watchbook.kit.formatting import span_text

CHECKED = "add_source_text"


@require_http_methods(["GET", "POST"])
def add_source(request: HttpRequest) -> HttpResponse:
    """Show the field; check a text; show the cost of a choice; add what was chosen. Only POST sends requests."""
    if request.method == "GET":
        text = request.GET.get("q", "")[:LONGEST]
        # Back from adding a channel: the text that this session checked before is checked again without a click.
        return _show(request, {"text": text, "is_again": bool(text) and text == request.session.get(CHECKED)})
    step = request.POST.get("step", "check")
    if step == "check":
        return _check(request)
    try:
        signed = recognise.read_proof(person_of(request), request.POST.get("proof", ""))
        if step == "cost":
            return render(request, "sources/_cost.html", {"cost": _cost_of(request, signed)})
        made = _add(request, signed)
    except AddError as error:
        return _check(request, error)
    words = ngettext("%(name)s added. The first check starts now.", "%(n)s sources added.", len(made))
    messages.success(request, words % {"name": made[0].title, "n": len(made)})
    return _redirect(request, made[0].url)


def _check(request: HttpRequest, error: AddError | None = None) -> HttpResponse:
    """Recognise the text and make an offer. After a refused addition the offer is made again, with the reason."""
    text = request.POST.get("text", "")[:LONGEST]
    context: dict[str, Any] = {"text": text, "error": error}
    request.session[CHECKED] = text
    context["again_url"] = f"{reverse('add_source')}?{urlencode({'q': text})}"
    found = recognise.recognise(text, request.POST.get("system", "")[:40])
    context["recognised"] = found
    if found.found is not None:
        try:
            offer = recognise.make_offer(person_of(request), found.found)
        except AddError as refused:
            context["error"] = refused
        else:
            context |= _offered(request, found, offer, is_again=error is not None)
    is_refused = bool(context["error"] or found.refusal) and not getattr(request, "htmx", False)
    return _show(request, context, status=422 if is_refused else 200)


def _offered(request: HttpRequest, found: Recognised, offer: Offer, *, is_again: bool) -> dict[str, Any]:
    user = person_of(request)
    assert found.found is not None
    proof = recognise.sign(user, found.found, offer)
    signed = recognise.read_proof(user, proof)
    channels = list(NotificationChannel.objects.of(user).order_by("name", "pk"))
    return {
        "offer": offer,
        "proof": proof,
        "checked_at": clock.now(),
        "picks": [(pick, pick.per_day(offer.frequency)) for pick in offer.picks],
        "frequencies": [(minutes, span_text(minutes * 60)) for minutes in offer.frequencies],
        "kinds": [(*kind, kind[0] in NOTIFY_DEFAULT) for kind in _kinds() if kind[0] in offer.notify],
        "channels": channels if offer.notify else [],
        "cost": _cost_of(request, signed) if is_again else _cost(signed, signed.ticked, signed.frequency),
    }


def _kinds() -> list[tuple[str, str, str]]:
    return [
        (NEW, _("New"), _("Pages and items that appear from now on")),
        (CHANGED, _("Changed"), _("A new date or text; what changes at every check is skipped")),
        (REMOVED, _("Removed"), _("A large removal counts after 2 checks agree")),
    ]


@dataclass(frozen=True)
class Cost:
    """Requests per day of a choice: one row per pick, and the limit of the source if it has one."""

    rows: list[tuple[str, int]]
    total: int
    limit: int = 0
    limit_note: str = ""
    note: str = ""
    is_estimate: bool = False
    first_note: str = ""


def _cost(signed: Signed, picks: Sequence[str], minutes: int) -> Cost:
    rows = [(value, recognise.requests_per_day(signed, [value], minutes)) for value in picks if value in signed.picks]
    return Cost(
        [(signed.picks[value].title, count) for value, count in rows],
        sum(count for _value, count in rows),
        *signed.cost,
    )


def _cost_of(request: HttpRequest, signed: Signed) -> Cost:
    return _cost(signed, request.POST.getlist("pick"), _minutes(request, signed))


def _minutes(request: HttpRequest, signed: Signed) -> int:
    given = request.POST.get("frequency", "")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 6 else signed.frequency


def _add(request: HttpRequest, signed: Signed) -> list[Added]:
    user = person_of(request)
    return recognise.add(
        user,
        signed,
        picks=request.POST.getlist("pick"),
        frequency=_minutes(request, signed),
        notify=request.POST.getlist("notify"),
        channels=own_channels(user, request.POST.getlist("channel")),
    )


def own_channels(user: User, ids: Sequence[UUID | str]) -> list[NotificationChannel]:
    try:
        return notify_actions.own_channels(user, ids)
    except InvalidInput as error:
        raise AddError(error.message, "invalid") from None


def _redirect(request: HttpRequest, address: str) -> HttpResponse:
    if getattr(request, "htmx", False):
        return HttpResponse(status=204, headers={"HX-Redirect": address})
    return redirect(address)


def _show(request: HttpRequest, context: dict[str, Any], status: int = 200) -> HttpResponse:
    examples = [(slug, one) for slug, recogniser in registry.recognisers() for one in recogniser.examples]
    return render(request, "sources/add.html", {"examples": examples, "now": clock.now(), **context}, status=status)
