"""Groups of users with their roles, invitations, and identities at an OpenID provider."""

from __future__ import annotations

from datetime import datetime
from uuid import uuid4

from django.conf import settings
from django.db import models

from watchbook.base import clock
from watchbook.core.accounts.models import LONGEST_EMAIL

NAME_LENGTH = 100
# A system's slug and the id of a place in it.
SOURCE_LENGTH = 40
PLACE_LENGTH = 100
ROLE_LENGTH = 40


class Group(models.Model):
    """Users who get the same roles."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    name = models.CharField(max_length=NAME_LENGTH)
    # The name in one form, so that two spellings are one group on every database.
    folded = models.CharField(max_length=NAME_LENGTH, unique=True)
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        db_table = "people_groups"

    def __str__(self) -> str:
        return self.name


class GroupMember(models.Model):
    group = models.ForeignKey(Group, models.CASCADE, related_name="members", db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="group_memberships")
    # True: single sign-on put the user here, and removes it when the provider no longer names the group.
    by_sign_in = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        db_table = "people_group_members"
        constraints = [models.UniqueConstraint(fields=["group", "user"], name="people_group_members_once")]


class GroupRole(models.Model):
    """A role that every member of the group gets in one place of one system, or on this server."""

    group = models.ForeignKey(Group, models.CASCADE, related_name="roles", db_index=False)
    source = models.CharField(max_length=SOURCE_LENGTH)
    place = models.CharField(max_length=PLACE_LENGTH)
    role = models.CharField(max_length=ROLE_LENGTH)
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        db_table = "people_group_roles"
        constraints = [models.UniqueConstraint(fields=["group", "source", "place"], name="people_group_roles_once")]


class GivenRole(models.Model):
    """A role that a user has because of groups, and the role before it, to which the user returns."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False)
    source = models.CharField(max_length=SOURCE_LENGTH)
    place = models.CharField(max_length=PLACE_LENGTH)
    role = models.CharField(max_length=ROLE_LENGTH)
    previous = models.CharField(max_length=ROLE_LENGTH, blank=True, default="")

    class Meta:
        db_table = "people_given_roles"
        constraints = [models.UniqueConstraint(fields=["user", "source", "place"], name="people_given_roles_once")]


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def pending(self, now: datetime) -> InvitationQuerySet:
        """Return those that can still be accepted."""
        return self.filter(revoked_at=None, expires_at__gt=now, uses__lt=models.F("most_uses"))


class Invitation(models.Model):
    """A link with which an account can be created. Only the digest of its token is stored."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    digest = models.CharField(max_length=64, unique=True)
    # The only address that can accept it; empty for a link that any holder can use.
    email = models.CharField(max_length=LONGEST_EMAIL, blank=True, default="")
    name = models.CharField(max_length=NAME_LENGTH, blank=True, default="")
    is_operator = models.BooleanField(default=False)
    group = models.ForeignKey(Group, models.SET_NULL, null=True, default=None, related_name="+")
    source = models.CharField(max_length=SOURCE_LENGTH, blank=True, default="")
    place = models.CharField(max_length=PLACE_LENGTH, blank=True, default="")
    role = models.CharField(max_length=ROLE_LENGTH, blank=True, default="")
    language = models.CharField(max_length=10, blank=True, default="")
    most_uses = models.PositiveIntegerField(default=1)
    uses = models.PositiveIntegerField(default=0)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="invitations")
    created_at = models.DateTimeField(default=clock.now)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, default=None)
    # The mail server accepted the mail with the present token: its reader owns the address.
    sent_at = models.DateTimeField(null=True, default=None)
    # What the mail server answered instead.
    mail_error = models.CharField(max_length=300, blank=True, default="")

    objects = InvitationQuerySet.as_manager()

    class Meta:
        db_table = "people_invitations"
        indexes = [models.Index(fields=["-created_at"], name="people_invitations_new")]

    def __str__(self) -> str:
        return self.email or self.name or str(self.pk)

    def state(self, now: datetime) -> str:
        """Return pending, used, expired or revoked."""
        if self.revoked_at is not None:
            return "revoked"
        if self.uses >= self.most_uses:
            return "used"
        return "pending" if self.expires_at > now else "expired"


class ExternalIdentity(models.Model):
    """A user of an OpenID provider, by issuer and subject, and the account to which it belongs."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="identities")
    issuer = models.CharField(max_length=255)
    subject = models.CharField(max_length=255)
    created_at = models.DateTimeField(default=clock.now)
    used_at = models.DateTimeField(default=clock.now)

    class Meta:
        db_table = "people_identities"
        constraints = [models.UniqueConstraint(fields=["issuer", "subject"], name="people_identities_once")]
