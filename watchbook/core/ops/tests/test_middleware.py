from __future__ import annotations

import logging

import pytest
from django.http import HttpResponse

from watchbook.base.env import InvalidSetting
from watchbook.base.logs import request_id
from watchbook.core.ops.middleware import RequestId, SecurityHeaders, TrustedProxy


def seen(request):
    return HttpResponse(f"{request.META['REMOTE_ADDR']} {request.scheme}")


def through_proxy(rf, settings, *, peer, proxies=("10.0.0.0/8", "::1"), **headers):
    settings.TRUSTED_PROXIES = proxies
    request = rf.get("/", REMOTE_ADDR=peer, headers={name.replace("_", "-"): value for name, value in headers.items()})
    return TrustedProxy(seen)(request).content.decode(), request


@pytest.mark.parametrize(
    ("peer", "forwarded_for", "client"),
    [
        ("10.0.0.5", "203.0.113.9", "203.0.113.9"),
        # What stands left of the nearest stranger may be made up.
        ("10.0.0.5", "127.0.0.1, 203.0.113.9", "203.0.113.9"),
        ("10.0.0.5", "203.0.113.9, 10.0.0.7", "203.0.113.9"),
        ("::1", "2001:db8::7", "2001:db8::7"),
        ("::ffff:10.0.0.5", "203.0.113.9", "203.0.113.9"),
        ("10.0.0.5", "[2001:db8::7]:4711", "2001:db8::7"),
        ("10.0.0.5", "203.0.113.9:4711", "203.0.113.9"),
        ("10.0.0.5", "", "10.0.0.5"),
        ("10.0.0.5", "unknown", "10.0.0.5"),
        ("10.0.0.5", "203.0.113.9, <script>", "10.0.0.5"),
        ("10.0.0.5", "10.0.0.8", "10.0.0.8"),
        ("10.0.0.5", ",".join(["1.2.3.4"] * 5000 + ["203.0.113.9"]), "203.0.113.9"),
    ],
)
def test_client_address_comes_from_a_named_proxy(rf, settings, peer, forwarded_for, client):
    answer, _ = through_proxy(rf, settings, peer=peer, x_forwarded_for=forwarded_for, x_forwarded_proto="https")
    assert answer == f"{client} https"


def test_spoofed_headers_are_ignored_and_blanked(rf, settings):
    answer, request = through_proxy(
        rf, settings, peer="203.0.113.50", x_forwarded_for="127.0.0.1", x_forwarded_proto="https",
        x_forwarded_host="evil.example", x_real_ip="127.0.0.1", forwarded="for=127.0.0.1",
    )  # fmt: skip
    assert answer == "203.0.113.50 http"
    traces = {name: value for name, value in request.META.items() if "FORWARDED" in name or "REAL_IP" in name}
    assert len(traces) == 5
    assert not any(traces.values())
    assert request.headers["X-Forwarded-For"] == ""


def test_no_proxy_is_trusted_by_default(rf, settings):
    answer, _ = through_proxy(rf, settings, peer="127.0.0.1", proxies=(), x_forwarded_for="203.0.113.9")
    assert answer == "127.0.0.1 http"


@pytest.mark.parametrize("scheme", ["gopher", "https, evil", "", "HTTPS "])
def test_only_two_schemes_are_known(rf, settings, scheme):
    answer, _ = through_proxy(rf, settings, peer="10.0.0.5", x_forwarded_proto=scheme)
    assert answer == f"10.0.0.5 {'https' if scheme.strip() == 'HTTPS' else 'http'}"


def test_wrong_network_is_one_clear_line(settings):
    settings.TRUSTED_PROXIES = ("10.0.0.0/33",)
    with pytest.raises(InvalidSetting, match="WATCHBOOK_TRUSTED_PROXIES"):
        TrustedProxy(seen)


def test_well_formed_request_id_is_kept_and_reaches_log_and_answer(rf):
    def view(request):
        return HttpResponse(f"{request.request_id} {request_id()}")

    response = RequestId(view)(rf.get("/", headers={"x-request-id": "n8n-run.17_a"}))
    assert response.content == b"n8n-run.17_a n8n-run.17_a"
    assert response["X-Request-ID"] == "n8n-run.17_a"
    assert request_id() == ""


@pytest.mark.parametrize("given", ["", "a b", "x" * 129, "a\x1b[2J", "naïve", "a;b"])
def test_any_other_request_id_is_replaced(rf, given):
    response = RequestId(lambda request: HttpResponse(request.request_id))(rf.get("/", headers={"x-request-id": given}))
    assert response["X-Request-ID"] != given
    assert len(response["X-Request-ID"]) == 32


def test_every_answer_carries_the_headers_and_a_view_may_say_otherwise(rf):
    bare = SecurityHeaders(lambda request: HttpResponse("x", status=500))(rf.get("/"))
    assert bare["Cache-Control"] == "private, no-store"
    assert "camera=()" in bare["Permissions-Policy"]
    assert bare["X-Content-Type-Options"] == "nosniff"
    assert bare["X-Frame-Options"] == "DENY"
    assert "default-src 'none'" in bare["Content-Security-Policy"]

    own = {"Cache-Control": "max-age=3600, public", "Content-Security-Policy": "default-src 'self'"}
    kept = SecurityHeaders(lambda request: HttpResponse("x", headers=own))(rf.get("/"))
    assert {name: kept[name] for name in own} == own


def test_path_with_control_characters_is_logged_escaped(capsys):
    from watchbook.base.logs import StandardError, TextLines

    handler = StandardError()
    handler.setFormatter(TextLines())
    logger = logging.Logger("test.paths", logging.DEBUG)
    logger.addHandler(handler)
    logger.warning("Not Found: %s", "/\n2026 forged\x1b[2J")
    assert "\\n2026 forged\\x1b[2J" in capsys.readouterr().err
