"""Answers that need not be sent twice. Every GET answer gets a tag of its bytes; an endpoint that knows cheaply that
nothing changed sets one itself and asks before it reads rows:

    tag = tag_of(page.pk, page.version)
    if is_fresh(request, tag):
        return not_modified(tag)
"""

from __future__ import annotations

import hashlib

from django.http import HttpRequest, HttpResponse, HttpResponseBase

LARGEST_STAMPED = 2 * 1024 * 1024


def tag_of(*parts: object) -> str:
    text = "\0".join(str(part) for part in parts)
    return f'"{hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]}"'


def is_fresh(request: HttpRequest, tag: str) -> bool:
    """Does the caller hold this very version? Weak tags count, as proxies weaken what they compress."""
    held = request.headers.get("If-None-Match", "")[:4000]
    return bool(held) and (held.strip() == "*" or tag in [part.strip().removeprefix("W/") for part in held.split(",")])


def not_modified(tag: str) -> HttpResponse:
    return HttpResponse(status=304, headers={"ETag": tag})


def stamp(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """Tag a good answer to GET; answer 304 when the caller has it."""
    if request.method not in {"GET", "HEAD"} or response.status_code != 200 or not isinstance(response, HttpResponse):
        return response
    if "ETag" not in response:
        if len(response.content) > LARGEST_STAMPED:
            return response
        response["ETag"] = f'"{hashlib.sha256(response.content).hexdigest()[:32]}"'
    if is_fresh(request, response["ETag"]):
        return not_modified(response["ETag"])
    return response
