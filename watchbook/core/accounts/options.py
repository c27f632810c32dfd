"""Options of accounts."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.utils.translation import gettext_lazy as _

from watchbook.base.env import Option, switch, text

SIGNUP = Option(
    "WATCHBOOK_SIGNUP", text, default="first", choices=("open", "closed", "first"),
    group="address", title=_("Sign-up"),
    help=_(
        "Who may sign up: anyone (open), no one (closed), or only the first user, who becomes the operator"
        " (first)."
    ),
)  # fmt: skip


def issuer_address(raw: str) -> str:
    """Return the issuer as it was typed: the provider is compared with it letter by letter."""
    issuer = raw.strip()
    parts = urlsplit(issuer)
    if issuer and (parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment):
        raise ValueError("expected an http or https address")
    return issuer


OIDC_ISSUER = Option(
    "WATCHBOOK_OIDC_ISSUER", issuer_address, default="",
    group="sso", title=_("Issuer"),
    help=_("Address of the OpenID provider, exactly as it names itself. Empty: no single sign-on."),
)  # fmt: skip
OIDC_CLIENT_ID = Option(
    "WATCHBOOK_OIDC_CLIENT_ID", text, default="",
    group="sso", title=_("Client id"),
    help=_("Id of this server at the OpenID provider."),
)  # fmt: skip
OIDC_CLIENT_SECRET = Option(
    "WATCHBOOK_OIDC_CLIENT_SECRET", text, default="", secret=True,
    group="sso", title=_("Client secret"),
    help=_("Secret of this server at the OpenID provider."),
)  # fmt: skip
OIDC_NAME = Option(
    "WATCHBOOK_OIDC_NAME", text, default="",
    group="sso", title=_("Name on the button"),
    help=_("Name of the provider on the sign-in page. Empty: its host name."),
)  # fmt: skip
OIDC_CREATE = Option(
    "WATCHBOOK_OIDC_CREATE", switch, default=True,
    group="sso", title=_("Create accounts"),
    help=_("on: a user of the provider without an account gets one at the first sign-in."),
)  # fmt: skip
OIDC_GROUPS_CLAIM = Option(
    "WATCHBOOK_OIDC_GROUPS_CLAIM", text, default="",
    group="sso", title=_("Groups claim"),
    help=_("Claim with the names of groups, such as groups. Users join groups of the same name. Empty: not read."),
)  # fmt: skip
OIDC_OPERATOR_GROUP = Option(
    "WATCHBOOK_OIDC_OPERATOR_GROUP", text, default="",
    group="sso", title=_("Group of operators"),
    help=_("Members of this group of the provider are operators, all other users who sign in this way are not."),
)  # fmt: skip
OIDC_ONLY = Option(
    "WATCHBOOK_OIDC_ONLY", switch, default=False,
    group="sso", title=_("Only single sign-on"),
    help=_("on: no sign-in with passwords and passkeys. API tokens keep working."),
)  # fmt: skip
REMOTE_USER_HEADER = Option(
    "WATCHBOOK_REMOTE_USER_HEADER", text, default="",
    help="Header in which a trusted proxy names the signed-in user by e-mail, such as Remote-Email. Empty: none.",
)  # fmt: skip


def is_oidc_set() -> bool:
    return bool(OIDC_ISSUER.value and OIDC_CLIENT_ID.value)


def is_oidc_only() -> bool:
    """Passwords and passkeys are refused only while the other way in is set."""
    return bool(OIDC_ONLY.value and is_oidc_set())


def oidc_name() -> str:
    return OIDC_NAME.value or urlsplit(OIDC_ISSUER.value).hostname or ""
