"""POST /mcp: the MCP server over HTTP, with the bearer tokens of the API. No cookie is read, no session is kept."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from watchbook.core.accounts import tokens
from watchbook.core.api import errors
from watchbook.core.api.auth import enforce_rate_limit
from watchbook.core.api.mcp import server
from watchbook.core.api.mcp.tools import Caller

METADATA = "/.well-known/oauth-protected-resource/mcp"


class NotInstalled(errors.Problem):
    status, code = 501, "not_installed"

    @classmethod
    def default_message(cls) -> str:
        return server.NOT_INSTALLED


@csrf_exempt  # a bearer token is needed, and no cookie is read
@login_not_required
def mcp(request: HttpRequest) -> HttpResponse:
    try:
        return _answered(request)
    except errors.Problem as problem:
        return errors.answer(request, problem)


def _answered(request: HttpRequest) -> HttpResponse:
    if request.method != "POST":
        raise errors.NotThisMethod(headers={"Allow": "POST"})
    _refuse_foreign_page(request)
    scheme, _space, plain = request.headers.get("Authorization", "").partition(" ")
    token = tokens.find(plain.strip()) if scheme.lower() == "bearer" else None
    if token is None:
        metadata = request.build_absolute_uri(METADATA)
        raise errors.NotSignedIn(headers={"WWW-Authenticate": f'Bearer resource_metadata="{metadata}"'})
    enforce_rate_limit(token.prefix)
    if not server.is_installed():
        raise NotInstalled
    if int(request.META.get("CONTENT_LENGTH") or 0) > server.LARGEST_BODY:
        raise errors.TooLarge
    address = str(request.META.get("REMOTE_ADDR", ""))
    caller = Caller(plain.strip(), request.get_host(), request.is_secure(), address)
    status, headers, content = server.answer_http(server.build(token, caller), _scope(request), request.body)
    response = HttpResponse(content, status=status, content_type=headers.get("content-type", "application/json"))
    response["Cache-Control"] = "no-store"
    return response


def _refuse_foreign_page(request: HttpRequest) -> None:
    """A browser names the page that sends a request; pages of other hosts have no business here."""
    origin = request.headers.get("Origin")
    if origin is not None and urlsplit(origin).netloc != request.get_host():
        raise errors.NotAllowed(_("Requests from pages of other hosts are refused."), code="origin")


def _scope(request: HttpRequest) -> dict[str, Any]:
    """Return the request as the SDK reads it. The token stays here."""
    headers = [
        (name.lower().encode("latin-1"), value.encode("latin-1", "replace"))
        for name, value in request.headers.items()
        if name.lower() not in {"authorization", "cookie"}
    ]
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": request.scheme,
        "path": request.path,
        "raw_path": request.path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": headers,
        "client": None,
        "server": None,
    }


@login_not_required
@require_safe
def metadata(request: HttpRequest) -> JsonResponse:
    """RFC 9728: what the resource at /mcp is and how its token is sent."""
    return JsonResponse(
        {
            "resource": request.build_absolute_uri("/mcp"),
            "resource_name": "Watchbook",
            "bearer_methods_supported": ["header"],
            "scopes_supported": list(tokens.scopes()),
        }
    )


urlpatterns = [
    path("mcp", mcp, name="mcp"),
    path(METADATA.removeprefix("/"), metadata, name="mcp-metadata"),
]
