"""The stand-in as its own process: python -m standins.reddit --port 8104 --communities 20 --every 5."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from standins.process import arguments, run
from standins.reddit import Life, RedditSite


def main(argv: list[str] | None = None) -> None:
    parser = arguments("reddit", __doc__)
    parser.add_argument("--communities", type=int, default=12, help="how many communities there are")
    parser.add_argument("--names", default="", help="their names, comma-separated; by default made up")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=float, default=0, help="let an hour pass every so many seconds")
    given = parser.parse_args(argv)
    site = RedditSite(host=given.host, port=given.port)
    site.rate_budget = 1_000_000
    names = given.names.split(",") if given.names else [f"madeup{n:03}" for n in range(given.communities)]
    now = datetime.now(UTC)
    life = Life(site.world, names, now, 30, seed=given.seed)
    life.until(now)

    def tick() -> None:
        life.until(site.world.now() + timedelta(hours=1))

    if not given.every:
        site.world.hold_time(None)
    run({"url": site.url, **site.environment()}, site, every=given.every, tick=tick if given.every else None)


if __name__ == "__main__":
    main()
