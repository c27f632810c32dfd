"""Settings of notifications."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _

from watchbook.base.env import Option, integer, switch, text

THREADS = Option(
    "WATCHBOOK_DELIVERY_THREADS", integer, default=8, minimum=1, maximum=64,
    help="Number of channels that are served at the same time.",
)  # fmt: skip
LEASE_SECONDS = Option(
    "WATCHBOOK_DELIVERY_LEASE_SECONDS", integer, default=180, minimum=1, maximum=3600,
    help="Seconds after which another process may take over a delivery. Longer than the slowest mail server needs.",
)  # fmt: skip
KEEP_DAYS = Option(
    "WATCHBOOK_DELIVERY_HISTORY_DAYS", integer, default=30, minimum=1,
    group="retention", title=_("Delivery log, days"),
    help=_("Days to keep finished deliveries in the delivery log."),
)  # fmt: skip
EMAIL_HOST = Option(
    "EMAIL_HOST",
    text,
    default="",
    group="mail",
    title=_("Server"),
    help=_("Mail server. Empty: Watchbook writes e-mails to the log."),
)
EMAIL_PORT = Option(
    "EMAIL_PORT",
    integer,
    default=25,
    minimum=1,
    maximum=65535,
    group="mail",
    title=_("Port"),
    help=_("Usually 587 with STARTTLS and 465 with TLS."),
)
EMAIL_HOST_USER = Option(
    "EMAIL_HOST_USER",
    text,
    default="",
    group="mail",
    title=_("User name"),
    help=_("User name at the mail server. Empty: no sign-in."),
)
EMAIL_HOST_PASSWORD = Option(
    "EMAIL_HOST_PASSWORD", text, default="", secret=True, group="mail", title=_("Password"),
    help=_("Password at the mail server. Some providers need an app password.")
)  # fmt: skip
EMAIL_USE_TLS = Option(
    "EMAIL_USE_TLS",
    switch,
    default=False,
    group="mail",
    title=_("STARTTLS"),
    help=_("Encrypt after connecting. If the server does not support it, nothing is sent."),
)
EMAIL_USE_SSL = Option(
    "EMAIL_USE_SSL", switch, default=False, group="mail", title=_("TLS"), help=_("Encrypt the whole connection.")
)
DEFAULT_FROM_EMAIL = Option(
    "DEFAULT_FROM_EMAIL", text, default="Watchbook <watchbook@localhost>", group="mail", title=_("Sender"),
    help=_("Sender of e-mails, such as Watchbook <watchbook@example.com>.")
)  # fmt: skip
DIGEST_HOUR = Option(
    "WATCHBOOK_DIGEST_HOUR", integer, default=8, minimum=0, maximum=23,
    group="mail", title=_("Hour of daily digests"),
    help=_("Hour at which daily digests are sent, in the time zone of the user."),
)  # fmt: skip


def mail_settings() -> dict[str, Any]:
    """Return the settings of Django that follow from the mail server."""
    kind = "smtp" if EMAIL_HOST.value else "console"
    return {
        "EMAIL_BACKEND": f"django.core.mail.backends.{kind}.EmailBackend",
        "EMAIL_HOST": EMAIL_HOST.value,
        "EMAIL_PORT": EMAIL_PORT.value,
        "EMAIL_HOST_USER": EMAIL_HOST_USER.value,
        "EMAIL_HOST_PASSWORD": EMAIL_HOST_PASSWORD.value,
        "EMAIL_USE_TLS": EMAIL_USE_TLS.value,
        "EMAIL_USE_SSL": EMAIL_USE_SSL.value,
        "DEFAULT_FROM_EMAIL": DEFAULT_FROM_EMAIL.value,
        "SERVER_EMAIL": DEFAULT_FROM_EMAIL.value,
    }
