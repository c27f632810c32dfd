"""Sessions at rest: a row is found by a digest of the cookie, and its content is encrypted and bound to that row.

A reader of the table can neither take a session over nor see its content, such as a key of two-factor sign-in on its
way or the key of a reset link. Named by SESSION_ENGINE; Django looks for `SessionStore` here.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.sessions.backends import db
from django.utils import timezone
from django.utils.crypto import salted_hmac

from watchbook.base.crypto import Cipher, DecryptionError, KeyRing

if TYPE_CHECKING:
    from watchbook.core.accounts.models import User

# The column's length; 160 bits of a digest of a random key.
ROW_NAME = 40


def row_name(session_key: str) -> str:
    return hashlib.sha256(session_key.encode("utf-8", "replace")).hexdigest()[:ROW_NAME]


def session_auth_hash(user: User, secret: str | None = None) -> str:
    """Return what a session of this user holds. Another password or salt ends the session."""
    bound: str = AbstractBaseUser._get_session_auth_hash(user, secret=secret)  # type: ignore[attr-defined]
    return salted_hmac(user.session_salt, bound, algorithm="sha256").hexdigest() if user.session_salt else bound


class SessionStore(db.SessionStore):
    def _get_session_from_db(self) -> Any:
        rows = self.model.objects.filter(session_key=row_name(self.session_key or ""), expire_date__gt=timezone.now())
        found = rows.first()
        if found is None:
            self._session_key = None
        return found

    def exists(self, session_key: str) -> bool:
        return super().exists(row_name(session_key))

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        row = super().create_model_instance(data)
        row.session_key = row_name(row.session_key)
        return row

    def delete(self, session_key: str | None = None) -> None:
        key = session_key or self.session_key
        if key is not None:
            super().delete(row_name(key))

    def encode(self, session_dict: dict[str, Any]) -> str:
        return _cipher().encrypt(super().encode(session_dict), bound_to=self._bound_to())

    def decode(self, session_data: bytes | str) -> dict[str, Any]:
        """Of another key, moved to another row, or damaged: no user is signed in."""
        try:
            return super().decode(_cipher().decrypt(str(session_data), bound_to=self._bound_to()))
        except DecryptionError:
            return {}

    def _bound_to(self) -> str:
        return f"session:{row_name(self.session_key or '')}"


def _cipher() -> Cipher:
    # Not `decrypt`: what that opens is remembered in order to be masked, and there are too many sessions for it.
    return Cipher(KeyRing(settings.SECRETS_KEYS))
