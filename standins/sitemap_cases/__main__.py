"""The odd sitemaps as their own process: python -m standins.sitemap_cases --port 8102."""

from __future__ import annotations

from standins.process import arguments, run
from standins.sitemap_cases import CaseSite


def main(argv: list[str] | None = None) -> None:
    given = arguments("cases", __doc__).parse_args(argv)
    site = CaseSite(host=given.host, port=given.port)
    run({"url": site.url, "cases": {case.name: site.address(case.path) for case in site.cases}}, site)


if __name__ == "__main__":
    main()
