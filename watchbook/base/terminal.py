"""What every command shares: `--json`, `--now`, tables, errors as one sentence, progress on a terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar

import click

from watchbook.base import clock
from watchbook.base.invalid import InvalidInput

F = TypeVar("F", bound=Callable[..., Any])

EARLIEST_YEAR, LATEST_YEAR = 1990, 2200


class Failure(click.ClickException):
    """A command that did not do its job: one clear sentence, exit code 1. `code` goes into the JSON form."""

    exit_code = 1

    def __init__(self, message: str, code: str = "failed") -> None:
        super().__init__(message)
        self.code = code


class _Moment(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    name = "ISO"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        try:
            moment = clock.parse(value)
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is not an ISO date and time", param, ctx)
        # A lease or a next slot is reckoned from it; at the ends of the calendar there is no room for one.
        if not EARLIEST_YEAR <= moment.year <= LATEST_YEAR:
            self.fail(f"{value!r} is not between the years {EARLIEST_YEAR} and {LATEST_YEAR}", param, ctx)
        return moment


def with_json(command: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(command)


def with_now(command: F) -> F:
    return click.option("--now", type=_Moment(), default=None, help="Act as if it were this moment.")(command)


def answer(data: dict[str, Any], lines: Iterable[str], *, as_json: bool) -> None:
    """Print the JSON form or the lines for people."""
    if as_json:
        click.echo(json.dumps(data, ensure_ascii=False, default=_plain))
    else:
        for line in lines:
            click.echo(line)


def _plain(value: Any) -> str:
    """What JSON has no form for: moments as ISO writes them, anything else as text."""
    return value.isoformat() if isinstance(value, datetime) else str(value)


@contextmanager
def failing_as(as_json: bool) -> Iterator[None]:
    """Turn invalid input into a failure; with --json a failure is JSON, too: {"error": {"code", "message"}}."""
    try:
        with _refused_as_failure():
            yield
    except Failure as failure:
        if not as_json:
            raise
        click.echo(json.dumps({"error": {"code": failure.code, "message": failure.message}}, ensure_ascii=False))
        raise SystemExit(failure.exit_code) from None


@contextmanager
def _refused_as_failure() -> Iterator[None]:
    try:
        yield
    except InvalidInput as error:
        raise Failure(error.message, error.code) from None


def table(rows: Sequence[Sequence[Any]], head: Sequence[str]) -> Iterator[str]:
    """Columns padded to their widest cell."""
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[n]) for row in cells) for n in range(len(head))]
    for row in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


class Progress:
    """Counts on one line of a terminal; nothing when the output is a file or a pipe."""

    def __init__(self) -> None:
        self.shown = sys.stderr.isatty()

    def __call__(self, figures: dict[str, Any]) -> None:
        if self.shown:
            text = "  ".join(f"{name} {value}" for name, value in figures.items())
            click.echo(f"\r\x1b[2K{text}"[:200], nl=False, err=True)

    def end(self) -> None:
        if self.shown:
            click.echo("\r\x1b[2K", nl=False, err=True)
