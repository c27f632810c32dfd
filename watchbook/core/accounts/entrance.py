"""allauth's pages with our forms: sign-in, sign-up, reset, change of password and address."""

from __future__ import annotations

from typing import Any

from allauth.account import views as allauth_views
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect

from watchbook.core.accounts import first_user, forms


class LoginView(allauth_views.LoginView):
    template_name = "accounts/login.html"
    form_class = forms.LoginForm

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return {**super().get_context_data(**kwargs), "is_first": first_user.is_awaited()}


class SignupView(allauth_views.SignupView):
    template_name = "accounts/signup.html"
    template_name_signup_closed = "accounts/signup_closed.html"
    form_class = forms.SignupForm

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "request": self.request}


class PasswordResetView(allauth_views.PasswordResetView):
    template_name = "accounts/reset.html"
    form_class = forms.ResetPasswordForm


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
