"""`watchbook users` and `watchbook tokens`."""

from __future__ import annotations

import sys

import click

from watchbook.base.terminal import Failure, answer, failing_as, table, with_json
from watchbook.core.accounts.models import User


@click.group()
def users() -> None:
    """People who can sign in."""


@users.command("add")
@click.argument("email")
@click.option("--operator", is_flag=True, help="May operate this installation.")
@click.option("--verified", is_flag=True, help="The address needs no confirmation by mail.")
@click.option("--password-stdin", is_flag=True, help="Read the password from the first line of standard input.")
@with_json
def add_user(email: str, operator: bool, verified: bool, password_stdin: bool, as_json: bool) -> None:
    """Make an account. Without a password it is set by the reset link of the sign-in page."""
    with failing_as(as_json):
        password = _password(password_stdin, as_json)
        user = _add(email, password, operator=operator, verified=verified)
        answer({"id": str(user.pk), "email": user.email}, [f"{user.email} has an account."], as_json=as_json)


def _password(from_stdin: bool, as_json: bool) -> str | None:
    if from_stdin:
        password = sys.stdin.readline().rstrip("\r\n")
        if not password:
            raise Failure("There was no password on standard input.", code="no_password")
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
    except actions.CannotDo as refusal:
        raise Failure(str(refusal), code="exists") from None


@users.command("list")
@with_json
def list_users(as_json: bool) -> None:
    """Everybody with an account."""
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
    """Keys for programs that use the API."""


@tokens.command("add")
@click.argument("email")
@click.option(
    "--scope", "scopes", multiple=True, help="May be given more than once. Without it: all that the person may do."
)
@click.option("--days", type=int, default=365, show_default=True, help="How long it lives.")
@click.option("--name", default="", help="What carries it.")
@with_json
def add_token(email: str, scopes: tuple[str, ...], days: int, name: str, as_json: bool) -> None:
    """Make a token and print it, this one time."""
    from watchbook.core.accounts import tokens as making
    from watchbook.core.accounts.addresses import normalise

    if unknown := set(scopes) - set(making.SCOPES):
        raise click.UsageError(
            f"There is no scope {', '.join(sorted(unknown))}. Scopes are {', '.join(making.SCOPES)}."
        )
    with failing_as(as_json):
        person = User.objects.filter(email=normalise(email), is_active=True).first()
        if person is None:
            raise Failure(f"There is no account {email}.", code="not_found")
        try:
            token, plain = making.make(person, scopes or making.scopes_for(person), days, name=name)
        except making.CannotMake as refusal:
            raise Failure(str(refusal), code="invalid") from None
        data = {
            "token": plain,
            "scopes": token.scopes,
            "expires_at": token.expires_at.isoformat() if token.expires_at else None,
        }
        answer(data, [plain], as_json=as_json)
