"""The one refusal of a value: actions raise it; forms, API and commands show it.

    raise InvalidInput("name", _("Enter a name."))

- A form: `error.add_to(form)` puts the message at the field, or above the form if it has no such field.
- The API answers 422, or 409 for a conflict: {"error": {"code", "message", "details": [{"field", "message"}]}}.
- A command inside `terminal.failing_as` prints the message and ends with exit code 1.
"""

from __future__ import annotations

from typing import Any, Protocol


class Form(Protocol):
    """What of a Django form is used."""

    fields: Any

    def add_error(self, field: str | None, error: Any) -> None: ...


class InvalidInput(Exception):
    """A value is not valid: `field` names it, `message` gives the remedy, `code` is for programs.

    `is_conflict`: the value is valid, but not in the current state, such as a name that is already used.
    """

    def __init__(self, field: str, message: str, code: str = "invalid", *, is_conflict: bool = False) -> None:
        super().__init__(message)
        self.field = field
        self.message = message
        self.code = code
        self.is_conflict = is_conflict

    @property
    def details(self) -> list[dict[str, str]]:
        return [{"field": self.field, "message": self.message}]

    def add_to(self, form: Form) -> None:
        form.add_error(self.field if self.field in form.fields else None, self.message)
