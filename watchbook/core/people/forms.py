"""Forms of invitations, of signing up with one, and of removing an account."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from watchbook.core.accounts.forms import PasswordForm, SignupForm
from watchbook.core.accounts.models import LONGEST_EMAIL, User
from watchbook.core.people import invitations, roles
from watchbook.core.people.invitations import Wanted
from watchbook.core.people.models import NAME_LENGTH, Group, Invitation

MEMBER, OPERATOR = "member", "operator"
ROLES = [(MEMBER, _("Member")), (OPERATOR, _("Operator"))]
DAYS = [(7, _("7 days")), (1, _("1 day")), (30, _("30 days")), (90, _("90 days"))]


class InviteForm(forms.Form):
    """Who is invited, to what, and for how long."""

    email = forms.EmailField(label=_("E-mail"), max_length=LONGEST_EMAIL - 1)
    name = forms.CharField(
        label=_("Name of the link"),
        max_length=NAME_LENGTH,
        required=False,
        help_text=_("For your list of invitations, such as: Press team."),
    )
    role = forms.ChoiceField(label=_("Role"), choices=ROLES)
    group = forms.ModelChoiceField(label=_("Group"), queryset=Group.objects.none(), required=False)
    place = forms.ChoiceField(label=_("Access to"), required=False)
    days = forms.TypedChoiceField(label=_("Expires after"), choices=DAYS, coerce=int, initial=7)
    uses = forms.TypedChoiceField(
        label=_("Uses"), choices=[(1, "1"), (5, "5"), (20, "20"), (100, "100")], coerce=int, initial=5
    )
    language = forms.ChoiceField(label=_("Language of the e-mail"), required=False)

    def __init__(self, *args: Any, user: User, by_link: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        fields: dict[str, Any] = self.fields
        fields["group"].queryset = Group.objects.order_by("folded")
        fields["group"].empty_label = _("None")
        offered = roles.choices(user, of_server=False)
        fields["place"].choices = [("", _("None")), *((each.value, each.title) for each in offered)]
        fields["language"].choices = settings.LANGUAGES
        fields["language"].initial = get_language()
        for name in ("email", "language") if by_link else ("name", "uses"):
            del fields[name]
        if not Group.objects.exists():
            del fields["group"]
        if not offered:
            del fields["place"]

    def wanted(self) -> Wanted:
        given = self.cleaned_data
        return Wanted(
            email=given.get("email", ""),
            name=given.get("name", ""),
            is_operator=given["role"] == OPERATOR,
            group=given.get("group"),
            place=roles.choice_of(self.user, given.get("place", ""), of_server=False),
            days=given["days"],
            uses=given.get("uses", 1),
            language=given.get("language", ""),
        )


class AcceptForm(SignupForm):
    """Sign-up with an invitation. An invitation to an address is for this address alone."""

    def __init__(self, *args: Any, request: HttpRequest, invitation: Invitation, **kwargs: Any) -> None:
        self.invitation = invitation
        super().__init__(*args, request=request, **kwargs)
        if invitation.email:
            self.fields["email"].initial = invitation.email
            self.fields["email"].disabled = True

    def save(self, request: HttpRequest) -> User:
        """Create the account and use the invitation, both or neither."""
        with transaction.atomic():
            user = super().save(request)
            if not user.language and self.invitation.language:
                user.language = self.invitation.language
                user.save(update_fields=["language"])
            invitations.accept(self.invitation, user, request=request)
        return user


class RemoveForm(forms.Form):
    """What happens to the things of an account that is removed."""

    what = forms.ChoiceField(
        label=_("What the user owns"),
        choices=[("transfer", _("Transfer to another user")), ("delete", _("Delete"))],
        widget=forms.RadioSelect,
    )
    successor = forms.EmailField(label=_("New owner"), required=False, max_length=LONGEST_EMAIL - 1)

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        if given.get("what") == "transfer" and not given.get("successor") and "successor" not in self.errors:
            self.add_error("successor", _("Enter the e-mail of the new owner."))
        return given

    @property
    def successor_email(self) -> str:
        return str(self.cleaned_data["successor"]) if self.cleaned_data["what"] == "transfer" else ""


class LeaveForm(RemoveForm, PasswordForm):
    """Leaving needs the password, too."""

    field_order = ("what", "successor", "password")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["what"].label = _("What you own")
        self.fields["what"].required = False  # nothing chosen: deleted, as the page says
