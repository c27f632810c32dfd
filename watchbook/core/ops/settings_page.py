"""The settings page: groups of fields, saved group by group, with a test that shows what the other side answered."""

from __future__ import annotations

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
from watchbook.core.registry import SettingsGroup, Step

GROUPS = (
    SettingsGroup(
        "mail", _("Mail server"), _("E-mail channels and password resets"), "mail", "notifications",
        test="watchbook.core.ops.settings_tests:try_mail",
    ),
    SettingsGroup("address", _("Address and sign-up"), _("Links in e-mails, and who may sign up"), "globe", "server"),
    SettingsGroup(
        "sso", _("Single sign-on"), _("An OpenID provider, such as Keycloak or Authentik"), "key", "server",
        test="watchbook.core.people.oidc:try_provider",
    ),
    SettingsGroup("limits", _("Limits"), _("What one user may use"), "clock", "server"),
    SettingsGroup(
        "retention", _("Storage"), _("How long records are kept"), "trash", "server",
        test="watchbook.core.ops.settings_tests:try_storage", works_by_default=True,
    ),
    SettingsGroup(
        "backups", _("Backups"), _("A verified copy every night"), "download", "server",
        test="watchbook.core.ops.settings_tests:try_backups", works_by_default=True,
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
class Shown:
    """A group with its fields, and the result of a test."""

    group: SettingsGroup
    fields: list[Field]
    is_open: bool = False
    steps: tuple[Step, ...] = ()
    # the last test with the present values; None when there was none
    check: SettingsCheck | None = None

    @property
    def origins(self) -> set[str]:
        return {field.setting.origin for field in self.fields}

    @property
    def is_set(self) -> bool:
        return self.origins != {"default"}

    @property
    def state(self) -> str:
        """Return the word that API and command use for the badge of the page."""
        if self.check is not None:
            return "working" if self.check.is_ok else "failing"
        if not self.is_set and self.group.test and not self.group.works_by_default:
            return "not_set"
        return "set" if self.is_set else "default"

    @property
    def tone(self) -> str:
        """The colour of its mark beside its name."""
        return {"working": "ok", "failing": "bad", "set": "info"}.get(self.state, "off")

    @property
    def shape(self) -> str:
        return {"working": "s-ok", "failing": "s-bad", "set": "s-ok"}.get(self.state, "s-off")

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
    checks = SettingsCheck.objects.in_bulk()
    for group in groups().values():
        fields = [
            Field(each, (typed or {}).get(each.name), (errors or {}).get(each.name, ""))
            for each in every
            if each.option.group == group.name
        ]
        is_open = group.name == opened
        yield Shown(group, fields, is_open, steps if is_open else (), checks.get(group.name))


@staff_required
@require_GET
def settings_page(request: HttpRequest) -> HttpResponse:
    return _page(request, list(shown_groups(request.GET.get("group", ""))))


def _page(request: HttpRequest, shown: list[Shown], status: int = 200) -> HttpResponse:
    sections = [(title, [each for each in shown if each.group.section == name]) for name, title in SECTIONS.items()]
    context = {
        "sections": [(title, each) for title, each in sections if each],
        "failing_count": sum(each.check is not None and not each.check.is_ok for each in shown),
        "set_count": sum(each.is_set for each in shown),
        "unset_count": sum(not each.is_set for each in shown),
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
    before = SettingsCheck.objects.filter(name=name).first()
    since = before.since if before and before.is_ok == is_ok else now
    values = {"is_ok": is_ok, "since": since, "checked_at": now, "answer": cut(failed, 500)}
    SettingsCheck.objects.update_or_create(name=name, defaults=values)
