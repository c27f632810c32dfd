from __future__ import annotations

import signal

import pytest

from watchbook.base.logs import redact

COOKIE = "sentinel-cookie-7f3a9c21"
TOKEN = "sentinel-token-0b6d44ee"
TOKEN_TAIL = "Zk3sentinel_x-77QqLmNoPrStUvWxYz0123456789A"


@pytest.fixture(autouse=True)
def _nothing_known():
    redact.forget_all()
    yield
    redact.forget_all()


@pytest.mark.parametrize(
    "leak",
    [
        f"Cookie: web_session={COOKIE}; a1={TOKEN}",
        f"{{'Cookie': 'web_session={COOKIE}', 'Accept': '*/*'}}",
        f"headers=[(b'cookie', b'web_session={COOKIE}'), (b'accept', b'*/*')]",
        f"Set-Cookie: sid={COOKIE}; HttpOnly",
        f"authorization: Bearer {TOKEN}",
        f"sent Bearer {TOKEN} to the server",
        f"GET https://user:{TOKEN}@example.com/path failed",
        f"redis://:{TOKEN}@127.0.0.1:6379/0",
        f"GET https://example.com/feed?token={TOKEN}&page=2",
        f"https://example.com/cb?code={TOKEN}#x",
        f"https://example.com/a?page=2;access_token={TOKEN}",
        f"POST https://chat.example.com/api/webhooks/123/{TOKEN}",
        f"password={TOKEN}",
        f"<QueryDict: {{'login': ['a'], 'password': ['{TOKEN}', '{TOKEN}'], 'next': ['/']}}>",
        f'{{"smtp_password": "{TOKEN}", "port": 25}}',
        f"KeyError: api_key='{TOKEN}'",
        f"X-Api-Key: {TOKEN}",
        f"Not Found: /feeds/wb_ab12cd34{TOKEN_TAIL}.atom",
        f"signed with whsec_{TOKEN.replace('-', '')}",
    ],
)
def test_secret_is_masked_by_the_text_around_it(leak):
    shown = redact.line(leak)
    assert COOKIE not in shown
    assert TOKEN not in shown
    assert TOKEN.replace("-", "") not in shown
    assert TOKEN_TAIL not in shown
    assert "***" in shown


@pytest.mark.parametrize(
    "plain",
    [
        "stored 30 floors of topic 4711 in 12 ms",
        "GET https://example.com/search?keyword=cookies&page=2 gave 200",
        "monkey: 3 bananas",
        "visit https://example.com/hook-and-line/page today",
        "KeyError: 'title'",
        "in test_a_very_long_name_of_a_function_that_says_what_it_does_2026_times",
    ],
)
def test_other_words_stay_as_they_are(plain):
    assert redact.line(plain) == plain


def test_rest_of_a_masked_line_can_still_be_read():
    shown = redact.line(f"GET https://bob:{TOKEN}@example.com/feed?token={TOKEN}&page=2 gave 403")
    assert shown == "GET https://***@example.com/feed?token=***&page=2 gave 403"


def test_registered_value_is_masked_everywhere():
    redact.remember("päss/wörd+7")
    for form in ("päss/wörd+7", "p%C3%A4ss%2Fw%C3%B6rd%2B7", "p\\u00e4ss/w\\u00f6rd+7"):
        assert "***" in redact.line(f"before {form} after")
        assert "rd+7" not in redact.line(f"before {form} after")


def test_parts_of_a_registered_cookie_line_and_configuration_are_masked():
    redact.remember(f"web_session={COOKIE}; theme=dark")
    redact.remember(f'{{"url": "https://hooks.example.com/services/T1/{TOKEN}", "digest": "immediate", "n": 3}}')
    assert redact.line(f"value {COOKIE}") == "value ***"
    assert TOKEN not in redact.line(f"path /services/T1/{TOKEN} refused, last step {TOKEN}")
    assert redact.line("digest is immediate, theme is dark") == "digest is immediate, theme is dark"


def test_very_short_values_are_not_registered_for_masking():
    redact.remember("abc")
    assert redact.line("abcdef") == "abcdef"


def test_secret_options_of_the_environment_are_masked_automatically(monkeypatch):
    monkeypatch.setenv("EMAIL_HOST_PASSWORD", "smtp-sentinel-5511")
    monkeypatch.setenv("DATABASE_URL", "postgres://bob:db-sentinel-99@db.example.com/watch")
    shown = redact.line("login with smtp-sentinel-5511 and db-sentinel-99 at db.example.com")
    assert shown == "login with *** and *** at db.example.com"


def test_control_characters_cannot_forge_a_line():
    shown = redact.line("topic\n2026-01-01 INFO forged\r\x1b[2J\x00\u202e\u2028end\ud800")
    assert "\n" not in shown
    assert shown == "topic\\n2026-01-01 INFO forged\\r\\x1b[2J\\x00\\u202e\\u2028end\\ud800"


def test_long_line_is_cut_and_says_so():
    shown = redact.line("x " * 20_000)
    assert len(shown) < 8_100
    assert "more characters" in shown


def test_secret_that_crosses_the_cut_does_not_show_its_first_half():
    redact.remember(TOKEN)
    filling = "y" * (redact.LOOKED_AT - 10)
    assert "sentinel-t" not in redact.line(f"{filling}{TOKEN}", length=100_000)


@pytest.fixture
def bounded():
    """What takes quadratic time on 60,000 characters does not end within this."""

    def ring(*_):
        raise AssertionError("not done in 20 s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("text", ["a", "token", "://", "?key=", "\\'", "ab_1A", "Cookie", "eyJa.", "http://a/"])
def test_hostile_text_comes_to_an_end(bounded, text):
    redact.line(text * (60_000 // len(text)) + "'")


def test_fields_are_masked_by_name_and_nested_ones_by_value():
    redact.remember(TOKEN)
    fields = {
        "password": "x",
        "url": f"https://u:p@example.com/{TOKEN}",
        "parts": [{"cookie": "y"}, 3, None],
        "n": True,
    }
    assert redact.mapping(fields) == {
        "password": "***",
        "url": "https://***@example.com/***",
        "parts": [{"cookie": "***"}, 3, None],
        "n": True,
    }


def test_settings_are_not_pushed_out_by_what_comes_later(monkeypatch):
    redact.remember_setting("a-key-of-the-settings-123")
    monkeypatch.setattr(redact, "MOST", 50)
    for number in range(100):
        redact.remember(f"another secret {number}")
    assert redact.text("a-key-of-the-settings-123, another secret 99") == "***, ***"


@pytest.mark.parametrize(
    "address", ["db://desk:{}@host/x", "db://desk:{}/y@host/x", "db://desk:{}#y@host/x", "db://host/x?password={}"]
)
def test_password_of_an_address_is_known_however_it_is_written(address):
    redact.remember_setting(address.format("pass%2Fword%40long"))
    for quoted in ("pass%2Fword%40long", "pass/word@long"):
        assert redact.text(f"cannot read {quoted} here") == "cannot read *** here"


def test_secret_of_this_moment_is_masked_until_the_next_work_begins():
    redact.begin_here()
    redact.remember_here("reset-key-abc-123")
    assert redact.text("GET /reset/reset-key-abc-123/") == "GET /reset/***/"
    redact.begin_here()
    assert redact.text("GET /reset/reset-key-abc-123/") == "GET /reset/reset-key-abc-123/"


def test_secrets_from_outside_are_bounded():
    redact.begin_here()
    for number in range(1000):
        redact.remember_here(f"made up key {number:04}")
    assert len(redact._here.get()) <= redact.MOST_HERE + 10
    redact.begin_here()
