"""Titles: the groups in square brackets that people put into them."""

from __future__ import annotations

import re

_GROUP = re.compile(r"\[([^\[\]]+)\]")


def prefixes(title: str) -> tuple[str, ...]:
    """Every `[…]` group of a title, each once, in order; the first one is the title's prefix."""
    found = (group.strip() for group in _GROUP.findall(title))
    return tuple(dict.fromkeys(group for group in found if group))
