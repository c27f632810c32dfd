"""The table of the seed, and addresses in one written form."""

from __future__ import annotations

import pytest
from allauth.account.models import EmailAddress
from django.db import IntegrityError, connection, transaction

from watchbook.core.accounts.models import User, normalise_email

pytestmark = pytest.mark.django_db


def test_table_has_the_columns_of_the_seed() -> None:
    with connection.cursor() as cursor:
        columns = {column.name for column in connection.introspection.get_table_description(cursor, "users")}
        indexes = connection.introspection.get_constraints(cursor, "users")
    assert columns >= {
        "id", "email", "password_hash", "is_active", "is_verified", "has_completed_onboarding",
        "created_at", "updated_at", "last_login_at",
    }  # fmt: skip
    assert indexes["idx_user_email"]["columns"] == ["email"]


def test_password_is_kept_as_bcrypt_hash() -> None:
    user = User.objects.create_user("ada@example.com", "a long enough secret")
    with connection.cursor() as cursor:
        cursor.execute("SELECT password_hash FROM users")
        (kept,) = cursor.fetchone()
    assert kept.startswith("bcrypt_sha256$")
    assert user.check_password("a long enough secret")


@pytest.mark.parametrize(
    "typed",
    [
        "Ada@Example.com",
        " ada@example.com ",
        "ＡＤＡ@example.com",
        "ada@ｅxample.com",
        "ada@exa\u24dcple.com".replace("\u24dc", "ⓜ"),
    ],
)
def test_spellings_of_an_address_are_one_account(typed: str) -> None:
    User.objects.create_user("ada@example.com", None)
    assert normalise_email(typed) == "ada@example.com"
    with pytest.raises(IntegrityError), transaction.atomic():
        User.objects.create_user(typed, None)
    assert User.objects.get_by_natural_key(typed).email == "ada@example.com"


def test_address_written_directly_is_normalised_too() -> None:
    user = User(email="Grace@Example.com")
    user.set_unusable_password()
    user.save()
    user.refresh_from_db()
    assert user.email == "grace@example.com"


def test_saving_some_fields_moves_updated_at(noon: object) -> None:
    user = User.objects.create_user("ada@example.com", None)
    User.objects.filter(pk=user.pk).update(updated_at="2020-01-01T00:00:00Z")
    user.theme = "dark"
    user.save(update_fields=["theme"])
    user.refresh_from_db()
    assert user.updated_at == noon


def test_verified_account_is_verified_for_allauth_too() -> None:
    User.objects.create_user("ada@example.com", None, is_verified=True)
    User.objects.create_user("bea@example.com", None)
    assert dict(EmailAddress.objects.values_list("email", "verified")) == {
        "ada@example.com": True,
        "bea@example.com": False,
    }
