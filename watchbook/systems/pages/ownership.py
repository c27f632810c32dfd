"""Websites of a user, for the removal of an account."""

from __future__ import annotations

from watchbook.core.accounts.models import User
from watchbook.core.erase import erase
from watchbook.systems.pages.models import Page, PageEvidence, PageShot, Site, WebClip
from watchbook.systems.pages.store.clips import delete_clips
from watchbook.systems.pages.store.evidence import delete_evidence
from watchbook.systems.pages.store.lists import BATCH, batched
from watchbook.systems.pages.store.pages import KIND
from watchbook.systems.pages.store.shots import delete_shots


def titles(user: User) -> list[str]:
    """Return the names of the websites of this user."""
    return list(Site.objects.of(user).order_by("name", "pk").values_list("name", flat=True))


def delete(user: User) -> None:
    """Erase the pages of this user from search, activity and notifications; the rows go with the account."""
    for site in Site.objects.filter(user=user):
        ids = [str(pk) for pk in Page.objects.filter(site=site).values_list("pk", flat=True)]
        for batch in batched(ids, BATCH):
            erase(KIND, batch)
        delete_evidence(PageEvidence.objects.filter(site=site))
        delete_shots(PageShot.objects.filter(site=site))
    delete_clips(list(WebClip.objects.filter(user=user).values_list("pk", flat=True)))
