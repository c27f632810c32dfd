"""Settings: declared once, typed, documented, checked at start.

    RETENTION = Option("SITEMAPS_RETENTION_DAYS", days, default=90, minimum=1, help="How long snapshots are kept.")
    RETENTION.value  # reads the environment each time, so that a test may change it

The environment wins. An option with a `group` can also be stored by an operator in the browser; `use_stored` gives the
stored values to this process.

`declared()` lists every option whose module was imported; the reference docs and `doctor` are made from it.

Optional packages. The embedded default (SQLite, one process) needs none; a setting that needs one names it.

require("psycopg", "postgres", "DATABASE_URL names PostgreSQL")
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Generic, TypeVar, cast
from urllib.parse import urlsplit

T = TypeVar("T")

_DECLARED: dict[str, Option[object]] = {}
_STORED: dict[str, str] = {}
_FOLLOWERS: list[Callable[[], None]] = []


class InvalidSetting(Exception):
    """A setting cannot be used as it is written. The message is one clear line for the operator.

    `rule` and `about` say the same for a page in another language: which rule the value breaks, and its limit.
    """

    def __init__(self, message: str, *, rule: str = "", about: str = "") -> None:
        super().__init__(message)
        self.rule = rule
        self.about = about


def text(raw: str) -> str:
    return raw.strip()


def integer(raw: str) -> int:
    try:
        return int(raw.strip())
    except ValueError:
        raise ValueError("expected a whole number") from None


def number(raw: str) -> float:
    try:
        return float(raw.strip())
    except ValueError:
        raise ValueError("expected a number") from None


def switch(raw: str) -> bool:
    word = raw.strip().lower()
    if word in {"1", "on", "true", "yes"}:
        return True
    if word in {"0", "off", "false", "no", ""}:
        return False
    raise ValueError("expected on or off")


def origin(raw: str) -> str:
    """The address of a site, without a slash at its end."""
    address = raw.strip().rstrip("/")
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path or parts.query or parts.fragment:
        raise ValueError("expected an address such as https://www.example.com")
    return address


NO_WORDS: tuple[str, ...] = ()


def words(raw: str) -> tuple[str, ...]:
    """Comma-separated words without the empty ones."""
    return tuple(part.strip() for part in raw.split(",") if part.strip())


class Option(Generic[T]):
    """One setting: an environment variable and, with a `group`, a field of the settings page."""

    def __init__(
        self,
        name: str,
        read: Callable[[str], T],
        *,
        default: T,
        help: object,
        choices: tuple[T, ...] | None = None,
        minimum: float | None = None,
        maximum: float | None = None,
        secret: bool = False,
        group: str = "",
        title: object = "",
    ) -> None:
        self.name = name
        self.read = read
        self.default = default
        self.help = help
        self.choices = choices
        self.minimum = minimum
        self.maximum = maximum
        self.secret = secret
        # Of the settings page: the group of fields, and the label of this one. Without a group it cannot be stored.
        self.group = group
        self.title = title
        self.order = len(_DECLARED)
        _DECLARED[name] = cast("Option[object]", self)

    @property
    def is_in_environment(self) -> bool:
        return os.environ.get(self.name, "").strip() != ""

    @property
    def is_set(self) -> bool:
        return self.is_in_environment or self.name in _STORED

    @property
    def value(self) -> T:
        raw = os.environ[self.name] if self.is_in_environment else _STORED.get(self.name, "")
        return self.parse(raw) if raw.strip() else self.default

    def parse(self, raw: str) -> T:
        """Return the value that this text means. Raise InvalidSetting with one clear line."""
        shown = "a value" if self.secret else repr(raw)
        try:
            value = self.read(raw)
        except ValueError as error:
            raise InvalidSetting(f"{self.name} is {shown}: {error}", rule="form", about=str(error)) from None
        if self.choices is not None and value not in self.choices:
            offered = ", ".join(map(str, self.choices))
            raise InvalidSetting(f"{self.name} is {shown}: expected one of {offered}", rule="choice", about=offered)
        if self.minimum is not None and cast(float, value) < self.minimum:
            least = f"{self.minimum:g}"
            raise InvalidSetting(f"{self.name} is {shown}: the least is {least}", rule="least", about=least)
        if self.maximum is not None and cast(float, value) > self.maximum:
            most = f"{self.maximum:g}"
            raise InvalidSetting(f"{self.name} is {shown}: the most is {most}", rule="most", about=most)
        return value


def declared() -> Mapping[str, Option[object]]:
    return dict(sorted(_DECLARED.items()))


def use_stored(values: Mapping[str, str]) -> None:
    """Use these stored values from now on in this process; call the functions of `on_stored_change`."""
    if values == _STORED:
        return
    _STORED.clear()
    _STORED.update(values)
    for follow in _FOLLOWERS:
        follow()


def on_stored_change(follow: Callable[[], None]) -> None:
    """Call this function after stored values have changed."""
    _FOLLOWERS.append(follow)


def check_all() -> None:
    """Read every declared option once; raises InvalidSetting for the first bad one."""
    for option in declared().values():
        option.value  # noqa: B018 - reading is the check


def load_dotenv(path: Path) -> None:
    """Put NAME=value lines of a file into the environment; what is already set wins."""
    if not path.is_file():
        return
    for number_, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        name, equals, value = line.removeprefix("export ").partition("=")
        if not equals or not name.strip().isidentifier():
            raise InvalidSetting(f"{path}, line {number_}: expected NAME=value")
        value = value.strip()
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        os.environ.setdefault(name.strip(), value)


def is_installed(module: str) -> bool:
    return find_spec(module) is not None


def how_to_install(extra: str) -> str:
    return f"pip install 'watchbook[{extra}]'"


def require(module: str, extra: str, reason: str) -> None:
    """Raise InvalidSetting with the command that installs what is missing."""
    if not is_installed(module):
        raise InvalidSetting(f"{reason}. Install the extra: {how_to_install(extra)}.")
