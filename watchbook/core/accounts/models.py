"""Users, API and feed tokens, and the audit log, which rows are only added to."""

from __future__ import annotations

import unicodedata
from datetime import datetime
from typing import Any, ClassVar, NoReturn
from uuid import uuid4

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import models, transaction
from django.utils.translation import gettext_lazy as _

from watchbook.base import clock
from watchbook.core.accounts.sessions import session_auth_hash

LONGEST_EMAIL = 255


def normalise_email(email: str) -> str:
    """Return the one form of an address that is stored and compared, so that two spellings are one account."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", email).strip().lower())


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> User:
        """A verified account can sign in immediately; any other gets a link to confirm its address when it tries to."""
        from allauth.account.models import EmailAddress  # allauth's models need this one to be loaded

        user = self.model(email=normalise_email(email), **fields)
        user.set_password(password)
        with transaction.atomic(using=self._db):
            user.save(using=self._db)
            EmailAddress.objects.create(user=user, email=user.email, verified=user.is_verified, primary=True)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> User:
        """The name that Django's own command calls; our word is operator."""
        return self.create_user(email, password, **{"is_staff": True, "is_verified": True, **fields})

    def get_by_natural_key(self, username: str | None) -> User:
        return self.get(email=normalise_email(username or ""))


class Theme(models.TextChoices):
    SYSTEM = "", _("System default")
    LIGHT = "light", _("Light")
    DARK = "dark", _("Dark")


class User(AbstractBaseUser):
    """A user who signs in with an e-mail address. `is_staff` makes an operator."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False, db_comment="主键")
    email = models.EmailField(max_length=LONGEST_EMAIL, unique=True, db_comment="邮箱地址，用于登录")
    password = models.CharField(max_length=255, db_column="password_hash", db_comment="bcrypt 哈希后的密码")
    is_active = models.BooleanField(default=True, db_default=True, db_comment="账号是否激活")
    is_verified = models.BooleanField(default=False, db_default=False, db_comment="邮箱是否已验证")
    has_completed_onboarding = models.BooleanField(default=False, db_default=False, db_comment="是否完成新手引导")
    created_at = models.DateTimeField(default=clock.now, editable=False, db_comment="注册时间")
    updated_at = models.DateTimeField(default=clock.now, editable=False, db_comment="最后更新时间")
    last_login = models.DateTimeField(null=True, blank=True, db_column="last_login_at", db_comment="最后登录时间")
    is_staff = models.BooleanField(default=False, db_comment="是否为管理员")
    # Empty: as the browser asks. A zone that is empty is the installation's.
    language = models.CharField(max_length=10, blank=True, default="", db_comment="界面语言")
    time_zone = models.CharField(max_length=64, blank=True, default="", db_comment="显示时区")
    # Part of what a session is bound to: a new value ends all of them.
    session_salt = models.CharField(max_length=16, blank=True, default="", db_comment="会话盐值")
    theme = models.CharField(max_length=5, blank=True, default="", choices=Theme.choices, db_comment="界面主题")

    objects: ClassVar[UserManager] = UserManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        db_table = "users"
        db_table_comment = "用户"
        indexes = [models.Index(fields=["email"], name="idx_user_email")]

    def __str__(self) -> str:
        return self.email

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.email = normalise_email(self.email)
        self.updated_at = clock.now()
        fields = kwargs.get("update_fields")
        if fields is not None:
            kwargs["update_fields"] = {*fields, "updated_at"}
        super().save(*args, **kwargs)

    # What a session is bound to: the password and the salt.
    _get_session_auth_hash = session_auth_hash

    @property
    def last_login_at(self) -> datetime | None:
        return self.last_login


class Purpose(models.TextChoices):
    API = "api"
    FEED = "feed"


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    def usable(self, now: datetime) -> ApiTokenQuerySet:
        alive = models.Q(expires_at=None) | models.Q(expires_at__gt=now)
        return self.filter(alive, revoked_at=None, user__is_active=True)

    def of(self, user: User, purpose: str = Purpose.API) -> ApiTokenQuerySet:
        return self.filter(user=user, purpose=purpose).order_by("-created_at", "-pk")


class ApiToken(models.Model):
    """A key that a program carries instead of a person. Only its digest is kept."""

    user = models.ForeignKey(User, models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=100, blank=True, default="")
    purpose = models.CharField(max_length=4, choices=Purpose.choices, default=Purpose.API)
    # The eight characters after wb_: they find the row and are safe to show.
    prefix = models.CharField(max_length=8, unique=True)
    digest = models.CharField(max_length=64)
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField(default=clock.now, editable=False)
    expires_at = models.DateTimeField(null=True, default=None)
    last_used_at = models.DateTimeField(null=True, default=None)
    revoked_at = models.DateTimeField(null=True, default=None)

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        db_table = "api_tokens"

    def __str__(self) -> str:
        return f"wb_{self.prefix}…"

    def allows(self, *scopes: str) -> bool:
        """Every one of the scopes is held by name; there is no wildcard."""
        return bool(scopes) and all(scope in self.scopes for scope in scopes)


class OnlyAppended(Exception):
    """Rows of the audit log are never changed or removed through the program."""


class AuditEventQuerySet(models.QuerySet["AuditEvent"]):
    def _refuse(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise OnlyAppended("the audit log only grows")

    update = delete = bulk_update = update_or_create = _refuse
    _raw_delete = _refuse


class AuditEvent(models.Model):
    """One security event. The actor is kept by value: the row outlives the account."""

    happened_at = models.DateTimeField(editable=False)
    event = models.CharField(max_length=60)
    actor_id = models.UUIDField(null=True, default=None)
    actor_email = models.CharField(max_length=LONGEST_EMAIL, blank=True, default="")
    subject = models.CharField(max_length=255, blank=True, default="")
    address = models.CharField(max_length=45, blank=True, default="")
    user_agent = models.CharField(max_length=200, blank=True, default="")
    request_id = models.CharField(max_length=128, blank=True, default="")
    details = models.JSONField(default=dict)

    objects = AuditEventQuerySet.as_manager()

    class Meta:
        db_table = "audit_events"
        indexes = [
            models.Index(fields=["actor_id", "-id"], name="audit_events_actor"),
            models.Index(fields=["event", "-id"], name="audit_events_event"),
        ]

    def __str__(self) -> str:
        return f"{self.event} #{self.pk}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise OnlyAppended("the audit log only grows")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise OnlyAppended("the audit log only grows")
