"""R1 to R10, and what must keep working."""

from __future__ import annotations

import pytest
from django.test import RequestFactory

from watchbook.core.accounts.access import is_safe_target, safe_next

REFUSED = [
    "//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example", "https:/evil.example",
    "javascript:alert(1)", "/\t/evil.example", "https://good.evil.example", "\x08//evil.example",
    "http://testserver/", "https://testserver/", "", " /ok", "/a b", "/a\nb", "/\x00", "path", "/" + "a" * 3000,
    "/\u0085/evil.example", "data:text/html,x", "//", "/\\/evil.example", "http:///evil.example",
]  # fmt: skip


@pytest.mark.parametrize("target", REFUSED)
def test_target_outside_the_site_is_refused(target: str) -> None:
    assert not is_safe_target(target)
    request = RequestFactory().get("/")
    assert safe_next(request, target, fallback="/home/") == "/home/"


@pytest.mark.parametrize("target", ["/", "/stream/?kind=new&day=2", "/%2f%2fevil", "/p?next=//evil", "/a#b", "/论坛/"])
def test_path_of_this_site_is_kept(target: str) -> None:
    assert safe_next(RequestFactory().get("/"), target) == target


def test_without_a_target_the_request_is_asked() -> None:
    assert safe_next(RequestFactory().post("/x", {"next": "/there/"}), None) == "/there/"
    assert safe_next(RequestFactory().get("/x?next=/here/"), None) == "/here/"
    assert safe_next(RequestFactory().get("/x?next=//evil"), None, fallback="/") == "/"


@pytest.mark.django_db
@pytest.mark.parametrize("target", [*REFUSED[:10], "/account/"])
def test_sign_in_goes_only_to_safe_places(target: str, operator: object, client: object, sign_in: object) -> None:
    answer = client.post(  # type: ignore[attr-defined]
        "/accounts/login/",
        {"login": "operator@example.com", "password": "correct horse battery staple", "next": target},
    )
    assert answer.status_code == 302
    assert answer["Location"] == ("/account/" if target == "/account/" else "/")
