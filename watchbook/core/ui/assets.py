"""Addresses of static files with a mark of their content, so that a browser never keeps an old style sheet."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from django.contrib.staticfiles import finders
from django.templatetags.static import static


def asset_url(path: str) -> str:
    mark = _mark(path)
    return f"{static(path)}?v={mark}" if mark else static(path)


@cache
def _mark(path: str) -> str:
    found = finders.find(path)
    if not found:
        return ""
    return hashlib.sha256(Path(found).read_bytes()).hexdigest()[:8]
