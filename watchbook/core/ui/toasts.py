"""Telling the reader that something was done: a toast after an htmx request, a notice after a page load."""

from __future__ import annotations

import json

from django.contrib import messages
from django.http import HttpRequest, HttpResponse


def done(request: HttpRequest, response: HttpResponse, text: str, *, undo_url: str = "") -> HttpResponse:
    """`undo_url` takes a POST that takes it back. Failures are never toasts: raise or draw a notice for them."""
    if getattr(request, "htmx", False):
        # Headers are ASCII; json.dumps escapes everything else.
        response.headers["HX-Trigger"] = json.dumps({"toast": {"text": str(text), "undo": undo_url}})
    else:
        messages.success(request, text)
    return response
