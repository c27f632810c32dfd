"""Options of invitations."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from watchbook.base.env import Option, text

INVITATIONS = Option(
    "WATCHBOOK_INVITATIONS", text, default="members", choices=("members", "operators"),
    group="address", title=_("Who may invite"),
    help=_("Who may invite people without an account: operators, or also members to what they manage (members)."),
)  # fmt: skip
