"""The OpenAPI document of the whole product, built once per process: pydantic takes a second for it."""

from __future__ import annotations

from functools import cache
from typing import Any

from watchbook.core.api.shell import build_api


@cache
def openapi_document() -> Any:
    return build_api().get_openapi_schema(path_prefix="/api/")
