"""A small API of made-up endpoints behind the real shell; a URLconf for tests."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.db import OperationalError
from django.http import Http404, HttpRequest
from django.urls import include, path
from ninja import Query, Router, Schema

from watchbook.core.accounts.models import AuditEvent, User
from watchbook.core.api import errors
from watchbook.core.api.auth import scoped, staff
from watchbook.core.api.lists import PageQuery, keyset
from watchbook.core.api.schemas import Answer
from watchbook.core.api.shell import build_api, refuses

router = Router()
own = Router()


class Thing(Schema):
    name: str
    size: int = 0
    more: dict[str, Any] = {}


class Named(Answer):
    """Something with a name."""

    name: str


class OwnRefusal(Answer):
    """How the other system refuses."""

    success: bool
    error: dict[str, str]


@router.get("/who")
def who(request: HttpRequest) -> dict[str, str]:
    return {"email": request.user.email}


@router.post("/things")
def make_thing(request: HttpRequest, thing: Thing) -> dict[str, Any]:
    return {"made": thing.name, "more": thing.more}


@router.get("/staff", auth=staff)
def for_staff(request: HttpRequest) -> dict[str, bool]:
    return {"ok": True}


@router.post("/staff", auth=staff)
def done_by_staff(request: HttpRequest) -> dict[str, bool]:
    return {"ok": True}


@router.post("/notes", auth=scoped("notes"))
def notes(request: HttpRequest) -> dict[str, bool]:
    return {"ok": True}


@router.get("/raise/{what}")
def raise_it(request: HttpRequest, what: str) -> None:
    raise {
        "missing": Http404("secret-path-in-message"),
        "row": User.DoesNotExist(),
        "conflict": errors.Conflict("The page changed.", code="version_conflict", details={"version": 3}),
        "locked": errors.Locked(),
        "model": ValidationError({"name": ["Too long."]}),
        "bug": RuntimeError("secret-in-a-traceback"),
        "full": OperationalError("database or disk is full: secret-in-a-path"),
    }[what]


@router.get("/events")
def events(request: HttpRequest, page: Query[PageQuery]) -> dict[str, Any]:
    return keyset(AuditEvent.objects.all(), page, by="-happened_at", make=lambda row: row.subject)


@router.get("/people")
def people(request: HttpRequest, page: Query[PageQuery]) -> dict[str, Any]:
    return keyset(User.objects.all(), page, by="email", make=lambda row: row.email)


@router.get("/by-id")
def by_id(request: HttpRequest, page: Query[PageQuery]) -> dict[str, Any]:
    return keyset(AuditEvent.objects.all(), page, make=lambda row: row.subject)


@router.get("/named/{extra}", response=Named, openapi_extra=refuses(409))
def named(request: HttpRequest, extra: str) -> dict[str, str]:
    return {"name": "x"} if extra == "no" else {"name": "x", extra: "not declared"}


@own.get("/fail")
def fail(request: HttpRequest) -> None:
    raise errors.Invalid(code="E1")


errors.use_envelope(
    "/api/v1/own/",
    lambda status, code, message, details: {"success": False, "error": {"code": code, "status": status}},
    OwnRefusal,
)

api = build_api()
api.add_router("/v1/desk", router)
api.add_router("/v1/own", own)

urlpatterns = [
    path("", include("watchbook.desk.urls")),
    path("", include("watchbook.core.accounts.urls")),
    path("api/", api.urls),
]
