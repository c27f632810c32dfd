"""Two ways to an account: the OpenID provider (to it, back with a code, out again), and the page of an invitation link.

With an invitation a visitor signs up, or accepts it with the account that is signed in.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any
from urllib.parse import urlsplit

from allauth.account.adapter import get_adapter
from allauth.account.internal.flows.login import record_authentication
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import Resolver404, resolve, reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from watchbook.base.invalid import InvalidInput
from watchbook.core.accounts import access, audit, options
from watchbook.core.accounts.models import User
from watchbook.core.accounts.views import SignupView
from watchbook.core.people import invitations, oidc, single_sign_on
from watchbook.core.people.forms import AcceptForm
from watchbook.core.people.models import Invitation

KEY = "oidc"
PER_HOUR = 60
HOUR = 3600


def callback_address() -> str:
    """Return the address under the public name: the provider compares it letter by letter."""
    return str(settings.PUBLIC_URL) + reverse("oidc_callback")


@never_cache
@login_not_required
@require_GET
def start(request: HttpRequest) -> HttpResponse:
    """Send the browser to the provider. A link, not a form: the policy of our pages lets no form leave this server."""
    if not options.is_oidc_set():
        return redirect("account_login")
    if not access.allow_use("oidc", request.META.get("REMOTE_ADDR", ""), most=PER_HOUR, seconds=HOUR):
        return _refused(request, _("Too many attempts. Try again in an hour."))
    target = request.GET.get("next", "")
    try:
        begun, address = oidc.begin(callback_address(), next_path=target if access.is_safe_target(target) else "")
    except oidc.SignInError as error:
        return _refused(request, error.message, error.detail)
    request.session[KEY] = asdict(begun)
    return redirect(address)


@never_cache
@login_not_required
@require_GET
def callback(request: HttpRequest) -> HttpResponse:
    """Verify the answer of the provider and sign in. What the session remembers is used once."""
    kept = request.session.pop(KEY, None)
    if not isinstance(kept, dict):
        messages.error(request, _("The sign-in took too long. Try again."))
        return redirect("account_login")
    given = {name: request.GET.get(name, "")[:4000] for name in ("code", "state", "iss", "error")}
    try:
        if given["error"] or not given["code"]:
            raise oidc.SignInError(
                _("The sign-in provider refused: %(reason)s") % {"reason": given["error"][:100] or "-"}, given["error"]
            )
        begun = oidc.Started(**kept)
        claims = oidc.finish(
            begun, code=given["code"], state=given["state"], issuer=given["iss"], redirect_uri=callback_address()
        )
        user = single_sign_on.sign_in(claims, request, token=_token_of(begun.next))
    except oidc.SignInError as error:
        return _refused(request, error.message, error.detail)
    _enter(request, user)
    return redirect(access.safe_next(request, begun.next))


def _token_of(path: str) -> str:
    """Return the token of the invitation to which the user goes back; empty for other pages."""
    try:
        match = resolve(urlsplit(path).path)
    except Resolver404:
        return ""
    return str(match.kwargs["token"]) if match.url_name == "invite" else ""


def _enter(request: HttpRequest, user: User) -> None:
    get_adapter(request).login(request, user)
    record_authentication(request, user, method="oidc")
    request.session["signed_in_by"] = KEY


def _refused(request: HttpRequest, message: str, detail: str = "") -> HttpResponse:
    audit.record("sso.failed", request=request, subject=options.OIDC_ISSUER.value, reason=detail or message)
    messages.error(request, message)
    return redirect("account_login")


@never_cache
@login_not_required
@require_GET
def signed_out(request: HttpRequest) -> HttpResponse:
    """After signing out here: a link that also ends the session at the provider."""
    back = str(settings.PUBLIC_URL) + reverse("account_login")
    name = options.oidc_name()
    return render(request, "people/signed_out.html", {"address": oidc.sign_out_address(back), "name": name})


UNKNOWN_PER_HOUR = 30


@method_decorator([login_not_required, never_cache], name="dispatch")
class InviteView(SignupView):
    """A link that can no longer be used says why. An unknown one says the same to every visitor."""

    template_name = "people/invite.html"
    form_class = AcceptForm
    invitation: Invitation

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        visitor = request.META.get("REMOTE_ADDR", "")
        if access.uses("invite-unknown", visitor, seconds=HOUR) >= UNKNOWN_PER_HOUR:
            return _closed(request, _("Too many attempts. Try again in an hour."), 429)
        found = invitations.find(str(kwargs.pop("token")))
        if found is None:
            access.count_use("invite-unknown", visitor, seconds=HOUR)
            return _closed(request, invitations.closed_text("unknown"), 404)
        if (state := invitations.state(found)) != "pending":
            return _closed(request, invitations.closed_text(state), 410)
        self.invitation = found
        if isinstance(request.user, User):
            return self._signed_in(request, request.user)
        if options.is_oidc_only() or (found.email and User.objects.filter(email=found.email).exists()):
            return render(request, "people/invite_known.html", self._context(request))
        answer: HttpResponseBase = super().dispatch(request, *args, **kwargs)
        return answer

    def is_open(self) -> bool:
        """An invitation is valid while sign-up is closed."""
        return True

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "invitation": self.invitation}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return {**super().get_context_data(**kwargs), **self._context(self.request)}

    def form_valid(self, form: Any) -> HttpResponseBase:
        try:
            answer: HttpResponseBase = super().form_valid(form)
        except InvalidInput as error:  # the last use of the link went to another visitor, or the place is gone
            error.add_to(form)
            answer = self.form_invalid(form)
        return answer

    def _context(self, request: HttpRequest) -> dict[str, Any]:
        here = request.path
        return {
            "invitation": self.invitation,
            "facts": invitations.facts(self.invitation),
            "proves_address": invitations.proves_address(self.invitation),
            "sign_in": f"{reverse('oidc_start' if options.is_oidc_only() else 'account_login')}?next={here}",
            "is_sso_only": options.is_oidc_only(),
        }

    def _signed_in(self, request: HttpRequest, user: User) -> HttpResponse:
        is_other = bool(self.invitation.email) and self.invitation.email != user.email
        if request.method == "POST" and not is_other:
            try:
                invitations.accept(self.invitation, user, request=request)
            except InvalidInput as error:
                return _closed(request, error.message, 409)
            messages.success(request, _("You accepted the invitation."))
            return redirect("home")
        status = 403 if request.method == "POST" else 200
        return render(
            request, "people/invite_accept.html", {**self._context(request), "is_other": is_other}, status=status
        )


def _closed(request: HttpRequest, text: str, status: int) -> HttpResponse:
    return render(request, "people/invite_closed.html", {"text": text}, status=status)
