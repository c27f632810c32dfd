"""Browsers that receive push: subscribing, the installable app, and leaving at sign-out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.signals import user_logged_out
from django.db import transaction
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.templatetags.static import static
from django.urls import reverse
from django.views.decorators.cache import cache_control, never_cache
from django.views.decorators.http import require_GET, require_POST

from watchbook.base import clock
from watchbook.core import registry
from watchbook.core.notify import push
from watchbook.core.notify.models import NotificationChannel

KIND, SIGNED_OUT = "push", "signed_out"
SESSION_KEY = "push_device"
WORKER = Path(__file__).parent / "static" / "notify" / "worker.js"
# What a user agent says of itself; the first mark that it has decides, because later ones are in most of them.
BROWSERS = (("Edg", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari"))
SYSTEMS = (
    ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Windows", "Windows"), ("Mac OS", "Mac"),
    ("Linux", "Linux"),
)  # fmt: skip
ICONS = ((192, "any"), (512, "any"), (512, "maskable"))


def name_of(request: HttpRequest) -> str:
    """Suggest a name for the browser of this request, such as Chrome, Android."""
    agent = request.headers.get("User-Agent", "")
    found = [next((name for mark, name in names if mark in agent), "") for names in (BROWSERS, SYSTEMS)]
    return ", ".join(filter(None, found))


@never_cache
@require_POST
def key(request: HttpRequest) -> HttpResponse:
    """Return the public key that a browser subscribes with. A POST, because the first one creates the key."""
    return JsonResponse({"key": push.public_key()})


@login_not_required
@cache_control(no_cache=True)
@require_GET
def worker(request: HttpRequest) -> HttpResponseBase:
    """Serve the service worker from the root, so that it covers every page. It stores nothing."""
    return FileResponse(WORKER.open("rb"), content_type="text/javascript; charset=utf-8")


@login_not_required
@cache_control(max_age=86_400, public=True)
@require_GET
def manifest(request: HttpRequest) -> HttpResponse:
    """Describe the app that a phone installs."""
    icons = [
        {
            "src": static(f"notify/app-{size}{'-maskable' if purpose == 'maskable' else ''}.png"),
            "sizes": f"{size}x{size}",
            "type": "image/png",
            "purpose": purpose,
        }
        for size, purpose in ICONS
    ]
    about: dict[str, Any] = {
        "id": "/",
        "name": "Watchbook",
        "short_name": "Watchbook",
        "start_url": "/",
        "scope": "/",
        "display": "standalone",
        "background_color": "#f4f6f7",
        "theme_color": "#1c4f93",
        "icons": icons,
    }
    if page := registry.share_page():
        # Android names a shared address in `text` more often than in `url`; the page finds it in both.
        params = {"title": "title", "text": "text", "url": "url"}
        about["share_target"] = {"action": reverse(page), "method": "GET", "params": params}
    return JsonResponse(about, content_type="application/manifest+json")


@transaction.atomic
def keep(request: HttpRequest, channel: NotificationChannel) -> None:
    """Bind a new channel to this browser: earlier channels of the same browser end, also those of another user."""
    same = NotificationChannel.objects.filter(channel_type=KIND, config__device=channel.config["device"])
    same.filter(user=channel.user).exclude(pk=channel.pk).delete()
    same.exclude(user=channel.user).update(is_active=False, disabled_reason=SIGNED_OUT, updated_at=clock.now())
    request.session[SESSION_KEY] = str(channel.pk)


def leave(sender: Any, request: HttpRequest | None = None, **_more: Any) -> None:
    """Disable the channel of a browser that signs out; its service worker is gone with the next page."""
    session = getattr(request, "session", None)
    if session is not None and session.get(SESSION_KEY):
        own = NotificationChannel.objects.filter(pk=session[SESSION_KEY], channel_type=KIND, is_active=True)
        own.update(is_active=False, disabled_reason=SIGNED_OUT, updated_at=clock.now())


def connect() -> None:
    user_logged_out.connect(leave, dispatch_uid="notify.devices.leave")
