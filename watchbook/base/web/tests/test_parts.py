"""The small parts: cookies, character sets, counts."""

from __future__ import annotations

import contextvars
import threading

import pytest

from watchbook.base import work
from watchbook.base.web.address import check_url
from watchbook.base.web.body import Deadline, to_text
from watchbook.base.web.errors import TimedOut
from watchbook.base.web.response import CookieJar
from watchbook.base.work import counted

HOME = check_url("https://forum.example/a/b?c=d")


def jar_of(*lines: str) -> CookieJar:
    jar = CookieJar()
    jar.read(HOME, lines)
    return jar


def test_cookies_come_back_to_the_host_that_set_them() -> None:
    jar = jar_of("a=1", "b=2; Path=/a; HttpOnly", "c=3; Path=/other")
    assert jar.header(HOME) == "a=1; b=2"
    assert jar.header(check_url("https://forum.example/ab")) == "a=1"
    assert jar.header(check_url("https://www.forum.example/a/b")) == ""
    assert jar.values("forum.example") == {"a": "1", "b": "2", "c": "3"}


def test_secure_cookie_stays_on_a_safe_connection() -> None:
    assert jar_of("a=1; Secure").header(check_url("http://forum.example/")) == ""


@pytest.mark.parametrize("domain", ["evil.example", "other.forum.example", "orum.example", "127.0.0.1"])
def test_cookie_for_another_domain_is_not_taken(domain: str) -> None:
    assert len(jar_of(f"a=1; Domain={domain}")) == 0


@pytest.mark.parametrize("domain", ["forum.example", ".forum.example", "example"])
def test_cookie_for_a_wider_domain_stays_with_its_host(domain: str) -> None:
    jar = jar_of(f"a=1; Domain={domain}")
    assert jar.header(HOME) == "a=1"
    assert jar.header(check_url("https://other.example/")) == ""


@pytest.mark.parametrize(
    "line",
    [
        "a=2; Max-Age=0",
        "a=2; Max-Age=-1",
        "a=2; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
        "a=2; Expires=Thu, 01 Jan 0001 00:00:00 GMT",
    ],
)
def test_expired_cookie_is_removed(line: str) -> None:
    assert jar_of("a=1", line).header(HOME) == ""


@pytest.mark.parametrize(
    "end", ["Expires=Fri, 31 Dec 9999 23:59:59 GMT", "Expires=-1", "Expires=soon", "Max-Age=" + "9" * 30, "Max-Age=x"]
)
def test_absurd_expiry_of_a_cookie_is_accepted(end: str) -> None:
    assert jar_of(f"a=1; {end}").header(HOME) == "a=1"


@pytest.mark.parametrize(
    "line", ["", "=", "novalue", "a b=1", "a=\x00", "a=" + "x" * 5000, "a=ü\n", ";", "a=1\r\nX: y"]
)
def test_malformed_cookie_is_not_taken(line: str) -> None:
    assert len(jar_of(line)) == 0


def test_full_jar_drops_the_oldest_cookie() -> None:
    jar = jar_of(*(f"c{n}=v" for n in range(1000)))
    assert len(jar) == 50
    assert "c999=v" in jar.header(HOME)
    assert len(jar_of(*(f"c{n}={'v' * 4000}" for n in range(50))).header(HOME)) <= 8192


@pytest.mark.parametrize(
    ("body", "content_type", "wanted"),
    [
        ("字".encode(), "text/html", "字"),
        ("字".encode("gbk"), "text/html; charset=GBK", "字"),
        ("字".encode("gbk"), 'text/html; charset="gb2312"', "字"),
        (b"\xff\xfeW[", "text/html; charset=utf-8", "字"),
        (b"\xef\xbb\xbfa", "text/html; charset=gbk", "a"),
        (b"W[", "text/html; charset=utf-16", "字"),
        (b"+ADw-script+AD4-", "text/html; charset=utf-7", "+ADw-script+AD4-"),
        (b"616263", "text/html; charset=hex", "616263"),
        (b"abc", "text/html; charset=rot13", "abc"),
        (b"abc", "text/html; charset=x-made-up", "abc"),
        (b"abc", "text/html; charset=unicode_escape", "abc"),
        (b"\xb7\x98 \xff\xff", "text/html; charset=gb2312", None),
        (b"\xff\xfe\xfd", "text/html", None),
        ("a\ufeffb".encode(), "text/html", "a\ufeffb"),
        (b"caf\xe9 \x93x\x94", "text/html; charset=iso-8859-1", "café “x”"),
        (b"a", "text/html; charset=gbk; charset=utf-8", "a"),
    ],
)
def test_bytes_are_decoded_without_error(body: bytes, content_type: str, wanted: str | None) -> None:
    text = to_text(body, content_type)
    assert text == wanted if wanted is not None else "\ufffd" in text


def test_deadline_that_is_over_never_gives_more_time() -> None:
    over = Deadline(-1)
    with pytest.raises(TimedOut):
        over.left()
    over.extend(100)
    assert 0 < over.left() < 100


def test_thread_with_our_context_adds_to_our_count() -> None:
    with counted() as count:
        context = contextvars.copy_context()
        threads = [threading.Thread(target=context.copy().run, args=(_add_many,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        stranger = threading.Thread(target=_add_many)
        stranger.start()
        stranger.join()
    assert (count.requests, count.bytes) == (8000, 80_000)


def _add_many() -> None:
    for _ in range(1000):
        work.add_to_count(requests=1, bytes=10)
