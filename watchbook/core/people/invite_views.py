"""The page of an invitation link: sign up with it, or accept it with the account that is signed in."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from watchbook.base.invalid import InvalidInput
from watchbook.core.accounts import access, options
from watchbook.core.accounts.models import User
from watchbook.core.accounts.views import SignupView
from watchbook.core.people import invitations, mail
from watchbook.core.people.forms import AcceptForm
from watchbook.core.people.models import Invitation

UNKNOWN_PER_HOUR = 30
HOUR = 3600


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
            "facts": mail.facts(self.invitation),
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
