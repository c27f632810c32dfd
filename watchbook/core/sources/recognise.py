"""Asks the recognisers of all systems: what a text is, what can be watched there, and adds what was chosen."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from django.core import signing
from django.utils.translation import gettext as _

from watchbook.base.web.address import check_url, is_trusted
from watchbook.base.web.errors import Refused, WebError
from watchbook.base.work import counted
from watchbook.core import registry
from watchbook.core.accounts import access
from watchbook.core.accounts.models import User
from watchbook.core.notify.models import NotificationChannel
from watchbook.core.sources import records
from watchbook.core.sources.records import (
    NOTIFY,
    NOTIFY_DEFAULT,
    Added,
    AddError,
    Choice,
    Found,
    Offer,
    Pasted,
    Refusal,
)

# A preview sends no more requests than this, whatever it finds.
MOST_REQUESTS = 12
PREVIEWS, PREVIEW_SECONDS = 60, 600
PROOF_SALT, PROOF_SECONDS = "sources.offer", 1800


@dataclass(frozen=True)
class Recognised:
    """What a text is: `found`, or a `refusal` with its reason. `others` are further readings of the same text."""

    records: Pasted
    found: Found | None = None
    refusal: Refusal | None = None
    others: tuple[Found, ...] = ()


def recognise(text: str, system: str = "") -> Recognised:
    """Return the most certain reading of a text, or that of one system. Sends no request."""
    given = records.read(text)
    if not given.text:
        return Recognised(given, refusal=Refusal(_("Paste an address or a keyword."), "empty"))
    if refusal := _not_allowed(given):
        return Recognised(given, refusal=refusal)
    readings = _readings(given)
    if system:
        readings.sort(key=lambda one: one.system != system)
    best = readings[0] if readings else Refusal(_("Watchbook does not recognise this text."), "unknown")
    others = tuple(one for one in readings if one is not best and isinstance(one, Found))
    if isinstance(best, Refusal):
        return Recognised(given, refusal=best, others=others)
    return Recognised(given, found=best, others=others)


def _not_allowed(given: Pasted) -> Refusal | None:
    """Refuse other schemes, and addresses that the HTTP client would refuse, before any system sees them."""
    if given.scheme:
        words = _("Only addresses with http:// or https:// can be watched, not %(scheme)s:.")
        return Refusal(words % {"scheme": given.scheme}, "bad_scheme")
    if not given.url:
        return None
    try:
        address = check_url(given.url)
    except Refused as error:
        return Refusal(" ".join((_(error.message), *_advice(error.code))), error.code)
    if "." not in address.host and ":" not in address.host and not is_trusted(address.host, address.port):
        words = _("%(host)s is not a complete host name. Paste the whole address, such as www.example.com.")
        return Refusal(words % {"host": address.host[:100]}, "bad_host")
    return None


def _advice(code: str) -> Iterator[str]:
    """Say what to paste instead of an address that the HTTP client refuses."""
    if code == "private_address":
        yield _("Paste a public address, or ask an operator to allow this host.")
    if code == "bad_host":
        yield _("Paste the whole address, such as www.example.com.")


def _readings(given: Pasted) -> list[Found | Refusal]:
    found: list[Found | Refusal] = []
    for slug, recogniser in registry.recognisers():
        reading: Found | Refusal | None = registry.load(recogniser.read)(given)
        if reading is not None:
            found.append(replace(reading, system=slug))
    return sorted(found, key=lambda one: -one.rank)


def make_offer(user: User, found: Found) -> Offer:
    """Ask the system what can be watched there. Every request is counted and bounded."""
    if not access.allow_use("source-preview", str(user.pk), most=PREVIEWS, seconds=PREVIEW_SECONDS):
        raise AddError(_("Too many checks. Try again in 10 minutes."), "too_many")
    began = time.monotonic()
    with counted(most=MOST_REQUESTS) as count:
        try:
            offer: Offer = registry.load(_recogniser(found.system).offer)(user, found)
        except WebError as error:
            offer = Offer(found.title, problem=_(error.message), why_not=_("Nothing was added."), code=error.code)
    return replace(offer, requests_made=count.requests, seconds=time.monotonic() - began)


def _recogniser(system: str) -> registry.Recogniser:
    for slug, recogniser in registry.recognisers():
        if slug == system:
            return recogniser
    raise AddError(_("Watchbook does not recognise this text."), "unknown")


def sign(user: User, found: Found, offer: Offer) -> str:
    """Return what was found and offered to this user, signed, so that adding requests nothing twice."""
    kept = {
        "user": str(user.pk),
        "found": asdict(found),
        "picks": {
            pick.value: [pick.title, pick.requests, dict(pick.data)] for pick in offer.picks if pick.exists is None
        },
        "ticked": [pick.value for pick in offer.picks if pick.is_ticked and pick.exists is None],
        "frequencies": offer.frequencies,
        "frequency": offer.frequency,
        "notify": offer.notify,
        "can_add": offer.can_add,
        "cost": [offer.limit_per_day, offer.limit_note, offer.cost_note, offer.is_estimate, offer.first_note],
    }
    return signing.dumps(kept, salt=PROOF_SALT, compress=True)


@dataclass(frozen=True)
class SignedPick:
    title: str
    requests: int
    data: Mapping[str, Any]


@dataclass(frozen=True)
class Signed:
    """An offer as it was signed."""

    found: Found
    picks: Mapping[str, SignedPick]
    ticked: tuple[str, ...]
    frequencies: tuple[int, ...]
    frequency: int
    notify: tuple[str, ...]
    can_add: bool
    # limit per day, its sentence, a sentence about the cost, whether it is an estimate, and what happens first
    cost: tuple[int, str, str, bool, str]


def read_proof(user: User, proof: str) -> Signed:
    """Return the signed offer. Raises AddError if it is too old, changed or of another user."""
    try:
        kept = signing.loads(proof, salt=PROOF_SALT, max_age=PROOF_SECONDS)
    except signing.BadSignature:
        kept = {}
    if kept.get("user") != str(user.pk):
        raise AddError(_("The preview has expired. Check the address again."), "expired")
    found = {**kept["found"], "hints": tuple(kept["found"]["hints"])}
    return Signed(
        Found(**found),
        {value: SignedPick(*pick) for value, pick in kept["picks"].items()},
        tuple(kept["ticked"]),
        tuple(kept["frequencies"]),
        kept["frequency"],
        tuple(kept["notify"]),
        kept["can_add"],
        tuple(kept["cost"]),
    )


def add(
    user: User,
    signed: Signed,
    *,
    picks: Sequence[str] | None = None,
    frequency: int | None = None,
    notify: Sequence[str] | None = None,
    channels: Sequence[NotificationChannel] = (),
    name: str = "",
) -> list[Added]:
    """Add what was chosen; what is not given is taken as offered. Raises AddError if nothing was added."""
    if not signed.can_add:
        raise AddError(_("There is nothing to add here. Check the address again."), "invalid")
    chosen = signed.ticked if picks is None else tuple(dict.fromkeys(picks))
    if unknown := [value for value in chosen if value not in signed.picks]:
        raise AddError(_("%(value)s is not one of the choices.") % {"value": unknown[0][:200]}, "invalid")
    if not chosen:
        raise AddError(_("Choose what to watch."), "invalid")
    minutes = signed.frequency if frequency is None else frequency
    if signed.frequencies and not min(signed.frequencies) <= minutes <= max(signed.frequencies):
        words = _("Choose a frequency from %(least)s to %(most)s minutes.")
        raise AddError(words % {"least": min(signed.frequencies), "most": max(signed.frequencies)}, "invalid")
    kinds = _kinds(signed, notify)
    choice = Choice({value: signed.picks[value].data for value in chosen}, minutes, kinds, channels, name)
    made: list[Added] = registry.load(_recogniser(signed.found.system).add)(user, signed.found, choice)
    return made


def _kinds(signed: Signed, notify: Sequence[str] | None) -> tuple[str, ...]:
    if notify is None:
        return tuple(kind for kind in signed.notify if kind in NOTIFY_DEFAULT)
    if unknown := [kind for kind in notify if kind not in NOTIFY]:
        raise AddError(_("%(value)s is not one of the choices.") % {"value": unknown[0][:200]}, "invalid")
    return tuple(kind for kind in signed.notify if kind in notify)


def requests_per_day(signed: Signed, picks: Sequence[str], minutes: int) -> int:
    """Return the requests per day of these picks at this frequency."""
    requests = sum(signed.picks[value].requests for value in picks if value in signed.picks)
    return round(requests * 1440 / minutes) if minutes else 0
