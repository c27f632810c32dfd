"""JSON bodies read strictly: one document, no NaN, no bottomless nesting, no text that a database refuses."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest
from ninja.parser import Parser

from watchbook.base.text import clean_text
from watchbook.core.api.errors import Invalid

DEEPEST = 100


class StrictParser(Parser):
    def parse_body(self, request: HttpRequest) -> Any:
        document = read_json(request.body)
        # ninja would look for fields among the attributes of a list or a text, find none, and call it a valid change.
        if not isinstance(document, dict):
            raise Invalid("The body must be a JSON object.", code="invalid_json")
        return document


def read_json(raw: bytes) -> Any:
    """Raises Invalid for anything that is not plain JSON."""
    try:
        return _cleaned(json.loads(raw, parse_constant=_refuse), DEEPEST)
    except Invalid:
        raise
    except RecursionError:  # not a ValueError
        raise Invalid("The JSON is nested too deeply.", code="invalid_json") from None
    except ValueError:  # also: not UTF-8, a number of thousands of digits
        raise Invalid("The body is not valid JSON.", code="invalid_json") from None


def _refuse(name: str) -> Any:
    raise Invalid(f"{name} is not a JSON number.", code="invalid_json")


def _cleaned(value: Any, room: int) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        raise Invalid("A number is too large.", code="invalid_json")
    if isinstance(value, (list, dict)) and room == 0:
        raise Invalid("The JSON is nested too deeply.", code="invalid_json")
    if isinstance(value, list):
        return [_cleaned(item, room - 1) for item in value]
    if isinstance(value, dict):
        return {clean_text(name): _cleaned(item, room - 1) for name, item in value.items()}
    return value
