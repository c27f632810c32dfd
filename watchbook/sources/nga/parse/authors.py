"""Who wrote it: names of users, anonymous slots, ids that are none."""

from __future__ import annotations

from typing import Any

from watchbook.sources.nga.parse import values
from watchbook.sources.nga.parse.anonymous import display_name

# What the site prints for nobody in particular.
_NOBODY = {"#ANONYMOUS#", "#SYSTEM#"}


def author_of_row(name: Any, uid: Any) -> tuple[str, int | None]:
    """Name and user id of a list row; an anonymous one repeats its token as the id."""
    shown, number = values.text(name), values.whole(uid)
    return display_name("" if shown in _NOBODY else shown), number if number > 0 else None


class Authors:
    """The users of one answer. Negative ids are slots of this answer alone; their token is the identity."""

    def __init__(self, users: Any) -> None:
        self._users = values.mapping(users)
        self._known: dict[int, tuple[str, int | None]] = {}

    def of(self, uid: Any) -> tuple[str, int | None]:
        number = values.whole(uid)
        if number not in self._known:
            self._known[number] = self._read(number)
        return self._known[number]

    def _read(self, number: int) -> tuple[str, int | None]:
        user = self._users.get(str(number))
        name = display_name(values.text(values.mapping(user).get("username")))
        if number > 0:
            return name or f"UID{number}", number
        return name, None
