"""The way in through the OpenID provider: to the provider, back with a code, and out again."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.internal.flows.login import record_authentication
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from watchbook.core.accounts import access, audit, options
from watchbook.core.people import oidc, single_sign_on

KEY = "oidc"
PER_HOUR, HOUR = 60, 3600


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
        user = single_sign_on.sign_in(claims, request)
    except oidc.SignInError as error:
        return _refused(request, error.message, error.detail)
    _enter(request, user)
    return redirect(access.safe_next(request, begun.next))


def _enter(request: HttpRequest, user: Any) -> None:
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
