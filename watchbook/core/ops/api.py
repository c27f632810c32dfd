"""Endpoints of operations: health of the sources, the same that pages, alerts and probes show, and stored settings."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import field_validator

from watchbook.core import registry
from watchbook.core.accounts.access import person_of
from watchbook.core.accounts.audit import AUDIT
from watchbook.core.accounts.models import AuditEvent
from watchbook.core.api.auth import is_staff_call, staff
from watchbook.core.api.errors import Invalid, NotFound
from watchbook.core.api.lists import MOST, USUAL, DaysQuery, listed
from watchbook.core.api.schemas import Answer, Listing, Mirrored, said
from watchbook.core.health import Health, HealthItem
from watchbook.core.ops import stored
from watchbook.core.ops.health import Group, source_group
from watchbook.core.ops.settings_page import Shown, groups, run_test, shown_groups

router = Router()
SHARED = ("state", "last_success_at", "last_failure_at", "last_failure", "reason", "remedy", "next_try_at", "detail")


class ItemHealth(Answer):
    """Health of one thing that a source watches."""

    title: str
    kind: str
    state: str = said("healthy, paused, never, unconfirmed, incomplete, late, failing, blocked or error.")
    last_success_at: datetime | None = said("When it was last read; null if never.")
    last_failure_at: datetime | None
    last_failure: str = said("Cause of the last failure that is stored, also after a later success.")
    reason: str = said("Why the state is not healthy.")
    remedy: str = said("What to do.")
    next_try_at: datetime | None
    detail: str = said("Short technical text.")
    url: str = said("Page with more details; empty if the thing belongs to another user.")


class SourceHealth(ItemHealth):
    """Health of one source: the state of the worst thing that it watches."""

    source: str = said("Slug of the source.")
    total: int = said("Number of watched things.")
    counts: dict[str, int] = said(
        "Number of watched things that are failing, late, incomplete, never, paused, healthy."
    )


class SourceHealthList(Listing[SourceHealth]):
    """All sources, in one page."""


class SourceHealthDetail(SourceHealth):
    """Health of one source with the things that it watches, worst first."""

    watched: list[ItemHealth]
    left_out: int = said("Watched things beyond `limit`.")


class HealthQuery(Schema):
    """?limit= of watched things. A limit out of bounds is drawn in."""

    limit: int = USUAL

    @field_validator("limit")
    @classmethod
    def _within_bounds(cls, value: int) -> int:
        return min(max(value, 1), MOST)


@router.get("/health", response=SourceHealthList)
def list_health(request: HttpRequest) -> dict[str, Any]:
    """Get the health of all sources. Operators see the whole server, others what they can see themselves."""
    found = (_group(request, source) for source in registry.sources())
    return {"items": [source_out(group) for group in found if group is not None], "next": None}


@router.get("/health/{source}", response=SourceHealthDetail)
def get_health(request: HttpRequest, source: str, query: Query[HealthQuery]) -> dict[str, Any]:
    """Get the health of one source and of each thing that it watches, worst first."""
    try:
        group = _group(request, registry.source(source))
    except LookupError:
        group = None
    if group is None:
        raise NotFound
    shown = group.items[: query.limit]
    more = {"watched": [item_out(item) for item in shown], "left_out": len(group.items) - len(shown)}
    return source_out(group) | more


def _group(request: HttpRequest, source: registry.Source) -> Group | None:
    viewer = person_of(request)
    return source_group(source, viewer, None if is_staff_call(request) else viewer)


def source_out(group: Group) -> dict[str, Any]:
    own = {"source": group.slug, "title": group.title, "kind": "source"}
    return own | _health_out(group.health) | {"total": len(group.items), "counts": group.counts}


def item_out(item: HealthItem) -> dict[str, Any]:
    return {"title": item.title, "kind": item.kind, **_health_out(item.health)}


def _health_out(health: Health) -> dict[str, Any]:
    return {name: getattr(health, name) for name in (*SHARED, "url")}


class SettingOut(Answer):
    """One setting that can be stored. The value of a secret is never returned."""

    name: str
    group: str
    value: str | int | float | bool | list[str] | None = said("Null for a secret.")
    is_secret: bool
    is_set: bool
    origin: str = said("environment, stored or default. The environment wins.")
    changed_at: datetime | None
    changed_by: str
    help: str


class SettingList(Listing[SettingOut]):
    """All settings that can be stored, in one page."""


class SettingsIn(Schema):
    """Texts by name; null goes back to the default. All are stored, or none."""

    values: dict[str, str | None]


@router.get("/settings", auth=staff, response=SettingList)
def list_settings(request: HttpRequest) -> dict[str, Any]:
    """List the settings that operators can store, with where each value comes from."""
    return {"items": [setting_out(each) for each in stored.listed()], "next": None}


@router.patch("/settings", auth=staff, response=SettingList)
def change_settings(request: HttpRequest, payload: SettingsIn) -> dict[str, Any]:
    """Store settings. They apply in every process within seconds."""
    try:
        stored.save(payload.values, user=person_of(request), request=request)
    except stored.CannotStore as error:
        raise Invalid(details=[{"field": error.field, "message": str(error)}]) from None
    return {"items": [setting_out(each) for each in stored.listed()], "next": None}


def setting_out(each: stored.Setting) -> dict[str, Any]:
    option = each.option
    return {
        "name": each.name, "group": option.group, "value": each.value, "is_secret": option.secret,
        "is_set": option.is_set, "origin": each.origin, "changed_at": each.changed_at, "changed_by": each.changed_by,
        "help": str(option.help),
    }  # fmt: skip


class SettingsGroupOut(Answer):
    """State of a group of settings."""

    name: str
    title: str
    section: str
    state: str = said("working or failing by the last test or use; otherwise not_tried, not_set, set or default.")
    since: datetime | None = said("Since when tests and uses have had this result; null when only the last is known.")
    checked_at: datetime | None = said("When the group was last tested with the present values.")
    used_at: datetime | None = said("When a job or a message last used the present values.")
    last_success_at: datetime | None
    last_failure_at: datetime | None
    answer: str = said("What the other side answered to the test or use that failed.")
    has_test: bool


class SettingsGroupList(Listing[SettingsGroupOut]):
    """All groups of settings, in one page."""


class SettingsStep(Answer):
    """One step of a test."""

    is_ok: bool
    text: str


class SettingsTest(Answer):
    """Result of a test of settings."""

    name: str
    is_ok: bool
    steps: list[SettingsStep]


@router.get("/settings/groups", auth=staff, response=SettingsGroupList)
def list_settings_groups(request: HttpRequest) -> dict[str, Any]:
    """List the groups of settings with the result of their last test or use."""
    return {"items": [settings_group_out(each) for each in shown_groups()], "next": None}


@router.post("/settings/groups/{name}/test", auth=staff, response=SettingsTest)
def test_settings_group(request: HttpRequest, name: str) -> dict[str, Any]:
    """Test the saved values of a group: ask the other side and return its answer step by step."""
    group = groups().get(name)
    if group is None or not group.test:
        raise NotFound
    steps = run_test(group, person_of(request))
    shown = [{"is_ok": step.is_ok, "text": step.text} for step in steps]
    return {"name": name, "is_ok": all(step.is_ok for step in steps), "steps": shown}


def settings_group_out(each: Shown) -> dict[str, Any]:
    seen = each.evidence
    return {
        "name": each.group.name, "title": str(each.group.title), "section": each.group.section, "state": each.state,
        "since": seen and seen.since, "checked_at": seen and seen.tested_at, "used_at": seen and seen.used_at,
        "last_success_at": seen and seen.success_at, "last_failure_at": seen and seen.failure_at,
        "answer": seen.answer if seen else "", "has_test": bool(each.group.test),
    }  # fmt: skip


class AuditEventOut(Answer):
    """One entry of the audit log."""

    row = AuditEvent

    id: int
    happened_at: datetime
    event: str
    actor_id: UUID | None
    actor_email: str
    subject: str
    address: str
    user_agent: str
    request_id: str
    details: dict[str, Any]


class AuditEventPage(Mirrored[AuditEventOut]):
    """Entries of the audit log, newest first."""


class AuditQuery(DaysQuery):
    q: str = ""
    event: str = ""
    who: str = ""


@router.get("/audit", auth=staff, response=AuditEventPage)
def list_audit_events(request: HttpRequest, page: Query[AuditQuery]) -> Any:
    """List the audit log, newest first, with the filters of the page."""
    return listed(request, AUDIT, AuditEvent.objects.all(), page, make=AuditEventOut.of)
