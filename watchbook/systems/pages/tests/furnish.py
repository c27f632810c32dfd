"""Rows of the pages system for the walks over all addresses, API responses and pages."""

from __future__ import annotations

import pytest
from PIL import Image

from standins.sitemap_site import SitemapSite
from watchbook.base import clock
from watchbook.base.files import Facts
from watchbook.base.store import blobs
from watchbook.base.store.folder import scratch
from watchbook.core.accounts.models import User
from watchbook.systems.pages import actions
from watchbook.systems.pages.models import Page
from watchbook.systems.pages.store.shots import store_shot
from watchbook.systems.pages.tests.conftest import Desk, trust


def furnish(owner: User) -> dict[str, list[str]]:
    """Read a page twice with a change between, and return ids by the name that paths give them."""
    with SitemapSite() as site, pytest.MonkeyPatch.context() as patch:
        trust(patch, site.netloc)
        desk = Desk(owner, site)
        page = desk.watch("/piers/4", title="Pier 4", paragraphs=["The lift is out of service."], price="3.90")
        with clock.set_to(desk.now):
            actions.change_site(page.site, {"keeps_evidence": True})
        desk.read()
        site.write("/piers/4", paragraphs=["The lift works again."], price="4.20")
        desk.read()
        _screenshots(page, desk)
    rule = actions.add_rule(page.site, condition="price < 50")
    return {
        "pages rule_id": [str(rule.pk)],
        "pages site_id": [str(page.site_id)],
        "pages page_id": [str(page.pk)],
        "pages number": ["1", "2"],
        "pages old": ["1"],
        "pages new": ["2"],
    }


def _screenshots(page: Page, desk: Desk) -> None:
    """Two screenshots and their difference, as the browser would have left them."""
    with scratch("furnish") as folder:
        path = folder / "shot.png"
        Image.new("RGB", (64, 90), "white").save(path)
        blob = blobs.put(path)
    facts = Facts("image/png", 64, 90)
    store_shot(page, 1, blob, facts, None, now=desk.now)
    store_shot(page, 2, blob, facts, (blob, 0.0), now=desk.now)
