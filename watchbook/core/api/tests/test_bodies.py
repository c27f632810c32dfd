"""Bodies of requests: what would change the meaning of a value is refused, what only cannot be stored is removed."""

from __future__ import annotations

import json

import pytest

from watchbook.core.api.errors import Invalid
from watchbook.core.api.schemas import read_json


@pytest.mark.parametrize(
    "value",
    [
        "https://example.com/a\x07b",
        "https://exa\x7fmple.com/",
        "web\x1bdev",
        "six words of a text\x00 in a row",
        "name,url\nx,https://example.com/\x00s.xml\n",
    ],
)
def test_control_character_in_an_address_or_id_is_refused_by_name(value):
    with pytest.raises(Invalid) as refused:
        read_json(json.dumps({"config": {"urls": ["https://example.com/", value]}}).encode())
    assert [each["field"] for each in refused.value.details] == ["config.urls.1"]


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("Two words\x0b of a text", "Two words of a text"),
        ("灯笼\x0b", "灯笼"),
        ("cut\ud83d", "cut\ufffd"),
        ("a\tb\r\nc", "a\tb\r\nc"),
    ],
)
def test_text_loses_only_what_cannot_be_stored(value, kept):
    assert read_json(json.dumps({"text": value}).encode()) == {"text": kept}


def test_field_that_is_given_twice_is_refused_by_name():
    with pytest.raises(Invalid) as refused:
        read_json(b'{"a": {"b": 1, "c": 2, "b": 3}}')
    assert [each["field"] for each in refused.value.details] == ["b"]
