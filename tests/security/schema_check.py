"""Does an answer look as the document says? As much of JSON Schema as our document uses, and stricter in one point:
a key that is not declared is a fault, because a generated client would not know it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any
from uuid import UUID

from tests.api_document import openapi_document
from tests.security.api_world import Operation

KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "null": (type(None),),
    "array": (list,), "object": (dict,),
}  # fmt: skip
FORMATS = {"date-time": datetime.fromisoformat, "date": date.fromisoformat, "uuid": UUID}


def read_body(answer: Any) -> bytes:
    """Once: what is streamed is gone afterwards."""
    body: bytes = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return body


def answer_faults(operation: Operation, answer: Any, body: bytes) -> list[str]:
    """What is wrong with an answer: its status is not declared, or its body is not of the declared shape."""
    declared = operation.responses.get(answer.status_code)
    if declared is None:
        return [f"{answer.status_code} is not declared"]
    if not declared.get("content"):
        return ["there is a body"] if body else []
    (kind, content), *_ = declared["content"].items()
    if not answer.headers["Content-Type"].startswith(kind):
        return [f"{answer.headers['Content-Type']} instead of {kind}"]
    return list(faults(json.loads(body), content["schema"])) if kind == "application/json" else []


def faults(value: Any, schema: dict[str, Any], at: str = "") -> Iterator[str]:
    if "$ref" in schema:
        schema = openapi_document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    for part in schema.get("allOf", ()):
        yield from faults(value, part, at)
    if choices := schema.get("anyOf"):
        found = [list(faults(value, choice, at)) for choice in choices]
        if all(found):
            yield from min(found, key=len)
        return
    if "type" in schema and not _is_a(value, schema["type"]):
        yield f"{at or 'the answer'}: {value!r:.80} is no {schema['type']}"
        return
    if isinstance(value, dict):
        yield from _object_faults(value, schema, at)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from faults(item, schema.get("items", {}), f"{at}[{number}]")
    else:
        yield from _plain_faults(value, schema, at)


def _is_a(value: Any, kind: str) -> bool:
    return isinstance(value, KINDS[kind]) and (not isinstance(value, bool) or kind == "boolean")


def _object_faults(value: dict[str, Any], schema: dict[str, Any], at: str) -> Iterator[str]:
    known, others = schema.get("properties", {}), schema.get("additionalProperties")
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{at}.{name} is missing"
    for name, item in value.items():
        if name in known:
            yield from faults(item, known[name], f"{at}.{name}")
        elif isinstance(others, dict):
            yield from faults(item, others, f"{at}.{name}")
        elif known and others is not True:
            yield f"{at}.{name} is not declared"


def _plain_faults(value: Any, schema: dict[str, Any], at: str) -> Iterator[str]:
    allowed = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if allowed is not None and value not in allowed:
        yield f"{at}: {value!r:.80} is none of {allowed}"
    if isinstance(value, str):
        if "pattern" in schema and not re.search(schema["pattern"], value):
            yield f"{at}: {value!r:.80} does not match {schema['pattern']}"
        try:
            FORMATS.get(schema.get("format", ""), str)(value)
        except ValueError:
            yield f"{at}: {value!r:.80} is no {schema['format']}"
