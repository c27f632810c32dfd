"""The site as its own process: python -m standins.sitemap_site --port 8101 --pages 200 --children 3 --every 5."""

from __future__ import annotations

from standins.process import arguments, run
from standins.sitemap_site import SitemapSite


def main(argv: list[str] | None = None) -> None:
    parser = arguments("sitemap", __doc__)
    parser.add_argument("--base", help="what loc elements begin with; by default this server")
    parser.add_argument("--pages", type=int, default=40, help="how many pages to begin with")
    parser.add_argument("--children", type=int, default=0, help="0 is one plain sitemap, more is an index")
    parser.add_argument("--every", type=float, default=0, help="let the world change every so many seconds")
    given = parser.parse_args(argv)
    site = SitemapSite(base=given.base, host=given.host, port=given.port)
    if given.pages:
        site.add_bulk(given.pages)
    if given.children:
        site.split(given.children)
    addresses = {"url": site.url, "sitemap": site.sitemap, "robots": site.address("/robots.txt")}
    run(addresses, site, every=given.every, tick=site.live if given.every else None)


if __name__ == "__main__":
    main()
