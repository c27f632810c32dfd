"""The reader's own account, and for operators the people and the audit log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from uuid import UUID

from django.contrib import messages
from django.contrib.auth import logout, update_session_auth_hash
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from watchbook.base.text import clean_text
from watchbook.core.accounts import actions, audit, forms, tokens
from watchbook.core.accounts.access import person_of, staff_required
from watchbook.core.accounts.addresses import normalise
from watchbook.core.accounts.models import ApiToken, AuditEvent, User

EVENTS_ON_THE_ACCOUNT_PAGE = 20
EVENTS_PER_PAGE = 100
MOST_PEOPLE_SHOWN = 1000


@require_http_methods(["GET", "HEAD", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    person = person_of(request)
    form = forms.PreferencesForm(request.POST or None, instance=person)
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.success(request, _("Saved."))
        return redirect("account")
    if request.method == "POST":
        person.refresh_from_db()  # a refused choice must not colour the page
    own = AuditEvent.objects.filter(actor_id=person.pk, event__in=audit.SAFETY)
    events = own.order_by("-id")[:EVENTS_ON_THE_ACCOUNT_PAGE]
    return render(request, "accounts/account.html", {"form": form, "events": _titled(events, audit.titles())})


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def account_tokens(request: HttpRequest) -> HttpResponse:
    person = person_of(request)
    form = forms.TokenForm(request.POST or None, user=person)
    plain = ""
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        _token, plain = tokens.make(person, given["scopes"], given["days"], name=given["name"], request=request)
        form = forms.TokenForm(user=person)
    rows = ApiToken.objects.of(person).filter(revoked_at=None)
    # The plain text is on this one answer and nowhere else: not in the session, not in a message.
    return render(request, "accounts/tokens.html", {"form": form, "tokens": rows, "plain": plain})


@require_POST
def revoke_token(request: HttpRequest, pk: int) -> HttpResponse:
    token = get_object_or_404(ApiToken.objects.select_related("user"), pk=pk, user=request.user)
    tokens.revoke(token, actor=request.user, request=request)
    messages.success(request, _("The token is revoked."))
    return redirect("account_tokens")


@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def end_sessions(request: HttpRequest) -> HttpResponse:
    person = person_of(request)
    form = forms.PasswordForm(request.POST or None, request=request)
    if request.method == "POST" and form.is_valid():
        actions.end_other_sessions(person, form.cleaned_data["password"], request=request)
        update_session_auth_hash(request, person)
        messages.success(request, _("Every other session is signed out."))
        return redirect("account")
    return render(request, "accounts/end_sessions.html", {"form": form})


@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def delete_account(request: HttpRequest) -> HttpResponse:
    person = person_of(request)
    form = forms.PasswordForm(request.POST or None, request=request)
    if request.method == "POST" and form.is_valid():
        try:
            actions.delete(person, request=request)
        except actions.CannotDo as refusal:
            form.add_error(None, str(refusal))
        else:
            logout(request)
            messages.success(request, _("Your account is deleted."))
            return redirect("account_login")
    return render(request, "accounts/delete.html", {"form": form})


@require_GET
@staff_required
def people(request: HttpRequest) -> HttpResponse:
    rows = User.objects.order_by("-is_staff", "email")[:MOST_PEOPLE_SHOWN]
    return render(request, "accounts/people.html", {"people": rows, "count": User.objects.count()})


@require_POST
@staff_required
def change_person(request: HttpRequest, pk: UUID) -> HttpResponse:
    person = get_object_or_404(User, pk=pk)
    change = request.POST.get("change")
    try:
        if change in {"operator", "member"}:
            actions.set_role(person, operator=change == "operator", actor=request.user, request=request)
        elif change in {"enable", "disable"}:
            actions.set_active(person, active=change == "enable", actor=request.user, request=request)
    except actions.CannotDo as refusal:
        messages.error(request, str(refusal))
    return redirect("people")


@require_GET
@staff_required
def audit_log(request: HttpRequest) -> HttpResponse:
    before, event, who = (request.GET.get(name, "") for name in ("before", "event", "who"))
    rows = AuditEvent.objects.order_by("-id")
    if before.isascii() and before.isdigit() and len(before) < 19:
        rows = rows.filter(id__lt=int(before))
    titles = audit.titles()
    if event in titles:
        rows = rows.filter(event=event)
    if who:
        rows = rows.filter(actor_email=normalise(clean_text(who[:255])))
    found = _titled(rows[: EVENTS_PER_PAGE + 1], titles)
    page, older = found[:EVENTS_PER_PAGE], None
    if len(found) > EVENTS_PER_PAGE:
        older = page[-1].pk
    shown = {"events": page, "older": older, "titles": titles, "event": event, "who": who, "before": before}
    return render(request, "accounts/audit.html", shown)


def _titled(events: Iterable[AuditEvent], titles: Mapping[str, object]) -> list[AuditEvent]:
    found = list(events)
    for event in found:
        event.title = titles.get(event.event, event.event)  # type: ignore[attr-defined]
        event.more = [f"{name}: {_words(value)}" for name, value in event.details.items()]  # type: ignore[attr-defined]
    return found


def _words(value: object) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return ", ".join(str(item) for item in value) if isinstance(value, list) else str(value)
