"""{% file_in_library kind id %}: the button that takes an item to the library; nothing where there is no library."""

from __future__ import annotations

from django import template

from watchbook.core.stream.clip import filing_address

register = template.Library()


@register.inclusion_tag("stream/_file_in_library.html")
def file_in_library(kind: str, object_id: object, css: str = "btn btn--small") -> dict[str, str]:
    return {"address": filing_address(kind, object_id), "css": css}
