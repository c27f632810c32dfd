"""The router of the notes API, and how its endpoints are declared: bodies in the documentation, answers enveloped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from ninja import Router

from watchbook.core.api.document import refuses
from watchbook.core.api.schemas import Answer
from watchbook.systems.notes.access import working
from watchbook.systems.notes.api.envelope import answered
from watchbook.systems.notes.validation import Body

router = Router()

Declared = Callable[[Callable[..., Any]], Callable[..., Any]]


def body_schema(model: type[Body]) -> dict[str, Any]:
    """Return the JSON schema of a body with its parts inlined, for the API documentation."""
    schema = model.model_json_schema()
    parts = schema.pop("$defs", {})

    def inline(node: Any) -> Any:
        if isinstance(node, dict):
            if "$ref" in node:
                return inline(parts[node["$ref"].rpartition("/")[2]])
            return {
                name: inline(value) for name, value in node.items() if name != "title" or not isinstance(value, str)
            }
        return [inline(one) for one in node] if isinstance(node, list) else node

    inlined: dict[str, Any] = inline(schema)
    return inlined


def post(path: str, body: type[Body], answer: type[Answer], *refusals: int, partly: bool = False) -> Declared:
    """Bodies are parsed in `validation`, so that a wrong one gets the envelope; the schema is for the documentation."""
    made: Declared = router.post(
        path,
        auth=working,
        response={200: answer, 207: answer} if partly else answer,
        exclude_unset=True,
        openapi_extra={**_documented(body), **refuses(400, *refusals)},
    )
    return made


def patch(path: str, body: type[Body], answer: type[Answer]) -> Declared:
    made: Declared = router.patch(
        path,
        auth=working,
        response=answer,
        exclude_unset=True,
        openapi_extra={**_documented(body), **refuses(400, 404)},
    )
    return made


def delete(path: str, answer: type[Answer]) -> Declared:
    made: Declared = router.delete(path, auth=working, response=answer, openapi_extra=refuses(404))
    return made


def _documented(body: type[Body]) -> dict[str, Any]:
    needed = any(field.is_required() for field in body.model_fields.values())
    return {"requestBody": {"required": needed, "content": {"application/json": {"schema": body_schema(body)}}}}


def listed_in_envelope(request: HttpRequest, found: Any) -> Any:
    """A page in the envelope of this API; a file as it is."""
    if not isinstance(found, dict):
        return found
    return answered(request, lambda call: (200, {"success": True, **found, "error": None}))
