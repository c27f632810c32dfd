"""The address gate: every trick of the book is refused, every honest address passes."""

from __future__ import annotations

import time

import pytest

from watchbook.base.web.address import SafeUrl, check_url, follow_url, is_public
from watchbook.base.web.errors import Refused

PRIVATE = [
    "http://127.0.0.1/",
    "http://127.8.9.10/",
    "http://0.0.0.0/",
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://172.31.255.254/",
    "http://192.168.0.1/",
    "http://192.0.2.1/",
    "http://224.0.0.1/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    "http://169.254.169.254/latest/meta-data/",
    "http://169.254.170.2/v2/credentials",
    "http://169.254.170.23/",
    "http://[fd00:ec2::254]/",
    "http://metadata.google.internal/computeMetadata/v1/",
    "http://192.0.0.192/opc/v2/",
    "http://168.63.129.16/machine?comp=goalstate",
    "http://100.64.0.1/",
    "http://100.100.100.200/",
    "http://localhost/",
    "http://localhost./",
    "http://LOCALHOST/",
    "http://app.localhost/",
    "http://printer.local/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:8.8.8.8]/",
    "http://[0:0:0:0:0:ffff:7f00:1]/",
    "http://[::127.0.0.1]/",
    "http://[::ffff:0:127.0.0.1]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[64:ff9b:1::a9fe:a9fe]/",
    "http://[2002:7f00:1::]/",
    "http://[2001:0:7f00:1::]/",
    "http://[2001:4860::5efe:127.0.0.1]/",
    "http://[2001:4860::200:5efe:10.0.0.1]/",
    "http://[fec0::1]/",
    "http://[fe80::1]/",
    "http://[ff02::1]/",
    "http://[fc00::1]/",
    "http://[2001:db8::1]/",
    "http://[3fff::1]/",
    "http://[5f00::1]/",
    "http://[100::1]/",
    "http://198.18.0.1/",
    "http://198.51.100.1/",
    "http://203.0.113.1/",
    "http://192.88.99.1/",
    "http://127.0.0.1#@example.com/",
    "http://127.0.0.1?@example.com/",
]

BAD_HOST = [
    "http://2130706433/",
    "http://0177.0.0.1/",
    "http://127.1/",
    "http://0x7f.1/",
    "http://00000177.0.0.1/",
    "http://0xa9fea9fe/",
    "http://0251.0376.0251.0376/",
    "http://0x7f000001/",
    "http://0/",
    "http://0x/",
    "http://1.2.3/",
    "http://1.2.3.4.5/",
    "http://256.1.1.1/",
    "http://example.0x10/",
    "http://①②⑦.⓪.⓪.①/",
    "http://127。0。0。1/",
    "http://１２７.0.0.1/",
    "http://%31%32%37.0.0.1/",
    "http://[fe80::1%25lo]/",
    "http://[::1",
    "http://]/",
    "http://[v1.x]/",
    "http://[]/",
    "http://[127.0.0.1]/",
    "http://[::1]x/",
    "http:///127.0.0.1/",
    "http://",
    "http://?x",
    "http://:80/",
    "http://127.0.0.1,example.com/",
    "http://exa$mple.com/",
    "http://exa..mple.com/",
    "http://.example.com/",
    "http://-example.com/",
    "http://example-.com/",
    "http://xn--0/",
    "http://xn--a/",
    "http://xn--zzzzzz99999/",
    "http://xn--.example/",
]

OTHER = [
    ("bad_port", "http://localhost:8000/admin/"),
    ("bad_port", "http://example.com:80:80/"),
    ("bad_port", "http://example.com:22/"),
    ("bad_port", "http://example.com:25/"),
    ("bad_port", "http://example.com:6379/"),
    ("bad_port", "http://example.com:0/"),
    ("bad_port", "http://example.com:99999/"),
    ("bad_port", "http://example.com:-80/"),
    ("bad_port", "http://example.com:8 0/".replace(" ", "a")),
    ("bad_port", "http://example.com:٨٠/"),
    ("userinfo", "http://example.com@127.0.0.1/"),
    ("userinfo", "http://a:b@127.0.0.1:80@example.com/"),
    ("userinfo", "http://127.0.0.1%2f@example.com/"),
    ("userinfo", "https://user:secret@example.com/hook"),
    ("userinfo", "http://@example.com/"),
    ("bad_character", "http://127.0.0.1:80\\@example.com/"),
    ("bad_character", "http://example.com\\@127.0.0.1/"),
    ("bad_character", "http://127.0.0.1\t.example.com/"),
    ("bad_character", "http://exa\nmple.com/"),
    ("bad_character", "http://example.com/\r\nHost: x"),
    ("bad_character", "http://example.com/\x00"),
    ("bad_character", "http://localhost\x00.example.com/"),
    ("bad_character", " http://example.com/"),
    ("bad_character", "\ufeffhttp://example.com/"),
    ("bad_character", "\u200bhttp://example.com/"),
    ("bad_character", "http://example.com/ "),
    ("bad_character", "http://exa\u200bmple.com/"),
    ("bad_character", " javascript:alert(1)"),
    ("bad_character", "java\tscript:alert(1)"),
    ("bad_scheme", "//127.0.0.1/"),
    ("bad_scheme", "file:///etc/passwd"),
    ("bad_scheme", "file:/etc/passwd"),
    ("bad_scheme", "source:file:///etc/passwd"),
    ("bad_scheme", "gopher://127.0.0.1:6379/_FLUSHALL"),
    ("bad_scheme", "dict://127.0.0.1:11211/"),
    ("bad_scheme", "ftp://127.0.0.1/"),
    ("bad_scheme", "jar:http://a!/"),
    ("bad_scheme", "data:text/html,x"),
    ("bad_scheme", "javascript:alert(1)"),
    ("bad_scheme", "%20javascript:alert(1)"),
    ("bad_scheme", "unix:///var/run/docker.sock"),
    ("bad_scheme", "http:/example.com/"),
    ("bad_scheme", "http:example.com"),
    ("bad_scheme", "example.com"),
    ("bad_scheme", ""),
    ("bad_host", f"http://{'a' * 64}.com/"),
    ("bad_host", f"http://{'a.' * 130}com/"),
    ("bad_host", f"http://{'a.' * 900}com/"),
    ("bad_host", f"http://{'ü' * 200}.com/"),
    ("too_long", f"http://{'a.' * 2000}com/"),
    ("too_long", f"http://example.com/{'a' * 2048}"),
    ("too_long", f"http://example.com/{'字' * 1000}"),
    ("too_long", "http://" + "@" * 50_000),
]


@pytest.mark.parametrize(
    ("code", "text"),
    [("private_address", text) for text in PRIVATE] + [("bad_host", text) for text in BAD_HOST] + OTHER,
)
def test_bad_address_is_refused_with_a_reason(code: str, text: str) -> None:
    with pytest.raises(Refused) as caught:
        check_url(text)
    assert caught.value.code == code
    assert caught.value.message.endswith(".")
    assert not caught.value.is_temporary


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("https://example.com:443/", "https://example.com/"),
        ("http://example.com", "http://example.com/"),
        ("HTTP://EXAMPLE.Com.:80?q", "http://example.com/?q"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("https://BÜCHER.example/", "https://xn--bcher-kva.example/"),
        ("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/"),
        ("https://论坛.中国/帖子?页=1", "https://xn--kfsr23j.xn--fiqs8s/%E5%B8%96%E5%AD%90?%E9%A1%B5=1"),
        ("https://аpple.com/", "https://xn--pple-43d.com/"),  # a Cyrillic letter: shown for what it is
        ("http://[2606:4700::1111]/", "http://[2606:4700::1111]/"),
        ("http://[2606:4700:0:0::1111]:80/a", "http://[2606:4700::1111]/a"),
        ("http://8.8.8.8/", "http://8.8.8.8/"),
        ("https://example.com/@name/a@b?x=@", "https://example.com/@name/a@b?x=@"),
        ("https://example.com/a%20b", "https://example.com/a%20b"),
        ("https://example.com/a/../b//c;d=e?f[]=g|h&i='j'", "https://example.com/a/../b//c;d=e?f[]=g|h&i='j'"),
        ('https://example.com/"<>`{}', "https://example.com/%22%3C%3E%60%7B%7D"),
        ("https://example.com/page#part", "https://example.com/page"),
        ("https://my_site.example.com/", "https://my_site.example.com/"),
        ("https://example.com:/", "https://example.com/"),
        ("https://3com.example/", "https://3com.example/"),
        ("https://0x7f.example/", "https://0x7f.example/"),
    ],
)
def test_valid_address_is_normalised_to_one_spelling(text: str, wanted: str) -> None:
    url = check_url(text)
    assert url.url == wanted
    assert check_url(url.url) == url


def test_further_port_passes_when_the_operator_allows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Refused):
        check_url("https://example.com:8443/")
    monkeypatch.setenv("WATCHBOOK_EXTRA_PORTS", "8443, 8080")
    assert check_url("https://example.com:8443/x").url == "https://example.com:8443/x"
    with pytest.raises(Refused):
        check_url("https://127.0.0.1:8443/")


def test_trusted_port_is_allowed_and_the_next_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", "127.0.0.1:8001, [::1]:9000, Intranet.example.:8080")
    for text in ("http://127.0.0.1:8001/", "http://[::1]:9000/", "http://intranet.example:8080/"):
        assert check_url(text)
    for text in ("http://127.0.0.1:8002/", "http://127.0.0.2:8001/", "http://127.0.0.1/", "http://[::1]/"):
        with pytest.raises(Refused):
            check_url(text)


def test_trusted_network_passes_and_its_neighbour_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHBOOK_TRUSTED_NETWORKS", "10.1.2.0/24, fd00:1::/64")
    for text in ("http://10.1.2.3/", "http://[fd00:1::5]/", "http://wiki.internal/"):
        assert check_url(text)
    for text in ("http://10.1.3.3/", "http://10.1.1.255/", "http://[fd00:2::5]/", "http://127.0.0.1/"):
        with pytest.raises(Refused):
            check_url(text)


@pytest.mark.parametrize("name", ["TRUSTED_HOSTS", "TRUSTED_NETWORKS", "EXTRA_PORTS"])
def test_misspelt_option_is_reported_in_one_line(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from watchbook.base.env import InvalidSetting
    from watchbook.base.web import options

    monkeypatch.setenv(f"WATCHBOOK_{name}", "nonsense")
    with pytest.raises(InvalidSetting, match=f"WATCHBOOK_{name}"):
        getattr(options, name).value  # noqa: B018 - reading is the check


@pytest.mark.parametrize(
    "text", ["https://watch.example.org/hook", "http://watch.example.org/", "https://WATCH.example.org:443/"]
)
def test_our_own_address_is_refused_as_a_target(text: str) -> None:
    with pytest.raises(Refused) as caught:
        check_url(text, own_url="https://watch.example.org")
    assert caught.value.code == "own_address"
    assert check_url("https://other.example.org/", own_url="https://watch.example.org")


def test_another_port_of_our_machine_is_not_our_own_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", "127.0.0.1:5678")
    assert check_url("http://127.0.0.1:5678/hook", own_url="http://127.0.0.1:8000")


def test_refusal_does_not_repeat_the_secret() -> None:
    with pytest.raises(Refused) as caught:
        check_url("https://user:sentinel@example.com/")
    assert "sentinel" not in str(caught.value) + repr(caught.value) + caught.value.message


@pytest.mark.parametrize(
    ("location", "wanted"),
    [
        ("/next?a=b", "https://example.com/next?a=b"),
        ("next", "https://example.com/dir/next"),
        ("?page=2", "https://example.com/dir/page?page=2"),
        ("//other.example/x", "https://other.example/x"),
        ("http://other.example", "http://other.example/"),
        ("/a b", "https://example.com/a%20b"),
        ("/\xe5\xad\x97", "https://example.com/%E5%AD%97"),
        ("/\xe9", "https://example.com/%E9"),
        ("", "https://example.com/dir/page"),
    ],
)
def test_redirect_is_resolved_as_browsers_do(location: str, wanted: str) -> None:
    assert follow_url(check_url("https://example.com/dir/page"), location).url == wanted


@pytest.mark.parametrize(
    "location",
    ["//127.0.0.1/", "http://169.254.169.254/", "file:///etc/passwd", "//a@b/", "/a\\b", "http://[::1", "/\x00",
     "javascript:alert(1)", "data:text/html,x", "http://example.com:6379/", "/" + "a" * 10_000, "http://[x]/"],
)  # fmt: skip
def test_redirect_target_is_checked_like_the_first_address(location: str) -> None:
    with pytest.raises(Refused):
        follow_url(check_url("https://example.com/dir/page"), location)


def test_log_line_shows_no_query() -> None:
    assert check_url("https://example.com/a?token=sentinel").shown == "example.com/a?…"


def test_both_schemes_of_a_host_share_its_pace() -> None:
    sites = {
        check_url(text).site for text in ("http://example.com/", "https://example.com/a", "http://example.com:443/")
    }
    assert sites == {"example.com"}
    assert SafeUrl("http", "127.0.0.1", 8001, "/").site == "127.0.0.1:8001"


def test_public_addresses_are_public() -> None:
    for ip in (
        "1.1.1.1",
        "8.8.8.8",
        "100.63.255.255",
        "100.128.0.1",
        "172.32.0.1",
        "2606:4700::1111",
        "2001:4860::8888",
    ):
        assert is_public(ip), ip


@pytest.mark.parametrize("letter", ["/", "a", "(", "@", "[", "%", ".", "字", ":", "?"])
def test_long_uniform_text_is_read_in_bounded_time(letter: str) -> None:
    started = time.process_time()
    for text in ("http://" + letter * 2000, letter * 100_000, "http://example.com/" + letter * 2000):
        try:
            check_url(text)
        except Refused:
            continue
    assert time.process_time() - started < 5.0  # CPU time and generous: backtracking would take minutes
