"""What /api/openapi.json promises: a client made from it knows every answer and every refusal."""

from __future__ import annotations

import json
import re
from datetime import date, datetime
from decimal import Decimal
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin
from uuid import UUID

import pytest
from django.db import models

from tests.api_document import openapi_document
from watchbook.core.api.schemas import Answer

DOCUMENT = openapi_document()
SHAPES = DOCUMENT["components"]["schemas"]
OPERATIONS = [
    (f"{method} {path}", facts) for path, methods in DOCUMENT["paths"].items() for method, facts in methods.items()
]
ANY = {"details"}
# Named like a column, and something else.
TOLD_OTHERWISE = {("ChannelMade", "secret"), ("RunOut", "error"), ("MonitorOut", "tags")}
KINDS = {
    models.BooleanField: bool, models.IntegerField: int, models.FloatField: float, models.DecimalField: Decimal,
    models.CharField: str, models.TextField: str, models.UUIDField: UUID, models.DateTimeField: datetime,
    models.DateField: date, models.AutoField: int,
}  # fmt: skip


def shape_of(facts: Any, status: int) -> Any:
    (content,) = facts["responses"][status]["content"].values()
    return content["schema"]


def given(facts: Any) -> set[str]:
    places = {parameter["in"] for parameter in facts["parameters"]}
    return places | ({"body"} if "requestBody" in facts else set())


@pytest.mark.parametrize(("name", "facts"), OPERATIONS, ids=[name for name, _ in OPERATIONS])
def test_every_operation_declares_its_responses(name: str, facts: Any) -> None:
    good = [status for status in facts["responses"] if status < 300]
    assert good, name
    for status in good:
        if status == 204:
            assert "content" not in facts["responses"][status]
            continue
        shape = shape_of(facts, status)
        assert "$ref" in shape or shape == {"type": "string", "format": "binary"}, (name, status, shape)


@pytest.mark.parametrize(("name", "facts"), OPERATIONS, ids=[name for name, _ in OPERATIONS])
def test_every_operation_declares_its_errors(name: str, facts: Any) -> None:
    wanted = {401, 403, 429}
    wanted |= {404} if "path" in given(facts) else set()
    wanted |= {413} if "body" in given(facts) else set()
    assert wanted <= set(facts["responses"])
    # The notes' own envelope calls a wrong body 400.
    assert not given(facts) or {400, 422} & set(facts["responses"])
    own = "NoteRefusal" if "/api/v1/notes/" in name else "Refusal"
    for status in (status for status in facts["responses"] if status >= 400):
        assert shape_of(facts, status) == {"$ref": f"#/components/schemas/{own}"}, status


def test_every_reference_exists_and_operation_ids_are_unique() -> None:
    named = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(DOCUMENT, default=str)))
    assert named
    assert named <= set(SHAPES)
    ids = [facts["operationId"] for _name, facts in OPERATIONS]
    assert len(ids) == len(set(ids))


def all_answers() -> list[type[Answer]]:
    found: list[type[Answer]] = []
    waiting: list[type[Answer]] = [Answer]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        found.append(kind)
    return sorted((kind for kind in found if kind.__name__ in SHAPES), key=lambda kind: kind.__name__)


@pytest.mark.parametrize("name", [kind.__name__ for kind in all_answers()])
def test_every_schema_has_a_description_and_declared_types(name: str) -> None:
    shape = SHAPES[name]
    assert shape.get("description", "").endswith("."), name
    assert "additionalProperties" not in shape, "fields may be added later"
    vague = [field for field, facts in shape["properties"].items() if not {"type", "$ref", "anyOf"} & set(facts)]
    assert set(vague) <= ANY


@pytest.mark.parametrize("kind", [kind for kind in all_answers() if kind.row], ids=lambda kind: kind.__name__)
def test_types_and_nulls_match_the_columns(kind: type[Answer]) -> None:
    assert kind.row is not None
    columns = {column.attname: column for column in kind.row._meta.concrete_fields}
    checked = 0
    for name, facts in kind.model_fields.items():
        kinds = set(get_args(facts.annotation)) if _is_union(facts.annotation) else {facts.annotation}
        column = columns.get(name)
        wanted = next((one for of, one in KINDS.items() if column and isinstance(_pointed(column), of)), None)
        if column is None or wanted is None:
            continue
        if (kind.__name__, name) in TOLD_OTHERWISE:
            continue
        expected = {wanted, NoneType} if column.null else {wanted}
        assert kinds == expected, f"{kind.__name__}.{name}"
        checked += 1
    assert checked > 1


def _is_union(annotation: Any) -> bool:
    return get_origin(annotation) in (Union, UnionType)


def _pointed(column: Any) -> Any:
    """What a key of another table holds."""
    return _pointed(column.target_field) if column.is_relation else column
