"""An OpenID provider on loopback that can lie in every answer. It runs as WSGI in a thread and keeps a ledger."""

from __future__ import annotations

import json
import threading
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit
from wsgiref.simple_server import WSGIRequestHandler, make_server

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, SECRET = "watchbook", "a secret of the client"


class _Quiet(WSGIRequestHandler):
    def log_message(self, *_args: Any) -> None:
        pass


class Provider:
    """Honest unless told otherwise: `token` and `userinfo` change claims, `sign` replaces the signature."""

    def __init__(self) -> None:
        self.keys = {"k1": rsa.generate_private_key(65537, 2048)}
        self.kid = "k1"
        self.url = ""
        self.token: Callable[[dict[str, Any]], dict[str, Any]] = lambda claims: claims
        self.userinfo: Callable[[dict[str, Any]], dict[str, Any]] = lambda claims: claims
        self.sign: Callable[[dict[str, Any]], str] = self.honest
        self.configuration: Callable[[dict[str, Any]], dict[str, Any]] = lambda found: found
        self.person = {"sub": "ann-1", "email": "ann@example.com", "email_verified": True}
        self.now = 0.0
        self.nonces: dict[str, str] = {}
        self.ledger: list[str] = []
        self.forms: list[dict[str, str]] = []

    def honest(self, claims: dict[str, Any]) -> str:
        return jwt.encode(claims, self.keys[self.kid], "RS256", headers={"kid": self.kid})

    def rotate(self) -> None:
        self.kid = f"k{len(self.keys) + 1}"
        self.keys = {self.kid: rsa.generate_private_key(65537, 2048)}

    def authorise(self, location: str) -> str:
        """Be the browser at the provider: consent, and return the address of the callback."""
        asked = dict(parse_qsl(urlsplit(location).query))
        assert asked["code_challenge_method"] == "S256"
        self.nonces["code"] = asked["nonce"]
        back = urlsplit(asked["redirect_uri"])
        return f"{back.path}?{urlencode({'code': 'code', 'state': asked['state']})}"

    def __call__(self, environ: dict[str, Any], start: Any) -> list[bytes]:
        path = environ["PATH_INFO"]
        self.ledger.append(f"{environ['REQUEST_METHOD']} {path}")
        length = int(environ.get("CONTENT_LENGTH") or 0)
        if length:
            form = parse_qs(environ["wsgi.input"].read(length).decode())
            self.forms.append({name: values[0] for name, values in form.items()})
        answer = {
            "/.well-known/openid-configuration": self._configuration,
            "/jwks": self._jwks,
            "/token": self._token,
            "/userinfo": lambda: self.userinfo(dict(self.person)),
        }[path]()
        start("200 OK", [("Content-Type", "application/json")])
        return [json.dumps(answer).encode()]

    def _configuration(self) -> dict[str, Any]:
        names = {"authorization_endpoint": "/authorise", "token_endpoint": "/token", "jwks_uri": "/jwks"}
        more = {"userinfo_endpoint": "/userinfo", "end_session_endpoint": "/bye"}
        found = {name: self.url + path for name, path in (names | more).items()}
        return self.configuration({"issuer": self.url, **found})

    def _jwks(self) -> dict[str, Any]:
        rows = []
        for kid, key in self.keys.items():
            row = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
            rows.append({**row, "kid": kid, "use": "sig"})
        return {"keys": rows}

    def _token(self) -> dict[str, Any]:
        claims = {
            "iss": self.url, "aud": CLIENT, "exp": self.now + 300, "iat": self.now, "nonce": self.nonces["code"],
            **self.person,
        }  # fmt: skip
        token = self.sign(self.token(claims))
        return {"access_token": "access", "token_type": "Bearer", "id_token": token}


def unsigned(claims: dict[str, Any]) -> str:
    """The algorithm none."""
    parts = ({"alg": "none", "typ": "JWT"}, claims)
    return ".".join(urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts) + "."


@contextmanager
def running() -> Iterator[Provider]:
    provider = Provider()
    server = make_server("127.0.0.1", 0, provider, handler_class=_Quiet)
    provider.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
