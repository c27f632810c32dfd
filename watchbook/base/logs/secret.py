"""A value that does not show itself."""

from __future__ import annotations

import hmac
from typing import Any, NoReturn

from watchbook.base.logs.known import remember


class Secret:
    """Holds a secret. Its text is ***; pickling and JSON refuse it; `reveal()` is where it leaves, and easy to find."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = remember(value)

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "***"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return "***"

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(self._value.encode(), other._value.encode())

    def __hash__(self) -> int:
        return hash(("secret", self._value))

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, _memo: dict[int, Any]) -> Secret:
        return self

    def __reduce_ex__(self, _protocol: Any) -> NoReturn:
        raise TypeError("a secret is not written down")
