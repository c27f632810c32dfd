"""`watchbook users` and `watchbook tokens`."""

from __future__ import annotations

import sys

import click

from watchbook.base.terminal import Failure, answer, failing_as, table, with_json
from watchbook.core.accounts.models import User


@click.group()
def users() -> None:
    """Manage user accounts."""


@users.command("add")
@click.argument("email")
@click.option("--operator", is_flag=True, help="Make the user an operator of this server.")
@click.option("--verified", is_flag=True, help="Mark the e-mail address as confirmed.")
@click.option("--password-stdin", is_flag=True, help="Read the password from the first line of standard input.")
@with_json
def add_user(email: str, operator: bool, verified: bool, password_stdin: bool, as_json: bool) -> None:
    """Create an account. Without a password, the user sets one with the reset link of the sign-in page."""
    with failing_as(as_json):
        password = _password(password_stdin, as_json)
        user = _add(email, password, operator=operator, verified=verified)
        answer({"id": str(user.pk), "email": user.email}, [f"{user.email} now has an account."], as_json=as_json)


def _password(from_stdin: bool, as_json: bool) -> str | None:
    if from_stdin:
        password = sys.stdin.readline().rstrip("\r\n")
        if not password:
            raise Failure("Standard input contains no password.", code="no_password")
        return password
    if as_json or not sys.stdin.isatty():
        return None
    typed: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return typed


def _add(email: str, password: str | None, *, operator: bool, verified: bool) -> User:
    from django.core.exceptions import ValidationError

    from watchbook.core.accounts import actions  # brings allauth along; listing needs none of it

    try:
        return actions.add(email, password, operator=operator, verified=verified)
    except ValidationError as error:
        raise Failure(" ".join(error.messages), code="invalid") from None


@users.command("list")
@with_json
def list_users(as_json: bool) -> None:
    """List all accounts."""
    people = list(User.objects.order_by("email"))
    data = [
        {
            "id": str(person.pk),
            "email": person.email,
            "operator": person.is_staff,
            "active": person.is_active,
            "verified": person.is_verified,
            "last_login_at": person.last_login.isoformat() if person.last_login else None,
        }
        for person in people
    ]
    rows = [
        [row["email"], *("yes" if row[name] else "no" for name in ("operator", "active", "verified"))] for row in data
    ]
    answer({"users": data}, table(rows, ["email", "operator", "active", "verified"]), as_json=as_json)


@click.group()
def tokens() -> None:
    """Manage API tokens."""


@tokens.command("add")
@click.argument("email")
@click.option(
    "--scope", "scopes", multiple=True, help="Can be given more than once. Default: all scopes that the user may have."
)
@click.option("--days", type=int, default=365, show_default=True, help="Days until the token expires.")
@click.option("--name", default="", help="Where the token is used.")
@with_json
def add_token(email: str, scopes: tuple[str, ...], days: int, name: str, as_json: bool) -> None:
    """Create a token and print it. Watchbook cannot show it again."""
    from watchbook.core.accounts import tokens as making
    from watchbook.core.accounts.models import normalise_email

    if unknown := set(scopes) - set(making.scopes()):
        raise click.UsageError(
            f"There is no scope {', '.join(sorted(unknown))}. Scopes are {', '.join(making.scopes())}."
        )
    with failing_as(as_json):
        person = User.objects.filter(email=normalise_email(email), is_active=True).first()
        if person is None:
            raise Failure(f"There is no account {email}.", code="not_found")
        token, plain = making.make(person, scopes or making.scopes_for(person), days, name=name)
        data = {
            "token": plain,
            "scopes": token.scopes,
            "expires_at": token.expires_at.isoformat() if token.expires_at else None,
        }
        answer(data, [plain], as_json=as_json)
