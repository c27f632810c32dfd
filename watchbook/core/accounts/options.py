"""What an operator may set about people."""

from __future__ import annotations

from watchbook.base.env import Option, text

SIGNUP = Option(
    "WATCHBOOK_SIGNUP", text, default="open", choices=("open", "closed", "first"),
    help="Who may sign up: everybody, nobody, or only the first person, who becomes the operator.",
)  # fmt: skip
