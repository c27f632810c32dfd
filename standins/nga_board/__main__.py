"""The board as its own process: python -m standins.nga_board --port 8103 --days 3 --every 5."""

from __future__ import annotations

from datetime import UTC, datetime

from standins.nga_board import NgaBoard
from standins.process import arguments, run


def main(argv: list[str] | None = None) -> None:
    parser = arguments("nga", __doc__)
    parser.add_argument("--fid", type=int, default=7)
    parser.add_argument("--days", type=int, default=3, help="how many days of topics to begin with")
    parser.add_argument("--every", type=float, default=0, help="let the world change every so many seconds")
    given = parser.parse_args(argv)
    board = NgaBoard(fid=given.fid, host=given.host, port=given.port)
    board.world.set_time(datetime.now(UTC))
    board.life.days(given.days)
    run({"url": board.url}, board, every=given.every, tick=board.life.live if given.every else None)


if __name__ == "__main__":
    main()
