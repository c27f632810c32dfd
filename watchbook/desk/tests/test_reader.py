from __future__ import annotations

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone, translation

from watchbook.kit.formatting import THEME_COOKIE, zone_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("systems")]


@pytest.fixture(autouse=True)
def english():
    with translation.override("en"):
        yield


def signed_in(user, **changes):
    for name, value in changes.items():
        setattr(user, name, value)
    user.save()
    client = Client()
    client.force_login(user)
    return client


def test_account_language_wins_over_the_browser(alice):
    page = signed_in(alice, language="zh-hans").get("/keys/", headers={"Accept-Language": "en"})
    assert '<html lang="zh-Hans"' in page.text
    assert page.headers["Content-Language"] == "zh-hans"


def test_browser_decides_when_the_account_does_not(alice):
    client = signed_in(alice)
    assert '<html lang="zh-Hans"' in client.get("/keys/", headers={"Accept-Language": "zh-CN,zh;q=0.9"}).text
    assert '<html lang="en"' in client.get("/keys/", headers={"Accept-Language": "fr"}).text


def test_page_is_written_in_the_readers_zone_and_leaves_none_behind(alice):
    before = timezone.get_current_timezone_name()
    assert "America/New_York" in signed_in(alice, time_zone="America/New_York").get("/").text
    assert timezone.get_current_timezone_name() == before


@pytest.mark.parametrize("name", ["", "Nowhere/City", "../../etc/passwd", "\x00"])
def test_unknown_zone_is_the_installations(name):
    class Somebody:
        time_zone = name

    assert zone_of(Somebody()).key == settings.TIME_ZONE


def test_theme_of_the_account_is_written_into_the_page(alice):
    assert 'data-theme="dark"' in signed_in(alice, theme="dark").get("/keys/").text
    assert "data-theme=" not in signed_in(alice, theme="").get("/keys/").text


def test_switches_are_kept_on_the_account_and_in_a_cookie(alice):
    client = signed_in(alice)
    answer = client.post("/theme/", {"theme": "dark", "next": "/keys/"})
    assert (answer.status_code, answer.url) == (302, "/keys/")
    assert answer.cookies[THEME_COOKIE].value == "dark"
    client.post("/language/", {"language": "zh-hans", "next": "/keys/"})
    alice.refresh_from_db()
    assert (alice.theme, alice.language) == ("dark", "zh-hans")
    assert '<html lang="zh-Hans" data-theme="dark"' in client.get("/keys/").text


def test_stranger_keeps_the_choice_in_cookies():
    client = Client()
    client.post("/theme/", {"theme": "dark", "next": "/"})
    client.post("/language/", {"language": "zh-hans", "next": "/"})
    assert '<html lang="zh-Hans" data-theme="dark"' in client.get("/accounts/signup/").text


@pytest.mark.parametrize("value", ["purple", "<script>", "x" * 5000])
def test_unknown_choice_changes_nothing(alice, value):
    client = signed_in(alice)
    for path, name in (("/theme/", "theme"), ("/language/", "language")):
        assert not client.post(path, {name: value}).cookies
    alice.refresh_from_db()
    assert (alice.theme, alice.language) == ("", "")


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"]
)
def test_switch_leads_only_to_this_site(target):
    assert Client().post("/theme/", {"theme": "dark", "next": target}).url == "/"


@pytest.mark.parametrize("path", ["/theme/", "/language/", "/welcome/done/"])
def test_switch_needs_a_post_with_a_token(alice, path):
    client = signed_in(alice)
    assert client.get(path).status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(alice)
    assert strict.post(path, {"theme": "dark"}).status_code == 403


def test_probe_without_a_session_costs_no_query(django_assert_num_queries):
    with django_assert_num_queries(0):
        assert Client().get("/healthz").status_code == 200
