"""Web Push: encryption for one browser (RFC 8291) and the signature of this server (RFC 8292).

Only the browser that subscribed can read a message. The server's key pair is created once, encrypted in the database;
every subscription is bound to it, so it is never replaced.

Browsers that receive push: subscribing, the installable app, and leaving at sign-out.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.signals import user_logged_out
from django.db import transaction
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.templatetags.static import static
from django.urls import reverse
from django.views.decorators.cache import cache_control, never_cache
from django.views.decorators.http import require_GET, require_POST

from watchbook.base import clock
from watchbook.base.crypto import decrypt, encrypt
from watchbook.core import registry
from watchbook.core.notify.models import NotificationChannel, PushKey

BOUND_TO = "push:key"
RECORD_BYTES = 4096
# RFC 8292 allows a day; a shorter time limits the use of a stolen header.
VALID_SECONDS = 12 * 3600


def b64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def unb64(text: str) -> bytes:
    """ValueError if it is not base64url."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def point(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)


def encrypted(plain: bytes, browser_key: bytes, auth: bytes) -> bytes:
    """Return the body for this browser: one record of aes128gcm with a key pair used once."""
    browser = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), browser_key)
    own = ec.generate_private_key(ec.SECP256R1())
    own_point, salt = point(own.public_key()), secrets.token_bytes(16)
    shared = own.exchange(ec.ECDH(), browser)
    start = _derived(shared, auth, b"WebPush: info\0" + browser_key + own_point, 32)
    key = _derived(start, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derived(start, salt, b"Content-Encoding: nonce\0", 12)
    head = salt + RECORD_BYTES.to_bytes(4, "big") + bytes([len(own_point)]) + own_point
    return head + AESGCM(key).encrypt(nonce, plain + b"\x02", None)


def _derived(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(hashes.SHA256(), length, salt, info).derive(secret)


def public_key() -> str:
    """Return the key that a browser subscribes with; the first call creates the pair."""
    row = PushKey.objects.filter(pk=PushKey.ONLY).first()
    if row is None:
        private = ec.generate_private_key(ec.SECP256R1())
        pem = private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        fresh = {"secret": encrypt(pem.decode(), bound_to=BOUND_TO), "public": b64(point(private.public_key()))}
        # Two processes at the same time: both use the pair that was stored first.
        row, _created = PushKey.objects.get_or_create(pk=PushKey.ONLY, defaults=fresh)
    return row.public


def authorization(endpoint: str) -> str:
    """Return the header that proves to the push service which server sends."""
    row = PushKey.objects.get(pk=PushKey.ONLY)
    private = serialization.load_pem_private_key(decrypt(row.secret, bound_to=BOUND_TO).encode(), None)
    if not isinstance(private, ec.EllipticCurvePrivateKey):
        raise TypeError("the push key is no elliptic curve key")
    parts = urlsplit(endpoint)
    claims = {
        "aud": f"{parts.scheme}://{parts.netloc}",
        "exp": int(clock.now().timestamp()) + VALID_SECONDS,
        "sub": _contact(),
    }
    parts_of_token = ({"typ": "JWT", "alg": "ES256"}, claims)
    signed = ".".join(b64(json.dumps(each, separators=(",", ":")).encode()) for each in parts_of_token)
    r, s = decode_dss_signature(private.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
    return f"vapid t={signed}.{b64(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}, k={row.public}"


def _contact() -> str:
    """Whom a push service may ask: the address of this server, or its sender of mails."""
    if settings.PUBLIC_URL.startswith("https://"):
        return str(settings.PUBLIC_URL)
    return "mailto:" + settings.DEFAULT_FROM_EMAIL.rpartition("<")[2].rstrip("> ")


def collapse_key(thread: str) -> str:
    """Return the name under which a newer message replaces an unread one; empty for none."""
    return b64(hashlib.sha256(thread.encode()).digest())[:32] if thread else ""


KIND, SIGNED_OUT = "push", "signed_out"
SESSION_KEY = "push_device"
WORKER = Path(__file__).parent / "static" / "notify" / "worker.js"
# The browser that a user agent names; the first mark that it has decides, because later ones are in most of them.
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
    return JsonResponse({"key": public_key()})


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
