"""Read-only links: making, revoking, and the page that whoever holds one may read."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from watchbook.base import clock
from watchbook.library import access, actions
from watchbook.library.errors import NotFound
from watchbook.library.models import ShareLink, SpaceRole
from watchbook.library.views.frame import frame
from watchbook.library.views.text import for_reading
from watchbook.library.views.ways import answers, done, given, reader

DAYS = {"7": 7, "30": 30, "365": 365}


@never_cache
@require_http_methods(["GET", "POST"])
@answers
def share(request: HttpRequest, page_id: UUID) -> HttpResponse:
    """The links that open, and a new one; its address is in this one answer and nowhere else."""
    user = reader(request)
    page = access.page_for(user, page_id, SpaceRole.WRITER)
    context: dict[str, Any] = {"page": page, "now": clock.now()}
    if request.method == "POST":
        days = DAYS.get(given(request, "days"))
        until = clock.now() + timedelta(days=days) if days else None
        _link, token = actions.share_page(user, page_id, expires_at=until)
        context["address"] = settings.PUBLIC_URL + reverse("library:shared", args=[token])
    context["links"] = list(actions.list_shares(user, page_id)[:100])
    context |= frame(user, page.space, actions.breadcrumb(user, page_id))
    return render(request, "library/share.html", context)


@require_POST
@answers
def revoke(request: HttpRequest, link_id: UUID) -> HttpResponse:
    link = ShareLink.objects.filter(pk=link_id).only("page_id").first()
    actions.revoke_share(reader(request), link_id)
    address = reverse("library:share", args=[link.page_id]) if link else reverse("library:shelves")
    return done(request, address, _("Revoked. This address answers nothing any more."))


@login_not_required  # the token in the address is the proof
@never_cache
@require_safe
def shared(request: HttpRequest, token: str) -> HttpResponse:
    try:
        page = actions.open_share(token)
    except NotFound:
        raise Http404 from None
    answer = render(request, "library/shared.html", {"page": page, "text": for_reading(page.content)})
    answer.headers["X-Robots-Tag"] = "noindex"
    answer.headers["Referrer-Policy"] = "no-referrer"
    return answer
