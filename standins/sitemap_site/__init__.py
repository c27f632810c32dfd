"""A site with sitemaps of every shape, and a ledger that knows what they truly listed at any moment.

with SitemapSite() as site:
    site.add("/a", lastmod="2026-01-01")
    before = site.mark()
    site.edit("/a", lastmod="2026-02-01")
    site.changes_between(before, site.mark()).modified
"""

from standins.sitemap_site.layout import Layout, Validators
from standins.sitemap_site.ledger import Changes, Ledger, Modified
from standins.sitemap_site.pages import Bulk, PageRecord
from standins.sitemap_site.site import SitemapSite

__all__ = ["Bulk", "Changes", "Layout", "Ledger", "Modified", "PageRecord", "SitemapSite", "Validators"]
