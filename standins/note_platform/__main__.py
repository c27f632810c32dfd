"""The platform as its own process: python -m standins.note_platform --port 8103 --notes 40 --accounts 2 --every 5."""

from __future__ import annotations

from standins.note_platform import NotePlatform
from standins.process import arguments, run


def main(argv: list[str] | None = None) -> None:
    parser = arguments("notes", __doc__)
    parser.add_argument("--notes", type=int, default=40, help="how many notes to begin with")
    parser.add_argument("--accounts", type=int, default=1, help="how many accounts it knows")
    parser.add_argument("--every", type=float, default=0, help="let the world change every so many seconds")
    given = parser.parse_args(argv)
    site = NotePlatform(host=given.host, port=given.port)
    site.add_many(given.notes)
    lines = [site.add_account(f"made-up-session-{number:04}") for number in range(1, given.accounts + 1)]
    addresses = {"url": site.url, "remote": site.remote, "cookie_lines": lines}
    run(addresses, site, every=given.every, tick=site.live if given.every else None)


if __name__ == "__main__":
    main()
