"""Pages of the entrance and of the reader's own account, and the audit log.

Only what is reachable of allauth: no phone, no sign-in by code, no sign-up by passkey. The names are allauth's own,
because it reverses them itself; the templates are ours.
"""

from __future__ import annotations

from allauth.account import views as allauth
from allauth.mfa.base import views as mfa
from allauth.mfa.recovery_codes import views as codes
from allauth.mfa.totp import views as totp
from allauth.mfa.webauthn import views as passkeys
from django.urls import URLPattern, include, path, re_path
from django.views.generic import View

from watchbook.core.accounts import views


def _page(route: str, view: type[View], template: str, name: str) -> URLPattern:
    return path(route, view.as_view(template_name=f"accounts/{template}.html"), name=name)


entrance_patterns = [
    path("login/", views.LoginView.as_view(), name="account_login"),
    path("signup/", views.SignupView.as_view(), name="account_signup"),
    path("email/", views.EmailView.as_view(), name="account_email"),
    path("password/change/", views.PasswordChangeView.as_view(), name="account_change_password"),
    path("password/reset/", views.PasswordResetView.as_view(), name="account_reset_password"),
    _page("logout/", allauth.LogoutView, "logout", "account_logout"),
    _page("inactive/", allauth.AccountInactiveView, "inactive", "account_inactive"),
    _page("reauthenticate/", allauth.ReauthenticateView, "reauthenticate", "account_reauthenticate"),
    _page("confirm-email/", allauth.EmailVerificationSentView, "verification_sent", "account_email_verification_sent"),
    _page("password/reset/done/", allauth.PasswordResetDoneView, "reset_done", "account_reset_password_done"),
    _page(
        "password/reset/key/done/",
        allauth.PasswordResetFromKeyDoneView,
        "reset_from_key_done",
        "account_reset_password_from_key_done",
    ),
    re_path(
        r"^confirm-email/(?P<key>[-:\w]{1,300})/$",
        allauth.ConfirmEmailView.as_view(template_name="accounts/confirm_email.html"),
        name="account_confirm_email",
    ),
    re_path(
        r"^password/reset/key/(?P<uidb36>[0-9A-Za-z]{1,64})-(?P<key>[-\w]{1,100})/$",
        views.PasswordResetFromKeyView.as_view(),
        name="account_reset_password_from_key",
    ),
    _page("2fa/", mfa.IndexView, "mfa", "mfa_index"),
    _page("2fa/authenticate/", mfa.AuthenticateView, "authenticate", "mfa_authenticate"),
    _page("2fa/reauthenticate/", mfa.ReauthenticateView, "reauthenticate", "mfa_reauthenticate"),
    _page("2fa/totp/activate/", totp.ActivateTOTPView, "totp_on", "mfa_activate_totp"),
    _page("2fa/totp/deactivate/", totp.DeactivateTOTPView, "totp_off", "mfa_deactivate_totp"),
    _page("2fa/recovery-codes/", codes.ViewRecoveryCodesView, "codes", "mfa_view_recovery_codes"),
    _page("2fa/recovery-codes/generate/", codes.GenerateRecoveryCodesView, "codes_make", "mfa_generate_recovery_codes"),
    _page("2fa/passkeys/", passkeys.ListWebAuthnView, "passkeys", "mfa_list_webauthn"),
    _page("2fa/passkeys/add/", passkeys.AddWebAuthnView, "passkey_add", "mfa_add_webauthn"),
    _page("2fa/passkeys/<int:pk>/remove/", passkeys.RemoveWebAuthnView, "passkey_remove", "mfa_remove_webauthn"),
    path("2fa/passkeys/<int:pk>/rename/", views.RenamePasskeyView.as_view(), name="mfa_edit_webauthn"),
    _page(
        "2fa/passkeys/confirm/", passkeys.ReauthenticateWebAuthnView, "passkey_confirm", "mfa_reauthenticate_webauthn"
    ),
    path("2fa/passkeys/login/", views.PasskeyLoginView.as_view(), name="mfa_login_webauthn"),
    path("2fa/recovery-codes/download/", codes.download_recovery_codes, name="mfa_download_recovery_codes"),
]

urlpatterns = [
    path("accounts/", include(entrance_patterns)),
    path("account/", views.account, name="account"),
    path("account/tokens/", views.account_tokens, name="account_tokens"),
    path("account/tokens/<int:pk>/revoke/", views.revoke_token, name="account_token_revoke"),
    path("account/sessions/end/", views.end_sessions, name="account_end_sessions"),
    path("audit/", views.audit_log, name="audit_log"),
]
