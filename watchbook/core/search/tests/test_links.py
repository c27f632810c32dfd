from __future__ import annotations

import pytest

from watchbook.base.text import safe_link


@pytest.mark.parametrize("address", ["/things/1", "/a?b=c#d", "https://example.com/x", "http://example.com:8080/路"])
def test_our_paths_and_web_addresses_stay(address):
    assert safe_link(address) == address


@pytest.mark.parametrize(
    "address",
    [
        "",
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "data:text/html,x",
        "//evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "java\nscript:alert(1)",
        "/a\x00b",
        "/a b",
        "http://",
        "http://[::1",
        "ftp://example.com/",
        "things/1",
        '/"><script>',
    ],
)
def test_everything_else_is_no_link(address):
    assert safe_link(address) == ""
