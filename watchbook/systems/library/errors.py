"""Errors of the library. Each is a Problem of the API with its status; pages show the same message.

Problem
├─ NotFound           404   does not exist, or the user is not a member
├─ NotAllowed         403   the role is too low
├─ Conflict           409
│  ├─ Hierarchy       409   `hierarchy`: this child is not allowed below this parent
│  ├─ Cycle           409   `cycle`: a page would be below itself
│  ├─ VersionConflict 409   `version_conflict`: someone else saved; details hold both texts and their base
│  ├─ NoAllowedParent 409   `no_legal_place`: choose one of the listed folders
│  ├─ JobConflict     409   `job_active` and others: see the job first
│  └─ Archived        409   `archived`: unarchive the space or workspace first
├─ Wrong              422   a value cannot be used; details name the field
│  └─ NoAccount       422   no such user: invite the address instead
├─ TooMany            429   too many web pages in a short time
└─ OtherChannel       423   another deployment owns the workspace, or the owner is unknown
"""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from watchbook.core.api.errors import Conflict, Invalid, Locked, NotAllowed, NotFound, Problem, TooMany

__all__ = [
    "Archived",
    "Conflict",
    "Cycle",
    "Hierarchy",
    "JobConflict",
    "NoAccount",
    "NoAllowedParent",
    "NotAllowed",
    "NotFound",
    "OtherChannel",
    "Problem",
    "TooMany",
    "VersionConflict",
    "Wrong",
]


class Hierarchy(Conflict):
    code = "hierarchy"

    @classmethod
    def default_message(cls) -> str:
        return _("Not allowed here: the top level holds only folders, and pages can hold only pages.")


class Cycle(Conflict):
    code = "cycle"

    @classmethod
    def default_message(cls) -> str:
        return _("A page cannot be moved below itself.")


class VersionConflict(Conflict):
    code = "version_conflict"

    @classmethod
    def default_message(cls) -> str:
        return _("Someone else saved this page. Compare both versions, then save again.")


class NoAllowedParent(Conflict):
    code = "no_legal_place"

    @classmethod
    def default_message(cls) -> str:
        return _("The original folder no longer exists. Choose another folder.")


class JobConflict(Conflict):
    code = "job_active"

    @classmethod
    def default_message(cls) -> str:
        return _("A folder migration is running in this space. Wait until it finishes, or cancel it.")


class Archived(Conflict):
    code = "archived"

    @classmethod
    def default_message(cls) -> str:
        return _("This is archived and read-only. An owner can unarchive it.")


class Wrong(Invalid):
    """One field has a value that cannot be used."""

    def __init__(self, field: str, message: str, *, code: str = "") -> None:
        details: list[dict[str, Any]] = [{"field": field, "message": message}]
        super().__init__(message, code=code, details=details)
        self.field = field


class NoAccount(Wrong):
    """There is no active account with this address or id."""


class OtherChannel(Locked):
    @classmethod
    def default_message(cls) -> str:
        return _("Another release channel owns this workspace. It is read-only here.")
