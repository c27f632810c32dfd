"""Every API operation with random and hostile input: no server error, always the envelope, never slow."""

from __future__ import annotations

import json
import time
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.cache import cache as shared_cache
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.security import hostile_values
from tests.security.api_world import Operation, Prepared, World, alice, encoded, operations, prepared, real_path, world
from tests.security.schema_check import answer_faults, read_body
from watchbook.base.testing.environment import NIGHTLY, examples
from watchbook.base.testing.people import client_of
from watchbook.core.notify.models import Delivery

pytestmark = [
    pytest.mark.django_db,
    # ninja warns of answers that are pairs; one day it will not take them any more.
    pytest.mark.filterwarnings("error:Returning tuple:DeprecationWarning"),
]

__all__ = ["alice", "prepared", "world"]

EXAMPLES = examples(6, daily=2)
# The notes' own envelope says more.
WORDS = {"code", "message", "details", "request_id"}
WORDS_OF_NOTES = WORDS | {"retryable", "reason"}
STRANGER = "6f1c2b1e-0f5d-4c52-9a53-2f0c7be0a001"
FUZZ = settings(
    max_examples=EXAMPLES, deadline=None, database=None, derandomize=True, phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


def part(world: World, operation: Operation, name: str) -> st.SearchStrategy[str]:
    """A part of a path: something real, something like it, something else."""
    real = st.sampled_from([*world.known(operation, name), STRANGER, "1", str(2**63), str(10**30), "-1"])
    return real | hostile_values.texts.map(lambda text: text[:300] or "x")


def judge(answer: Any, seconds: float, operation: Operation | None = None) -> None:
    assert answer.status_code < 500, answer.content[:300]
    assert seconds < hostile_values.MOST_SECONDS, f"{seconds:.1f} s"
    if answer.status_code >= 400:
        is_of_notes = answer.request["PATH_INFO"].startswith("/api/v1/notes/")
        assert set(answer.json()["error"]) <= (WORDS_OF_NOTES if is_of_notes else WORDS)
        assert answer.json()["error"]["message"]
    elif operation is None and answer.status_code == 200:
        assert answer.streaming or answer.json() is not None
    if operation is not None:
        assert answer_faults(operation, answer, read_body(answer)) == []


@pytest.mark.parametrize("operation", operations(), ids=str)
def test_random_requests_get_valid_responses(operation: Operation, world: World, operator: Any) -> None:
    if "/jobs" in operation.path:
        judge(world.browser.generic(operation.method, operation.path), 0)
        world.browser = client_of(operator)

    @FUZZ
    @given(data=st.data())
    def ask(data: Any) -> None:
        path = operation.path
        for name in operation.path_names:
            path = path.replace(f"{{{name}}}", encoded(data.draw(part(world, operation, name), label=name)))
        asked = data.draw(hostile_values.query(operation.query_names), label="query")
        pairs = [(name, value.encode("utf-8", "surrogatepass")) for name, value in asked]
        given_body = (
            data.draw(hostile_values.body(operation.properties), label="body") if operation.properties else None
        )
        content = json.dumps(given_body) if operation.properties else ""
        shared_cache.clear()  # some operations are counted
        began = time.process_time()
        answer = world.browser.generic(
            operation.method, f"{path}?{urlencode(pairs)}", content, content_type="application/json"
        )
        # A part with a slash in it may name another operation.
        is_asked = encoded("/") not in path and answer.resolver_match.url_name != "nothing-here"
        judge(answer, time.process_time() - began, operation if is_asked else None)

    world.browser.raise_request_exception = False
    ask()


@pytest.mark.sql  # each database has its own limits for numbers, letters and moments
@pytest.mark.parametrize("operation", [one for one in operations() if one.query_names], ids=str)
def test_unusual_parameter_values_get_valid_responses(operation: Operation, world: World) -> None:
    world.browser.raise_request_exception = False
    path = real_path(operation, world)
    texts, cursors = (
        (hostile_values.TEXTS, hostile_values.CURSORS)
        if NIGHTLY
        else (hostile_values.FEW_TEXTS, hostile_values.FEW_CURSORS)
    )
    for name in operation.query_names:
        for value in hostile_values.some([*texts, *(cursors if name == "cursor" else ())], f"{path}?{name}"):
            asked = urlencode({name: value.encode("utf-8", "surrogatepass")})
            began = time.process_time()
            answer = world.browser.generic(operation.method, f"{path}?{asked}")
            assert answer.status_code < 500, f"{name}={value[:60]!r}: {answer.content[:300]!r}"
            judge(answer, time.process_time() - began, operation)


BODIES = {
    "nothing": b"",
    "not JSON": b"{",
    "a byte order mark": b"\xef\xbb\xbf{}",
    "not UTF-8": b'{"name": "\xff\xfe"}',
    "JSONP": b"callback({})",
    "JSON and HTML": b"{}<html>",
    "NaN": b'{"name": NaN}',
    "Infinity": b'{"name": -Infinity}',
    "1e999": b'{"name": 1e999, "check_interval_minutes": 1e999}',
    "a number of 5,000 digits": b'{"check_interval_minutes": ' + b"9" * 5000 + b"}",
    "depth 1,000": b"[" * 1000 + b"]" * 1000,
    "depth 100,000": b"[" * 100_000 + b"]" * 100_000,
    "deep objects": b'{"a":' * 5000 + b"1" + b"}" * 5000,
    "NUL": b'{"name": "\\u0000", "config": {"a\\u0000": "\\u0000"}}',
    "half a pair": b'{"name": "\\ud800"}',
    "the same key twice": b'{"name": "a", "name": "b", "name": null}',
    "a list": b"[]",
    "a word": b'"x"',
    "null": b"null",
    "10,000 keys": json.dumps({str(n): n for n in range(10_000)}).encode(),
    "a key of a megabyte": json.dumps({"k" * 1_000_000: 1}).encode(),
    "almost 5 MB": json.dumps({"name": "n" * 5_000_000}).encode(),
}
# They hold nothing that a change would mind: a name that is cut, names that nobody knows.
HARMLESS = {
    "a byte order mark", "the same key twice", "NUL", "half a pair", "10,000 keys", "a key of a megabyte",
    "almost 5 MB",
}  # fmt: skip
OTHER_KINDS = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x")
# The nightly run sends every body as every kind.
TRIED_AS_OTHER_KINDS = {"nothing", "not UTF-8", "depth 1,000"}
WITH_BODY = [operation for operation in operations() if operation.properties]
# All operations share one parser: it gets large bodies through one operation of each system, every night through all.
LARGE = {"depth 100,000", "10,000 keys", "a key of a megabyte", "almost 5 MB"}
GET_LARGE = WITH_BODY if NIGHTLY else list({one.path.split("/")[3]: one for one in WITH_BODY}.values())


@pytest.mark.parametrize("operation", WITH_BODY, ids=str)
def test_invalid_bodies_are_refused_with_the_envelope(operation: Operation, world: World) -> None:
    path = real_path(operation, world)
    for name, content in BODIES.items():
        if name in LARGE and operation not in GET_LARGE:
            continue
        for kind in ("application/json", *(OTHER_KINDS if NIGHTLY or name in TRIED_AS_OTHER_KINDS else ())):
            began = time.process_time()
            answer = world.browser.generic(operation.method, path, content, content_type=kind)
            judge(answer, time.process_time() - began, operation)
            assert answer.status_code >= 400 or name in HARMLESS, name


@pytest.mark.parametrize("kind", ["application/json", "multipart/form-data; boundary=x"])
def test_too_large_body_is_refused(kind: str, world: World) -> None:
    for operation in GET_LARGE:
        path = real_path(operation, world)
        answer = world.browser.generic(operation.method, path, b" " * (5 * 1024 * 1024 + 1), content_type=kind)
        # Who may not write at all hears that first.
        assert answer.status_code in {403, 404, 413, 422}, operation
        judge(answer, 0)


HEADERS: list[tuple[str, str]] = [
    ("HTTP_AUTHORIZATION", "Bearer \xff\u4e2d"),
    ("HTTP_AUTHORIZATION", "Bearer " + "a" * 1_000_000),
    ("HTTP_AUTHORIZATION", "Bearer wb_\0"),
    ("HTTP_AUTHORIZATION", "\r\nX: y"),
    ("HTTP_AUTHORIZATION", ""),
    ("HTTP_X_REQUEST_ID", "\x1b[31mred\r\nX-Evil: 1"),
    ("HTTP_X_REQUEST_ID", "a" * 100_000),
    ("HTTP_ACCEPT_LANGUAGE", "x" * 100_000),
    ("HTTP_ACCEPT_LANGUAGE", "zh-\0, en;q=nan, *;q=-1"),
    ("HTTP_IF_NONE_MATCH", '"' * 100_000),
    ("HTTP_IF_MODIFIED_SINCE", "Wed, 99 Foo"),
    ("HTTP_COOKIE", "a=\x1b; ;;=;" * 900),
    ("HTTP_HOST", "evil.example"),
    ("HTTP_HOST", "127.0.0.1:99999"),
    ("HTTP_X_FORWARDED_FOR", "\0, 999.1.1.1, [::1"),
    ("HTTP_X_FORWARDED_HOST", "evil.example"),
    ("HTTP_RANGE", "bytes=0-1,5-"),
    ("HTTP_USER_AGENT", "\0\x07" * 5000),
    ("HTTP_REFERER", "javascript:alert(1)"),
    ("CONTENT_LENGTH", "-1"),
    ("CONTENT_LENGTH", "many"),
    ("HTTP_ORIGIN", "null"),
]


@pytest.mark.parametrize(("method", "path"), [("GET", "/api/v1/channels"), ("POST", "/api/v1/channels")])
def test_unusual_headers_get_valid_responses(method: str, path: str, world: World) -> None:
    world.browser.raise_request_exception = False
    for name, value in HEADERS:
        began = time.process_time()
        answer = world.browser.generic(method, path, "{}", content_type="application/json", **{name: value})
        judge(answer, time.process_time() - began)
        shown = " ".join(f"{key}: {text}" for key, text in answer.headers.items())
        assert not any(letter in shown for letter in "\r\n\0\x1b")
        assert "evil.example" not in shown + answer.content.decode()


def test_every_operation_was_found(prepared: Prepared) -> None:
    named = {str(operation) for operation in operations()}
    assert {"post /api/v1/channels", "get /api/v1/search", "patch /api/v1/sitemaps/monitors/{monitor_id}"} <= named
    assert len(WITH_BODY) >= 5
    # Every test before this one was rolled back to the prepared rows.
    assert Delivery.objects.count() == len(prepared.ids["delivery_id"])
