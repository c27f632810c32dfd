"""Rows of the sitemap monitor for the walks over all addresses, API responses and pages."""

from __future__ import annotations

import pytest

from standins.sitemap_site import SitemapSite
from watchbook.core.accounts.models import User
from watchbook.systems.sitemaps.models import ChangeRecord
from watchbook.systems.sitemaps.tests.conftest import Watch, trust


def furnish(owner: User) -> dict[str, list[str]]:
    """Check a site twice, and return ids by the name that paths give them. The site is closed afterwards."""
    with SitemapSite() as site, pytest.MonkeyPatch.context() as patch:
        trust(patch, site.netloc)
        site.add_many(["/a", "/b", "/c"], lastmod="2026-01-01")
        watch = Watch(owner, site)
        watch.check()
        first = watch.monitor.current_snapshot_id
        site.add("/new", lastmod="2026-02-02")
        watch.check()
    return {
        "monitor_id": [str(watch.monitor.pk)],
        "change_id": [str(pk) for pk in ChangeRecord.objects.values_list("pk", flat=True)],
        "snapshot_id": [str(watch.monitor.current_snapshot_id)],
        "old_id": [str(first)],
        "new_id": [str(watch.monitor.current_snapshot_id)],
    }
