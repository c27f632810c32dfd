"""The settings page: groups of fields, saved group by group, with a test that shows what the other side answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET, require_POST

from watchbook.base import clock
from watchbook.base.env import switch
from watchbook.base.text import cut
from watchbook.core import registry
from watchbook.core.accounts.access import person_of, staff_required
from watchbook.core.accounts.models import User
from watchbook.core.ops import stored
from watchbook.core.ops.models import SettingsCheck
from watchbook.core.registry import SettingsGroup, Step, Use

GROUPS = (
    SettingsGroup(
        "mail", _("Mail server"), _("E-mail channels and password resets"), "mail", "notifications",
        test="watchbook.core.ops.settings_tests:try_mail", used="watchbook.core.notify.channels.email:last_mail",
    ),
    SettingsGroup("address", _("Address and sign-up"), _("Links in e-mails, and who may sign up"), "globe", "server"),
    SettingsGroup(
        "sso", _("Single sign-on"), _("An OpenID provider, such as Keycloak or Authentik"), "key", "server",
        test="watchbook.core.people.oidc:try_provider",
    ),
    SettingsGroup("limits", _("Limits"), _("What one user may use"), "clock", "server"),
    SettingsGroup(
        "retention", _("Storage"), _("How long records are kept"), "trash", "server",
        test="watchbook.core.ops.settings_tests:try_storage", used="watchbook.core.ops.settings_tests:last_stored",
        works_by_default=True,
    ),
    SettingsGroup(
        "backups", _("Backups"), _("A verified copy every night"), "download", "server",
        test="watchbook.core.ops.settings_tests:try_backups", used="watchbook.core.ops.settings_tests:last_backup",
        works_by_default=True,
    ),
)  # fmt: skip
SECTIONS = {"notifications": _("Notifications"), "sources": _("Sources"), "server": _("Server")}


@dataclass(frozen=True)
class Field:
    """One field of a group: what the form shows of a setting."""

    setting: stored.Setting
    # what was typed and refused; None when nothing was typed
    typed: str | None = None
    error: str = ""

    @property
    def kind(self) -> str:
        option = self.setting.option
        if option.secret:
            return "secret"
        if option.choices is not None:
            return "choice"
        return "switch" if option.read is switch else "text"

    @property
    def text(self) -> str:
        return self.setting.text if self.typed is None else self.typed

    @property
    def choices(self) -> list[str]:
        return [str(choice) for choice in self.setting.option.choices or ()]


@dataclass(frozen=True)
class Evidence:
    """Whether a group works, from its last test and its last use with the present values: the newer one decides.

    `since` is empty when only the last success is known. `tested_at` and `used_at` say what was seen.
    """

    is_ok: bool
    since: datetime | None
    answer: str = ""
    success_at: datetime | None = None
    failure_at: datetime | None = None
    tested_at: datetime | None = None
    used_at: datetime | None = None


def evidence_of(check: SettingsCheck | None, use: Use | None) -> Evidence | None:
    tested = Use(check.is_ok, check.checked_at, check.since, check.answer) if check else None
    seen = sorted((each for each in (tested, use) if each is not None), key=lambda each: each.at)
    if not seen:
        return None
    newest = seen[-1]
    return Evidence(
        newest.is_ok,
        _since(*reversed(seen)),
        newest.answer,
        success_at=max(filter(None, (_time_of(each, is_ok=True) for each in seen)), default=None),
        failure_at=max(filter(None, (_time_of(each, is_ok=False) for each in seen)), default=None),
        tested_at=tested.at if tested else None,
        used_at=use.at if use else None,
    )


def _since(newest: Use, older: Use | None = None) -> datetime | None:
    """Return since when every known test and use has had the same result."""
    if older is None or newest.since is None:
        return newest.since
    if older.is_ok != newest.is_ok:
        return newest.since if newest.since > older.at else newest.at
    return max(newest.since, older.since) if older.since else newest.since


def _time_of(each: Use, *, is_ok: bool) -> datetime | None:
    return each.at if each.is_ok is is_ok else each.other_at


@dataclass(frozen=True)
class Shown:
    """A group with its fields, and the result of a test."""

    group: SettingsGroup
    fields: list[Field]
    is_open: bool = False
    steps: tuple[Step, ...] = ()
    # what was seen with the present values; None when nothing was
    evidence: Evidence | None = None

    @property
    def origins(self) -> set[str]:
        return {field.setting.origin for field in self.fields}

    @property
    def is_set(self) -> bool:
        return self.origins != {"default"}

    @property
    def state(self) -> str:
        """Return the word that API and command use for the badge of the page."""
        if self.evidence is not None:
            return "working" if self.evidence.is_ok else "failing"
        if self.group.test:
            return "not_tried" if self.is_set or self.group.works_by_default else "not_set"
        return "set" if self.is_set else "default"

    @property
    def tone(self) -> str:
        """The colour of its mark beside its name."""
        return {"working": "ok", "failing": "bad", "set": "info"}.get(self.state, "off")

    @property
    def shape(self) -> str:
        shapes = {"working": "s-ok", "failing": "s-bad", "set": "s-ok", "not_tried": "s-wait"}
        return shapes.get(self.state, "s-off")

    @property
    def changed_at(self) -> datetime | None:
        return max((field.setting.changed_at for field in self.fields if field.setting.changed_at), default=None)


def groups() -> dict[str, SettingsGroup]:
    """Return every group by name: those of the platform and those that systems declare."""
    declared = (*GROUPS, *(each for source in registry.sources() for each in source.settings))
    return {group.name: group for group in declared}


def shown_groups(
    opened: str = "",
    typed: dict[str, str] | None = None,
    errors: dict[str, str] | None = None,
    steps: tuple[Step, ...] = (),
) -> Iterator[Shown]:
    every = stored.listed()
    checks, changes = SettingsCheck.objects.in_bulk(), stored.changes()
    for group in groups().values():
        fields = [
            Field(each, (typed or {}).get(each.name), (errors or {}).get(each.name, ""))
            for each in every
            if each.option.group == group.name
        ]
        is_open = group.name == opened
        changed_at = max((changes[each.setting.name] for each in fields if each.setting.name in changes), default=None)
        evidence = evidence_of(_valid(checks.get(group.name), changed_at), _use(group, changed_at))
        yield Shown(group, fields, is_open, steps if is_open else (), evidence)


def _valid(check: SettingsCheck | None, changed_at: datetime | None) -> SettingsCheck | None:
    """A test with earlier values says nothing."""
    return None if check is None or (changed_at and check.checked_at < changed_at) else check


def _use(group: SettingsGroup, after: datetime | None) -> Use | None:
    found: Use | None = registry.load(group.used)(after) if group.used else None
    return found


@staff_required
@require_GET
def settings_page(request: HttpRequest) -> HttpResponse:
    return _page(request, list(shown_groups(request.GET.get("group", ""))))


def _page(request: HttpRequest, shown: list[Shown], status: int = 200) -> HttpResponse:
    sections = [(title, [each for each in shown if each.group.section == name]) for name, title in SECTIONS.items()]
    context = {
        "sections": [(title, each) for title, each in sections if each],
        "counts": {"working": 0, **Counter(each.state for each in shown)},
    }
    return render(request, "ops/settings.html", context, status=status)


@staff_required
@require_POST
def save_group(request: HttpRequest, name: str) -> HttpResponse:
    """Store the fields of one group. What was typed stays in the form when one of them is refused."""
    group = groups().get(name)
    if group is None:
        raise Http404
    typed = {each.name: value for each in _fields_of(group) if (value := _typed(request, each)) is not None}
    try:
        changed = stored.save(typed, user=person_of(request), request=request)
    except stored.CannotStore as error:
        kept = {field: value for field, value in typed.items() if not stored.storable()[field].secret}
        return _page(request, list(shown_groups(name, kept, {error.field: str(error)})), status=422)
    if changed:
        # The last test was made with other values.
        SettingsCheck.objects.filter(name=name).delete()
    messages.success(request, gettext("Settings saved.") if changed else gettext("Nothing changed."))
    return redirect(f"{reverse('ops_settings')}?group={name}#{name}")


def _fields_of(group: SettingsGroup) -> list[stored.Setting]:
    return [each for each in stored.listed() if each.option.group == group.name and each.origin != "environment"]


def _typed(request: HttpRequest, setting: stored.Setting) -> str | None:
    """Return the text of a field; None for one that stays as it is."""
    if setting.option.secret:
        if request.POST.get(f"clear-{setting.name}"):
            return ""
        return request.POST.get(setting.name) or None
    if setting.option.read is switch:
        return "on" if request.POST.get(setting.name) else "off"
    given = request.POST.get(setting.name)
    # The default is not stored: a later version may have a better one.
    return "" if given == stored.as_text(setting.option.default) else given


@staff_required
@require_POST
def try_group(request: HttpRequest, name: str) -> HttpResponse:
    """Ask the other side with the saved values, and show what it answered."""
    group = groups().get(name)
    if group is None or not group.test:
        raise Http404
    return _page(request, list(shown_groups(name, steps=run_test(group, person_of(request)))))


def run_test(group: SettingsGroup, user: User | None) -> tuple[Step, ...]:
    """Ask the other side with the saved values, and remember the result. For page, API and command."""
    steps = tuple(registry.load(group.test)(user))
    remember(group.name, steps)
    return steps


def remember(name: str, steps: tuple[Step, ...]) -> None:
    """Store the result of a test; the time since when it is so stays while the result stays the same."""
    failed = next((step.text for step in steps if not step.is_ok), "")
    is_ok, now = not failed, clock.now()
    changed_at = stored.changed_at(name)
    before = _valid(SettingsCheck.objects.filter(name=name).first(), changed_at)
    use = _use(groups()[name], changed_at)
    since = now
    if before is not None:
        since = before.since if before.is_ok == is_ok else now
    elif use is not None and use.is_ok == is_ok:
        # The first test confirms what was seen before.
        since = use.since or now
    values = {"is_ok": is_ok, "since": since, "checked_at": now, "answer": cut(failed, 500)}
    SettingsCheck.objects.update_or_create(name=name, defaults=values)
