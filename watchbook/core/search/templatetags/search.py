"""{% marked parts %}: segments of a found text, what was looked for inside <mark>."""

from __future__ import annotations

from collections.abc import Iterable

from django import template
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from watchbook.core.search.highlight import Segment

register = template.Library()


@register.simple_tag
def marked(parts: Iterable[Segment]) -> SafeString:
    pieces = (
        format_html("<mark>{}</mark>", part.text) if part.is_match else conditional_escape(part.text) for part in parts
    )
    return mark_safe("".join(pieces))  # noqa: S308 - every piece was escaped
