"""Hostile values for parameters and bodies, and hypothesis strategies that combine them."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st

from watchbook.base.testing.environment import NIGHTLY

T = TypeVar("T")

# Of processor time for one answer: generous, because backtracking and quadratic work on these values take minutes.
MOST_SECONDS = 5.0
TEXTS = (
    "", " ", "\0", "a\0b", "\ud800", "\x1b[31m", "\r\nSet-Cookie: a=b", "%00", "%s%n", "{0.__class__}", "{{7*7}}",
    "../../etc", "'; DROP TABLE users; --", '"', "\\", "%", "_", "*", "<script>alert(1)</script>", "\u202e", "é" * 500,
    "😀" * 300, "a" * 70_000, "null", "true", "NaN", "Infinity", "-1", "0", "1e999", str(2**31), str(2**63),
    str(10**30), "١٢٣", "12abc", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59.999999-14:00", "2026-02-30", "24:00",
    "infinity", "-infinity", "00000000-0000-0000-0000-000000000000", "urn:uuid:00000000-0000-4000-8000-000000000000",
    "open", "pending", "changed",
)  # fmt: skip
NUMBERS = (0, -1, 1, 10**9, 10**12, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 10**40, 0.5, 1e308, -0.0)

texts = st.sampled_from(TEXTS) | st.text(max_size=40)
plain = st.none() | st.booleans() | st.sampled_from(NUMBERS) | texts
values = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=8
)
# Filters and orders that were never offered; somebody always tries them.
STRAY_NAMES = (
    "sort", "order", "order_by", "fields", "filter", "page", "page_size", "offset", "user", "user_id", "owner",
    "password", "user__password__startswith", "_connector", "_negated", "__class__", "id__in", "pk", "is_staff",
    "depth",
)  # fmt: skip


def _packed(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


CURSORS = [
    _packed([by, value, key])
    for by in ("-created_at", "-id", "-occurred_at", "-opened_at", "created_at")
    for value, key in (
        ("0001-01-01T00:00:00+14:00", "1"), ("9999-12-31T23:59:59-14:00", "1"), ("2026-01-01", "1"), ("x", "x"),
        ("2026-01-01T00:00:00+00:00", "00000000-0000-0000-0000-000000000000"), (str(10**30), str(10**30)),
        ("2026-01-01T00:00:00", "1"), ("infinity", str(2**63)), ("\0", "\0"), ("nan", "-1"), (None, None), ([], {}),
    )
]  # fmt: skip
CURSORS += [_packed(["2026-01-01T00:00:00+00:00", str(2**70)]), _packed(["0001-01-01T00:00:00+14:00", "1"])]
CURSORS += [_packed([None, "1"]), _packed([[], {}]), _packed({}), _packed([["a"] * 50] * 3)]
CURSORS += ["1.0.0", "0.99999999999999999999.1", "1.-9.9", "....", "=", "a" * 5000, "é"]
CURSORS += [base64.urlsafe_b64encode(b"[" * 700).decode()]
# For pages, which cost more than answers to programs.
FEW_TEXTS = (
    "\0", "\ud800", "a" * 70_000, "-1", str(2**63), "NaN", "0001-01-01", "9999-12-31", "2026-02-30", "24:00", "%", '"',
    "<script>alert(1)</script>", "'; DROP TABLE users; --", "\u202e", "00000000-0000-0000-0000-000000000000",
)  # fmt: skip
FEW_CURSORS = [
    _packed([value, key])
    for value, key in (
        ("0001-01-01T00:00:00+14:00", "1"), ("9999-12-31T23:59:59-14:00", "1"), ("2026-01-01", "1"), ([], {}),
        ("2026-01-01T00:00:00+00:00", "x"), (None, "\0"), (None, str(2**70)),
        (None, "00000000-0000-0000-0000-000000000000"),
    )
] + ["=", "a" * 5000, "é"]  # fmt: skip
cursors = st.sampled_from(CURSORS) | texts


def some(values: Sequence[T], place: str) -> Sequence[T]:
    """Return every third of the values, beginning at a place of their own for each page and parameter, so that every
    value is sent somewhere. In a nightly run every value is sent everywhere."""
    return values if NIGHTLY else values[zlib.crc32(place.encode()) % 3 :: 3]


def query(names: tuple[str, ...]) -> st.SearchStrategy[list[tuple[str, str]]]:
    """Parameters of a request: known names, stray ones, names twice."""
    pair = st.sampled_from((*names, *STRAY_NAMES)).flatmap(
        lambda name: st.tuples(
            st.just(name), cursors if name in {"cursor", "older", "newer", "before", "after"} else texts
        )
    )
    return st.lists(pair, max_size=5)


def body(properties: tuple[str, ...]) -> st.SearchStrategy[Any]:
    """Anything at all, or an object with names that the operation knows."""
    return values | st.dictionaries(st.sampled_from((*properties, "id", "is_staff")), values, max_size=8)
