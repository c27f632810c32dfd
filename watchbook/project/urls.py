"""All addresses: the house's rooms, then each system under its slug, found by folder."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from watchbook.core import registry
from watchbook.core.api.shell import build_api

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("watchbook.desk.urls")),
    path("", include("watchbook.core.accounts.urls")),
    path("", include("watchbook.core.urls")),
    path("", include("watchbook.core.media.views")),
    path("api/", build_api().urls),
    path("", include("watchbook.core.api.mcp.views")),
    *(path(f"{source.slug}/", include(module)) for source, module in registry.parts("urls")),
]

handler400 = "watchbook.kit.errors.bad_request"
handler403 = "watchbook.kit.errors.not_allowed"
handler404 = "watchbook.kit.errors.not_found"
handler500 = "watchbook.core.ops.middleware.server_error"
