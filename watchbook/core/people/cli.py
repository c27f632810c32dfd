"""`watchbook people`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from watchbook.base.terminal import Failure, answer, failing_as, table, with_json

if TYPE_CHECKING:
    from watchbook.core.accounts.models import User


@click.group()
def people() -> None:
    """Invite and remove users, and list what they own."""


@people.command("list")
@with_json
def list_people(as_json: bool) -> None:
    """List accounts and pending invitations."""
    from watchbook.base import clock
    from watchbook.core.accounts.models import User
    from watchbook.core.people.models import Invitation

    users = list(User.objects.prefetch_related("group_memberships__group").order_by("email"))
    waiting = list(Invitation.objects.pending(clock.now()).select_related("created_by").order_by("created_at"))
    data: dict[str, Any] = {
        "people": [_person(user) for user in users],
        "invitations": [
            {
                "id": str(each.pk), "email": each.email, "name": each.name, "uses": each.uses,
                "most_uses": each.most_uses, "expires_at": each.expires_at.isoformat(),
            }
            for each in waiting
        ],
    }  # fmt: skip
    rows = [
        [row["email"], "operator" if row["operator"] else "member", ", ".join(row["groups"])] for row in data["people"]
    ]
    rows += [[str(each), "invited", f"until {each.expires_at:%Y-%m-%d}"] for each in waiting]
    answer(data, table(rows, ["email", "role", "groups"]), as_json=as_json)


def _person(user: User) -> dict[str, Any]:
    return {
        "id": str(user.pk),
        "email": user.email,
        "operator": user.is_staff,
        "active": user.is_active,
        "groups": sorted(member.group.name for member in user.group_memberships.all()),
    }


@people.command("invite")
@click.argument("email", required=False, default="")
@click.option("--by", "inviter", default="", help="E-mail of the operator who invites. Default: the first operator.")
@click.option("--operator", is_flag=True, help="Make the user an operator of this server.")
@click.option("--group", default="", help="Name of a group.")
@click.option("--days", type=int, default=7, show_default=True, help="Days until the link expires.")
@click.option("--uses", type=int, default=1, show_default=True, help="How often a link without an address can be used.")
@click.option("--no-mail", is_flag=True, help="Print the link and send no mail.")
@with_json
def invite(
    email: str, inviter: str, operator: bool, group: str, days: int, uses: int, no_mail: bool, as_json: bool
) -> None:
    """Invite a user by mail. Without an address, or if no mail can be sent, print a link. It is not shown again."""
    from watchbook.core.people import groups, invitations
    from watchbook.core.people.models import Group

    with failing_as(as_json):
        found = Group.objects.filter(folded=groups.folded(group)).first() if group else None
        if group and found is None:
            raise Failure(f"There is no group {group}.", code="not_found")
        wanted = invitations.Wanted(email=email, is_operator=operator, group=found, days=days, uses=uses)
        made, token = invitations.invite(wanted, actor=_inviter(inviter))
        is_sent = bool(made.email) and not no_mail and invitations.send(made, token)
        link = "" if is_sent else invitations.link(token)
        lines = [f"Sent to {made.email}."] if is_sent else [link]
        if made.mail_error:
            lines.insert(0, f"The mail was not sent: {made.mail_error}")
        answer(
            {"id": str(made.pk), "sent": is_sent, "link": link, "mail_error": made.mail_error}, lines, as_json=as_json
        )


def _inviter(email: str) -> User:
    from watchbook.core.accounts.models import User, normalise_email

    operators = User.objects.filter(is_staff=True, is_active=True).order_by("created_at")
    found = operators.filter(email=normalise_email(email)).first() if email else operators.first()
    if found is None:
        raise Failure("There is no such operator.", code="not_found")
    return found


@people.command("revoke")
@click.argument("email_or_id")
@with_json
def revoke(email_or_id: str, as_json: bool) -> None:
    """Revoke the pending invitations to an address, or one by its id."""
    from watchbook.base import clock
    from watchbook.core.people import invitations
    from watchbook.core.people.models import Invitation

    with failing_as(as_json):
        pending = list(Invitation.objects.pending(clock.now()))
        found = [each for each in pending if email_or_id.lower() in {each.email, str(each.pk)}]
        if not found:
            raise Failure("There is no such pending invitation.", code="not_found")
        for each in found:
            invitations.revoke(each, actor=None)
        answer({"revoked": len(found)}, [f"Revoked {len(found)}."], as_json=as_json)


@people.command("remove")
@click.argument("email")
@click.option("--to", "successor", default="", help="E-mail of the user who gets what the account owns.")
@click.option("--delete", "is_deleted", is_flag=True, help="Delete what the account owns.")
@with_json
def remove(email: str, successor: str, is_deleted: bool, as_json: bool) -> None:
    """Remove an account. What it owns is transferred with --to, or deleted with --delete."""
    from watchbook.core.accounts.models import User, normalise_email
    from watchbook.core.people import ownership

    if bool(successor) == is_deleted:
        raise click.UsageError("Give --to EMAIL or --delete.")
    with failing_as(as_json):
        user = User.objects.filter(email=normalise_email(email)).first()
        if user is None:
            raise Failure(f"There is no account {email}.", code="not_found")
        to = ownership.successor_of(user, successor)
        removed = ownership.remove(user, successor=to, actor=None)
        data = {"transferred": removed.transferred, "deleted": removed.deleted, "kept": removed.kept}
        lines = [f"{user.email} was removed."]
        lines += [f"{word}: {count} {kind}" for word, counts in data.items() for kind, count in counts.items()]
        answer(data, lines, as_json=as_json)
