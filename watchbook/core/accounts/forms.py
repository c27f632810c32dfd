"""Forms of the entrance and of the account page. Only the fields named here are ever read."""

from __future__ import annotations

from typing import Any
from zoneinfo import available_timezones

from allauth.account import forms as entrance
from allauth.account.models import EmailAddress
from allauth.mfa.webauthn.forms import EditWebAuthnForm
from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from watchbook.core.accounts import access, actions, tokens
from watchbook.core.accounts.models import Theme, User, normalise_email

CODE_TRIES_PER_HOUR = 20


def _dress(form: forms.Form, labels: dict[str, Any]) -> None:
    """Our words above the fields, no placeholders inside, notes as plain text."""
    for name, field in form.fields.items():
        field.widget.attrs.pop("placeholder", None)
        if name in labels:
            field.label = labels[name]
        if name in {"password", "oldpassword"}:
            field.help_text = ""
        if name == "password1":
            field.help_text = _("At least 10 characters. A long password is stronger than special characters.")


class LoginForm(entrance.LoginForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _dress(self, {"login": _("E-mail"), "password": _("Password"), "remember": _("Stay signed in")})
        self.fields["login"].widget.attrs["autocomplete"] = "username"

    def clean_login(self) -> str:
        return normalise_email(self.cleaned_data["login"])


class SignupForm(entrance.SignupForm):
    account_already_exists: bool
    setup_code = forms.CharField(
        label=_("Setup code"),
        help_text=_(
            "Watchbook prints the setup code at start. The file keys/setup_code in the data folder contains it, too."
        ),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        max_length=200,
    )

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        self.request = request
        super().__init__(*args, **kwargs)
        self.is_first = access.has_no_users()
        if not self.is_first or access.comes_from_this_machine(request):
            del self.fields["setup_code"]
        _dress(self, {"email": _("E-mail"), "password1": _("Password"), "password2": _("Password again")})

    def clean_setup_code(self) -> str:
        address = self.request.META.get("REMOTE_ADDR", "")
        if not access.allow_use("setup_code", address, most=CODE_TRIES_PER_HOUR, seconds=3600):
            raise ValidationError(_("Too many attempts. Try again in an hour."))
        given = str(self.cleaned_data["setup_code"])
        if not access.is_setup_code(given):
            raise ValidationError(_("The setup code is wrong."))
        return given

    def try_save(self, request: HttpRequest) -> Any:
        if self.account_already_exists:
            # A new account costs one hash; so must an address that has one, or the time would reveal it.
            User().set_password(self.cleaned_data["password1"])
            return super().try_save(request)
        try:
            return super().try_save(request)
        except IntegrityError:  # the same address a moment earlier
            self.account_already_exists = True
            return super().try_save(request)

    def save(self, request: HttpRequest) -> User:
        user: User = super().save(request)
        if self.is_first and user.is_verified:
            EmailAddress.objects.filter(user_id=user.pk, email=user.email).update(verified=True)
            access.spend_setup_code()
        return user


class ResetPasswordForm(entrance.ResetPasswordForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _dress(self, {"email": _("E-mail")})

    def clean_email(self) -> str:
        # The mail goes to the form of the address that was looked up, never to another spelling of it.
        super().clean_email()
        return normalise_email(self.cleaned_data["email"])


class ResetPasswordKeyForm(entrance.ResetPasswordKeyForm):
    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        self.request = request
        super().__init__(*args, **kwargs)
        _dress(self, {"password1": _("New password"), "password2": _("New password again")})

    def save(self) -> None:
        actions.set_password(self.user, self.cleaned_data["password1"], event="password.reset", request=self.request)


class ChangePasswordForm(entrance.ChangePasswordForm):
    keep_tokens = forms.BooleanField(
        label=_("Keep my API tokens and feeds"),
        help_text=_("Do not select this if the old password may be known to others."),
        required=False,
    )

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        self.request = request
        super().__init__(*args, **kwargs)
        labels = {"oldpassword": _("Current password"), "password1": _("New password")}
        _dress(self, {**labels, "password2": _("New password again")})

    def save(self) -> None:
        actions.set_password(
            self.user,
            self.cleaned_data["password1"],
            event="password.changed",
            request=self.request,
            keep_tokens=self.cleaned_data["keep_tokens"],
        )


class AddEmailForm(entrance.AddEmailForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _dress(self, {"email": _("New e-mail")})


def _zones() -> list[tuple[str, Any]]:
    return [("", _("Server default")), *((zone, zone) for zone in sorted(available_timezones()))]


def _languages() -> list[tuple[str, Any]]:
    return [("", _("Browser default")), *settings.LANGUAGES]


class RenamePasskeyForm(EditWebAuthnForm):
    """allauth's own form sets no limit."""

    name = forms.CharField(label=_("Name"), max_length=100)


class PreferencesForm(forms.ModelForm):  # type: ignore[type-arg]
    language = forms.ChoiceField(label=_("Language"), choices=_languages, required=False)
    time_zone = forms.ChoiceField(
        label=_("Time zone"), choices=_zones, required=False, help_text=_("All pages show times in this zone.")
    )
    theme = forms.ChoiceField(label=_("Theme"), choices=Theme.choices, required=False)

    class Meta:
        model = User
        fields = ["language", "time_zone", "theme"]


class TokenForm(forms.Form):
    name = forms.CharField(
        label=_("Name"), max_length=100, help_text=_("Where you will use it, for example: n8n on the office server.")
    )
    scopes = forms.MultipleChoiceField(label=_("Scopes"), widget=forms.CheckboxSelectMultiple)
    days = forms.TypedChoiceField(
        label=_("Expires after"),
        coerce=int,
        initial=365,
        choices=[(30, _("30 days")), (90, _("90 days")), (365, _("1 year")), (tokens.MOST_DAYS, _("10 years"))],
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        titles = tokens.scopes()
        choices = [(scope, titles[scope]) for scope in tokens.scopes_for(user)]
        self.fields["scopes"].choices = choices  # type: ignore[attr-defined]


class PasswordForm(forms.Form):
    """Asked before what cannot be undone."""

    password = forms.CharField(
        label=_("Password"),
        strip=False,
        max_length=actions.LONGEST_PASSWORD,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        self.request = request
        super().__init__(*args, **kwargs)

    def clean_password(self) -> str:
        from allauth.account.adapter import get_adapter  # allauth looks the adapter up by setting at call time

        password: str = self.cleaned_data["password"]
        adapter = get_adapter(self.request)
        # Counted and logged like a sign-in: a stolen session must not be a place to guess.
        if not adapter.reauthenticate(self.request.user, password):
            raise adapter.validation_error("incorrect_password")
        return password
