"""The OpenAPI document: ninja's, with the refusals of every operation, and no two shapes under one name."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from ninja.openapi.schema import OpenAPISchema
from pydantic import BaseModel, create_model

from watchbook.core.api.errors import Invalid, refusal_of, status_of
from watchbook.core.api.schemas import Refusal


def refuses(*statuses: int) -> dict[str, Any]:
    """For `openapi_extra` of an endpoint: what it may refuse with beside what every endpoint may."""
    return {"responses": {status: {} for status in statuses}}


def sends_file(media_type: str, words: str) -> dict[str, Any]:
    """For `openapi_extra` of an endpoint that answers no JSON."""
    content = {media_type: {"schema": {"type": "string", "format": "binary"}}}
    return {"responses": {200: {"description": words, "content": content}}}


class Document(OpenAPISchema):
    def get_paths(self) -> dict[str, Any]:
        paths: dict[str, Any] = super().get_paths()
        for path, operations in paths.items():
            shape = self._shape(refusal_of(path) or Refusal)
            for facts in operations.values():
                _add_refusals(facts, shape, status_of(path, Invalid.status))
        return paths

    def _shape(self, model: type[BaseModel]) -> dict[str, Any]:
        holder = create_model("Holder", answer=(model, ...))
        # ninja says that it wants a model of parameters, and gives it models of answers itself.
        found: tuple[dict[str, Any], bool] = self._create_schema_from_model(holder, mode="serialization")  # type: ignore[type-var]
        return found[0]

    def add_schema_definitions(self, definitions: dict[str, Any]) -> None:
        """Generated clients have one class per name: the second shape of a name would silently replace the first."""
        for name, shape in definitions.items():
            if self.schemas.setdefault(name, shape) != shape:
                raise TypeError(f"two different shapes of the API are called {name}")


def _add_refusals(facts: dict[str, Any], shape: dict[str, Any], invalid: int) -> None:
    good = {status: answer for status, answer in facts["responses"].items() if status < 400}
    declared = set(facts["responses"]) - set(good)
    refusals = {
        status: {"description": HTTPStatus(status).phrase, "content": {"application/json": {"schema": shape}}}
        for status in sorted(declared | _usual(facts, declared, invalid))
    }
    facts["responses"] = good | refusals


def _usual(facts: dict[str, Any], declared: set[int], invalid: int) -> set[int]:
    """No token, not allowed, too many; and where something is given: not there, not right, too large."""
    places = {parameter["in"] for parameter in facts.get("parameters", ())}
    has_body = "requestBody" in facts
    # Every operation refuses query parameters that it does not know.
    usual = {401, 403, 429} if 400 in declared else {401, 403, 429, invalid}
    if "path" in places:
        usual.add(404)
    if has_body:
        usual.add(413)
    return usual
