"""How the library refuses. Every kind is a Problem of the API with its status; pages show the same sentence.

Problem
├─ NotFound          404    not there, or not for somebody who is not a member
├─ NotAllowed        403    the role is too low
├─ Conflict          409
│  ├─ Hierarchy      409    `hierarchy`: the matrix does not allow this child here
│  ├─ Cycle          409    `cycle`: a page would be below itself
│  ├─ VersionConflict 409   `version_conflict`: somebody saved meanwhile; details hold both texts
│  ├─ NoLegalPlace   409    `no_legal_place`: choose one of the offered folders
│  ├─ JobConflict    409    `job_active` and the like: see the job first
│  └─ Archived       409    `archived`: bring the space or workspace back first
├─ Wrong             422    a value cannot be used; details name the field
└─ WrongChannel      423    another deployment owns the workspace, or it is not known who does
"""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from watchbook.core.api.errors import Conflict, Invalid, Locked, NotAllowed, NotFound, Problem

__all__ = [
    "Archived",
    "Conflict",
    "Cycle",
    "Hierarchy",
    "JobConflict",
    "NoLegalPlace",
    "NotAllowed",
    "NotFound",
    "Problem",
    "VersionConflict",
    "Wrong",
    "WrongChannel",
]


class Hierarchy(Conflict):
    code = "hierarchy"

    @classmethod
    def default_message(cls) -> str:
        return _("This cannot stand here: the top level holds folders, and a file holds only files.")


class Cycle(Conflict):
    code = "cycle"

    @classmethod
    def default_message(cls) -> str:
        return _("A page cannot be moved below itself.")


class VersionConflict(Conflict):
    code = "version_conflict"

    @classmethod
    def default_message(cls) -> str:
        return _("Somebody saved this page meanwhile. Compare both texts and save again.")


class NoLegalPlace(Conflict):
    code = "no_legal_place"

    @classmethod
    def default_message(cls) -> str:
        return _("The place it came from is gone. Choose a folder for it.")


class JobConflict(Conflict):
    code = "job_active"

    @classmethod
    def default_message(cls) -> str:
        return _("A migration of this space is at work. Wait for it, or cancel it first.")


class Archived(Conflict):
    code = "archived"

    @classmethod
    def default_message(cls) -> str:
        return _("This is archived. It can be read, not changed; an owner can bring it back.")


class Wrong(Invalid):
    """One field is not right."""

    def __init__(self, field: str, message: str, *, code: str = "") -> None:
        details: list[dict[str, Any]] = [{"field": field, "message": message}]
        super().__init__(message, code=code, details=details)
        self.field = field


class WrongChannel(Locked):
    @classmethod
    def default_message(cls) -> str:
        return _("Another release channel owns this workspace. It can be read here, not changed.")
