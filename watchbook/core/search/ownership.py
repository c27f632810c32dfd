"""Saved searches and private documents of a user, for the removal of an account."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from watchbook.base.text import cut
from watchbook.core.accounts.models import User
from watchbook.core.registry import Owned
from watchbook.core.search import index
from watchbook.core.search.models import NAME_LENGTH, SavedSearch, SearchDocument

MODULE = "watchbook.core.search.ownership"
OWNED = (
    Owned("saved_searches", _("Saved searches"), f"{MODULE}:titles", transfer=f"{MODULE}:transfer"),
    Owned(
        "documents", _("Private search documents"), f"{MODULE}:document_ids",
        transfer=f"{MODULE}:transfer_documents", delete=f"{MODULE}:delete_documents", is_hidden=True,
    ),
)  # fmt: skip


def titles(user: User) -> list[str]:
    return list(SavedSearch.objects.of(user).values_list("name", flat=True))


def transfer(user: User, successor: User) -> None:
    """Give the saved searches away; one of the same name gets the address of the former owner behind it."""
    taken = set(SavedSearch.objects.of(successor).values_list("name", flat=True))
    for saved in SavedSearch.objects.of(user):
        if saved.name in taken:
            saved.name = _free_name(saved.name, user.email, taken)
        taken.add(saved.name)
        saved.user = successor
        saved.save(update_fields=["user", "name"])


def _free_name(name: str, email: str, taken: set[str]) -> str:
    found = cut(f"{name} ({email})", NAME_LENGTH)
    number = 2
    while found in taken:
        found = f"{cut(name, NAME_LENGTH - 8)} ({number})"
        number += 1
    return found


def document_ids(user: User) -> list[int]:
    return list(SearchDocument.objects.filter(scope=f"user:{user.pk}").values_list("pk", flat=True))


def transfer_documents(user: User, successor: User) -> None:
    # The words stay as they are; who may find them is only in this column.
    SearchDocument.objects.filter(scope=f"user:{user.pk}").update(scope=f"user:{successor.pk}")


def delete_documents(user: User) -> None:
    private = SearchDocument.objects.filter(scope=f"user:{user.pk}")
    for kind in list(private.order_by().values_list("kind", flat=True).distinct()):
        index.remove(kind, list(private.filter(kind=kind).values_list("object_id", flat=True)))
