"""Web Push: encryption for one browser (RFC 8291) and the signature of this server (RFC 8292).

Only the browser that subscribed can read a message. The server's key pair is created once, encrypted in the database;
every subscription is bound to it, so it is never replaced.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from urllib.parse import urlsplit

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from watchbook.base import clock
from watchbook.base.crypto import decrypt, encrypt
from watchbook.core.notify.models import PushKey

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
