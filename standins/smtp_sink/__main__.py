"""The mail sink as its own process: python -m standins.smtp_sink --port 2525 --control-port 8025."""

from __future__ import annotations

from standins.control_server import ControlServer
from standins.process import arguments, run
from standins.smtp_sink import SmtpSink


def main(argv: list[str] | None = None) -> None:
    parser = arguments("smtp", __doc__)
    parser.add_argument("--control-port", type=int, default=0, help="where messages can be read over HTTP")
    given = parser.parse_args(argv)
    sink = SmtpSink(host=given.host, port=given.port)
    desk = ControlServer(sink, host=given.host, port=given.control_port)
    run({"smtp": sink.netloc, "control": desk.url}, sink, desk)


if __name__ == "__main__":
    main()
