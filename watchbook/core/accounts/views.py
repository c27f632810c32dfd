"""Sign-in and sign-up (allauth's pages with our forms), the own account, and the audit log for operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from allauth.account import views as allauth_views
from allauth.account.adapter import get_adapter
from allauth.mfa.webauthn import views as passkey_views
from allauth.mfa.webauthn.internal import auth as passkey_auth
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_not_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from watchbook.core.accounts import access, actions, audit, forms, options, tokens
from watchbook.core.accounts.access import person_of, staff_required
from watchbook.core.accounts.audit import export
from watchbook.core.accounts.models import ApiToken, AuditEvent


class LoginView(allauth_views.LoginView):
    template_name = "accounts/login.html"
    form_class = forms.LoginForm

    def get(self, request: HttpRequest) -> HttpResponseBase:
        """A new server has no account to sign in to: its first page creates one."""
        if access.has_no_users() and get_adapter().is_open_for_signup(request):
            return redirect(f"{reverse('account_signup')}?{request.GET.urlencode()}".rstrip("?"))
        answer: HttpResponseBase = super().get(request)
        return answer

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        more = {
            "is_open": get_adapter().is_open_for_signup(self.request),
            "sso": options.oidc_name() if options.is_oidc_set() else "",
            "is_sso_only": options.is_oidc_only(),
        }
        return {**super().get_context_data(**kwargs), **more}


class SignupView(allauth_views.SignupView):
    template_name = "accounts/signup.html"
    template_name_signup_closed = "accounts/signup_closed.html"
    form_class: type[forms.SignupForm] = forms.SignupForm

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "request": self.request}


class RenamePasskeyView(passkey_views.EditWebAuthnView):
    """Give a passkey of one's own another name. Asks for the password again after a while, as adding one does."""

    template_name = "accounts/passkey_rename.html"

    def get_form_class(self) -> type[forms.RenamePasskeyForm]:
        return forms.RenamePasskeyForm

    def form_valid(self, form: forms.RenamePasskeyForm) -> HttpResponse:
        with transaction.atomic():
            response: HttpResponse = super().form_valid(form)
            audit.record("passkey.renamed", actor=form.instance.user, request=self.request)
        return response


@method_decorator(login_not_required, name="dispatch")
class PasskeyLoginView(passkey_views.LoginWebAuthnView):
    """Sign in with a passkey alone. Our script asks for the challenge as JSON; every other GET goes to the form."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if options.is_oidc_only():
            return redirect("account_login")
        answer: HttpResponseBase = super().dispatch(request, *args, **kwargs)
        return answer

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.headers.get("Accept") == "application/json":
            return JsonResponse({"request_options": passkey_auth.begin_authentication(user=None)})
        return redirect("account_login")


@method_decorator(login_not_required, name="dispatch")
class PasswordResetView(allauth_views.PasswordResetView):
    template_name = "accounts/reset.html"
    form_class = forms.ResetPasswordForm

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if options.is_oidc_only():
            return redirect("account_login")
        answer: HttpResponseBase = super().dispatch(request, *args, **kwargs)
        return answer


class PasswordResetFromKeyView(allauth_views.PasswordResetFromKeyView):
    template_name = "accounts/reset_from_key.html"
    form_class = forms.ResetPasswordKeyForm

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "request": self.request}


class PasswordChangeView(allauth_views.PasswordChangeView):
    template_name = "accounts/change_password.html"
    form_class = forms.ChangePasswordForm

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.user.is_authenticated and not request.user.has_usable_password():
            return redirect("account_reset_password")
        answer: HttpResponseBase = super().dispatch(request, *args, **kwargs)
        return answer

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "request": self.request}


class EmailView(allauth_views.EmailView):
    template_name = "accounts/email.html"
    form_class = forms.AddEmailForm

    def _action_remove(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse | None:
        with transaction.atomic():
            answer: HttpResponse | None = super()._action_remove(request, *args, **kwargs)
        return answer

    def _action_primary(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse | None:
        with transaction.atomic():
            answer: HttpResponse | None = super()._action_primary(request, *args, **kwargs)
        return answer


EVENTS_ON_THE_ACCOUNT_PAGE = 20


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
    messages.success(request, _("Token revoked."))
    return redirect("account_tokens")


@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def end_sessions(request: HttpRequest) -> HttpResponse:
    person = person_of(request)
    form = forms.PasswordForm(request.POST or None, request=request)
    if request.method == "POST" and form.is_valid():
        actions.end_other_sessions(person, form.cleaned_data["password"], request=request)
        update_session_auth_hash(request, person)
        messages.success(request, _("All other sessions are signed out."))
        return redirect("account")
    return render(request, "accounts/end_sessions.html", {"form": form})


@require_GET
@staff_required
def audit_log(request: HttpRequest) -> HttpResponseBase:
    shown = audit.AUDIT.show(AuditEvent.objects.all(), request.GET)
    if file := export(request, shown):
        return file
    events = _titled(shown.page, audit.titles())
    return render(request, "accounts/audit.html", {"listing": shown, "page": shown.page, "events": events})


def _titled(events: Iterable[AuditEvent], titles: Mapping[str, object]) -> list[AuditEvent]:
    found = list(events)
    for event in found:
        event.title = titles.get(event.event, event.event)  # type: ignore[attr-defined]
        details = event.details.items()
        event.more = [f"{name}: {_words(value)}" for name, value in details if value != []]  # type: ignore[attr-defined]
    return found


def _words(value: object) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return ", ".join(str(item) for item in value) if isinstance(value, list) else str(value)
