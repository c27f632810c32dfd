"""OpenID Connect: asks the provider through the guarded client and verifies everything that it answers.

    request -> provider -> callback -> token endpoint -> id token verified -> userinfo with the same subject -> Claims

Nothing of an answer is used before the id token is verified: signature by a key of the provider's JWKS with an
asymmetric algorithm of the list below, issuer, audience, authorised party, times and nonce.

SignInError
    OIDC is not set, the provider did not answer, or an answer is not valid; the message says which
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import secrets
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from django.conf import settings
from django.core.cache import cache
from django.urls import reverse
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.core.accounts import options
from watchbook.core.accounts.models import User
from watchbook.core.registry import Step

log = logging.getLogger(__name__)

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
LARGEST = 256 * 1024
SECONDS = 10.0
# How long what the provider says about itself is remembered; an unknown key asks again, once a minute at most.
KEPT_SECONDS = 3600
KEYS_AGAIN_SECONDS = 60
LEEWAY_SECONDS = 60
OLDEST_SECONDS = 3600
LONGEST_CLAIM = 255
MOST_GROUPS = 500


class SignInError(Exception):
    """Single sign-on failed. The message is for the user; `detail` is for the log of operators."""

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail


@dataclass(frozen=True)
class Started:
    """What the session remembers between the request and the callback."""

    state: str
    nonce: str
    verifier: str
    at: float
    next: str = ""


@dataclass(frozen=True)
class Claims:
    """Who signed in, as the provider says; `email` is only filled with an address that it verified."""

    issuer: str
    subject: str
    email: str = ""
    claimed_email: str = ""
    groups: frozenset[str] | None = None
    raw: dict[str, Any] = field(default_factory=dict, repr=False)


def _invalid(detail: str) -> SignInError:
    return SignInError(_("The response of the sign-in provider is not valid: %(detail)s") % {"detail": detail}, detail)


def configuration(*, fresh: bool = False) -> dict[str, Any]:
    """Return what the provider says about itself. The issuer must be exactly the one that is set."""
    if not options.is_oidc_set():
        raise SignInError(_("Single sign-on is not set."))
    issuer = options.OIDC_ISSUER.value
    key = "oidc:" + hashlib.sha256(issuer.encode()).hexdigest()[:32]
    found = None if fresh else cache.get(key)
    if found is None:
        found = _json("GET", f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        if found.get("issuer") != issuer:
            raise _invalid(f"issuer is {str(found.get('issuer'))[:200]!r}, not {issuer!r}")
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            _address(found, name)
        cache.set(key, found, KEPT_SECONDS)
    return dict(found)


def _address(found: dict[str, Any], name: str) -> str:
    """Return an endpoint: https, unless the issuer itself is plain http on this network."""
    value = found.get(name)
    if not isinstance(value, str) or len(value) > 2000:
        raise _invalid(f"{name} is missing")
    needed = "http" if options.OIDC_ISSUER.value.startswith("http:") else "https"
    if urlsplit(value).scheme not in {needed, "https"}:
        raise _invalid(f"{name} is not an https address")
    return value


def _json(method: str, url: str, *, body: bytes = b"", secrets: dict[str, str] | None = None) -> dict[str, Any]:
    """Ask the provider. Every address goes through the guarded client."""
    from watchbook.base.web.client import get, send  # the client loads slowly, and few requests sign in
    from watchbook.base.web.errors import WebError

    try:
        if method == "GET":
            answer = get(
                url, secrets=secrets, max_bytes=LARGEST, deadline_seconds=SECONDS, follow=0, spacing_seconds=0.0
            )
        else:
            headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
            answer = send(
                "POST", url, body, headers, secrets=secrets, max_bytes=LARGEST, deadline_seconds=SECONDS,
                raise_for_status=False,
            )  # fmt: skip
    except WebError as error:
        host = urlsplit(url).hostname
        raise SignInError(
            _("The sign-in provider %(host)s does not respond: %(reason)s") % {"host": host, "reason": error},
            f"{url}: {error}",
        ) from None
    return _read(answer)


def _read(answer: Any) -> dict[str, Any]:
    try:
        found = json.loads(answer.body)
    except (ValueError, RecursionError):
        raise _invalid(f"HTTP {answer.status}, no JSON") from None
    if not isinstance(found, dict):
        raise _invalid("not a JSON object")
    if answer.status != 200:
        said = str(found.get("error_description") or found.get("error") or "")[:200]
        raise _invalid(f"HTTP {answer.status} {said}".strip())
    return found


def begin(redirect_uri: str, *, next_path: str = "") -> tuple[Started, str]:
    """Return what to remember, and the address of the provider to which the browser goes."""
    found = configuration()
    state, nonce, verifier = (secrets.token_urlsafe(size) for size in (24, 24, 48))
    started = Started(state, nonce, verifier, clock.now().timestamp(), next_path)
    challenge = urlsafe_b64encode(hashlib.sha256(started.verifier.encode()).digest()).rstrip(b"=").decode()
    scopes = ["openid", "email", "profile"]
    if options.OIDC_GROUPS_CLAIM.value and "groups" in (found.get("scopes_supported") or ()):
        scopes.append("groups")
    query = {
        "response_type": "code", "client_id": options.OIDC_CLIENT_ID.value, "redirect_uri": redirect_uri,
        "scope": " ".join(scopes), "state": started.state, "nonce": started.nonce,
        "code_challenge": challenge, "code_challenge_method": "S256",
    }  # fmt: skip
    target = _address(found, "authorization_endpoint")
    return started, f"{target}{'&' if '?' in target else '?'}{urlencode(query)}"


def finish(started: Started, *, code: str, state: str, issuer: str, redirect_uri: str) -> Claims:
    """Redeem the code and return verified claims, or raise SignInError."""
    if not hmac.compare_digest(started.state.encode(), state.encode("utf-8", "replace")):
        raise _invalid("state")
    if clock.now().timestamp() - started.at > 600:
        raise SignInError(_("The sign-in took too long. Try again."))
    found = configuration()
    if issuer and issuer != options.OIDC_ISSUER.value:
        raise _invalid("iss of the callback")
    tokens = _redeem(found, code, started.verifier, redirect_uri)
    claims = verify(str(tokens.get("id_token") or ""), nonce=started.nonce, found=found)
    more = _userinfo(found, tokens, str(claims["sub"]))
    return _claims(claims, more)


def _redeem(found: dict[str, Any], code: str, verifier: str, redirect_uri: str) -> dict[str, Any]:
    client, secret = options.OIDC_CLIENT_ID.value, options.OIDC_CLIENT_SECRET.value
    form = {"grant_type": "authorization_code", "code": code[:4000], "redirect_uri": redirect_uri}
    form |= {"code_verifier": verifier, "client_id": client}
    methods = found.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    headers = {}
    if secret and "client_secret_basic" in methods:
        pair = f"{quote(client, safe='')}:{quote(secret, safe='')}"
        headers["Authorization"] = "Basic " + b64encode(pair.encode()).decode()
    elif secret:
        form["client_secret"] = secret
    return _json("POST", _address(found, "token_endpoint"), body=urlencode(form).encode(), secrets=headers)


def verify(token: str, *, nonce: str, found: dict[str, Any]) -> dict[str, Any]:
    """Return the claims of an id token that passed every check."""
    import jwt  # brings cryptography, which few requests need

    try:
        header = jwt.get_unverified_header(token)
    except jwt.PyJWTError:
        raise _invalid("no id token") from None
    algorithm = header.get("alg")
    if algorithm not in ALGORITHMS:
        raise _invalid(f"algorithm {str(algorithm)[:20]}")
    try:
        key = _key(found, header)
        claims = jwt.decode(
            token, key.key, algorithms=[algorithm], audience=options.OIDC_CLIENT_ID.value,
            issuer=options.OIDC_ISSUER.value,
            # The times are checked below, against our own clock.
            options={
                "require": ["iss", "aud", "sub", "exp", "iat"], "verify_exp": False, "verify_iat": False,
                "verify_nbf": False,
            },
        )  # fmt: skip
    except jwt.PyJWTError as error:
        raise _invalid(str(error)[:200]) from None
    _check_party(claims)
    _check_times(claims)
    given = claims.get("nonce")
    if not isinstance(given, str) or not hmac.compare_digest(given.encode("utf-8", "replace"), nonce.encode()):
        raise _invalid("nonce")
    if not isinstance(claims["sub"], str) or not 0 < len(claims["sub"]) <= LONGEST_CLAIM:
        raise _invalid("sub")
    return dict(claims)


def _check_party(claims: dict[str, Any]) -> None:
    """With several audiences the token must say that it was issued to us."""
    client, party = options.OIDC_CLIENT_ID.value, claims.get("azp")
    if (party is not None and party != client) or (
        isinstance(claims["aud"], list) and len(claims["aud"]) > 1 and party != client
    ):
        raise _invalid("azp")


def _check_times(claims: dict[str, Any]) -> None:
    now = clock.now().timestamp()
    moments = {}
    for name in ("exp", "iat", "nbf"):
        value = claims.get(name)
        if value is None and name == "nbf":
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
            raise _invalid(name)
        moments[name] = value
    if moments["exp"] <= now - LEEWAY_SECONDS:
        raise _invalid("exp is past")
    if moments["iat"] > now + LEEWAY_SECONDS or moments.get("nbf", now) > now + LEEWAY_SECONDS:
        raise _invalid("iat or nbf is in the future")
    if moments["iat"] < now - OLDEST_SECONDS:
        raise _invalid("iat is too old")


def _key(found: dict[str, Any], header: dict[str, Any]) -> Any:
    """Return the provider's key of the token. A key that is not known yet is asked for again: keys rotate."""
    uri = _address(found, "jwks_uri")
    name = "oidc:keys:" + hashlib.sha256(uri.encode()).hexdigest()[:32]
    for is_again in (False, True):
        kept = cache.get(name)
        if kept is None or is_again:
            if is_again and not cache.add(f"{name}:again", 1, KEYS_AGAIN_SECONDS):
                break
            kept = _json("GET", uri)
            cache.set(name, kept, KEPT_SECONDS)
        key = _choose(kept, header)
        if key is not None:
            return key
    raise _invalid("signed with a key that the provider does not publish")


def _choose(kept: dict[str, Any], header: dict[str, Any]) -> Any:
    import jwt

    rows = [row for row in kept.get("keys") or () if isinstance(row, dict)][:100]
    named = [row for row in rows if row.get("kid") == header.get("kid")] if header.get("kid") else rows
    for row in named:
        if row.get("use") not in {None, "sig"} or row.get("kty") == "oct":
            continue
        if row.get("alg") not in {None, header["alg"]}:
            continue
        try:
            key = jwt.PyJWK(row, algorithm=header["alg"])
        except (jwt.PyJWTError, ValueError, TypeError, KeyError):
            continue
        if header.get("kid") or len(rows) == 1:
            return key
    return None


def _userinfo(found: dict[str, Any], tokens: dict[str, Any], subject: str) -> dict[str, Any]:
    """Return more claims. They belong to the id token only if the subject is the same."""
    if "userinfo_endpoint" not in found or not isinstance(tokens.get("access_token"), str):
        return {}
    bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
    more = _json("GET", _address(found, "userinfo_endpoint"), secrets=bearer)
    if more.get("sub") != subject:
        raise _invalid("userinfo is about another sub")
    return more


def _claims(token: dict[str, Any], more: dict[str, Any]) -> Claims:
    source = more if "email" in more else token
    email = source.get("email")
    claimed = email if isinstance(email, str) and len(email) < LONGEST_CLAIM else ""
    # A text "true" is not true: some providers write "false" as a text, too.
    is_verified = source.get("email_verified") is True
    return Claims(
        options.OIDC_ISSUER.value, token["sub"], claimed if is_verified else "", claimed,
        _groups({**token, **more}), {**token, **more},
    )  # fmt: skip


def _groups(claims: dict[str, Any]) -> frozenset[str] | None:
    """Return the names of groups; None if groups are not read or the claim is missing."""
    name = options.OIDC_GROUPS_CLAIM.value
    value = claims.get(name) if name else None
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        return None
    return frozenset(each for each in value[:MOST_GROUPS] if isinstance(each, str) and len(each) <= LONGEST_CLAIM)


def sign_out_address(return_to: str) -> str:
    """Return where the browser ends the session at the provider; empty if it offers none."""
    try:
        found = configuration()
        target = _address(found, "end_session_endpoint")
    except SignInError:
        return ""
    query = urlencode({"client_id": options.OIDC_CLIENT_ID.value, "post_logout_redirect_uri": return_to})
    return f"{target}{'&' if '?' in target else '?'}{query}"


def try_provider(_user: User | None) -> Iterator[Step]:
    """Ask the provider what it says about itself, and for its keys."""
    if not options.is_oidc_set():
        yield Step(False, _("Single sign-on is not set."))
        return
    try:
        found = configuration(fresh=True)
        yield Step(True, _("The provider responds as %(issuer)s.") % {"issuer": found["issuer"]})
        keys = _json("GET", _address(found, "jwks_uri")).get("keys") or []
        yield Step(bool(keys), _("It publishes %(n)s keys.") % {"n": len(keys)})
        callback = str(settings.PUBLIC_URL) + reverse("oidc_callback")
        yield Step(True, _("Allow this address at the provider: %(address)s") % {"address": callback})
    except SignInError as error:
        yield Step(False, error.message)
