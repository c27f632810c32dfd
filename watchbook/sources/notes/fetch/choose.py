"""Which adapter the operator has switched on."""

from __future__ import annotations

from collections.abc import Callable

from django.utils.translation import gettext_noop

from watchbook.base.web.address import check_url, is_trusted
from watchbook.base.web.errors import Refused
from watchbook.sources.notes import options
from watchbook.sources.notes.errors import Trouble
from watchbook.sources.notes.fetch.page import Page
from watchbook.sources.notes.fetch.remote import Remote
from watchbook.sources.notes.fetch.standin import StandIn
from watchbook.sources.notes.fetch.visit import Adapter
from watchbook.sources.notes.rules import Code

NONE = gettext_noop("No adapter is switched on. Set NOTES_ADAPTER.")
NOT_CONFIRMED = gettext_noop("This adapter reads a live platform. Read its terms, then set NOTES_TERMS_CONFIRMED.")
NOT_A_STANDIN = gettext_noop("NOTES_STANDIN_URL must be named in WATCHBOOK_TRUSTED_HOSTS.")
NO_ADDRESS = gettext_noop("The adapter has no address to ask.")


def adapter_name() -> str:
    return options.ADAPTER.value


def adapter() -> Adapter:
    """Raises Trouble with a sentence for the operator when there is none that may be used."""
    name = adapter_name()
    if not name:
        raise _not_ready(NONE)
    if name != "standin" and not options.TERMS_CONFIRMED.value:
        raise _not_ready(NOT_CONFIRMED)
    kinds: dict[str, Callable[[], Adapter]] = {"standin": StandIn, "page": Page, "remote": Remote}
    made = kinds[name]()
    if not made.base_url:
        raise _not_ready(NO_ADDRESS)
    if name == "standin" and not _is_our_own(made.base_url):
        raise _not_ready(NOT_A_STANDIN)
    return made


def _is_our_own(url: str) -> bool:
    """The stand-in skips the terms, so it may only be a door that the operator named as trusted."""
    try:
        place = check_url(url)
    except Refused:
        return False
    return is_trusted(place.host, place.port)


def _not_ready(message: str) -> Trouble:
    return Trouble(Code.PLATFORM_ERROR, message, reason="no_adapter", retryable=False)
