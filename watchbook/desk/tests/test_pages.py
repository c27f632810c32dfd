"""The policy allows no inline script and no inline style; templates of the whole package must obey it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.http import HttpResponse
from django.template.loader import get_template
from django.test import Client, RequestFactory
from django.utils import translation

import watchbook
from watchbook.base.testing.pages import squeezed
from watchbook.desk.layout import Layout, build_menu
from watchbook.kit import formatting

PACKAGE = Path(watchbook.__file__).parent
TEMPLATES = sorted(PACKAGE.rglob("templates/**/*.html"))
MAILS = "mail"
INLINE = re.compile(r"<style|\sstyle\s*=|\son[a-z]+\s*=\s*[\"']|<script(?![^>]*\bsrc=)|javascript:", re.IGNORECASE)


def pages():
    return [path for path in TEMPLATES if MAILS not in path.name and "email" not in path.name]


def name_of(path):
    return str(path.relative_to(PACKAGE))


@pytest.mark.parametrize("path", pages(), ids=name_of)
def test_template_has_no_inline_script_or_style(path):
    assert not INLINE.findall(re.sub(r"{#.*?#}|{% comment %}.*?{% endcomment %}", "", path.read_text(), flags=re.S))


@pytest.mark.parametrize("path", TEMPLATES, ids=name_of)
def test_template_can_be_compiled(path):
    get_template(str(path).split("/templates/")[1])


def test_style_sheets_fetch_nothing_from_elsewhere():
    for sheet in PACKAGE.rglob("static/**/*.css"):
        assert not re.findall(r"@import|url\(\s*['\"]?(?:https?:)?//", sheet.read_text())


@pytest.mark.parametrize("name", ["components.css", "content.css"])
def test_components_name_no_raw_colour(name):
    sheet = (PACKAGE / "kit/static/kit" / name).read_text()
    screen = sheet[: sheet.rindex("@media print")]
    assert not re.findall(r":[^;{}]*#[0-9a-fA-F]{3,8}\b", screen)


def test_colours_of_text_reach_the_contrast_they_promise():
    tokens = (PACKAGE / "kit/static/kit/tokens.css").read_text()
    named = dict(re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), #[0-9a-f]{6}\)", tokens))
    dark = dict(re.findall(r"--([\w-]+): light-dark\(#[0-9a-f]{6}, (#[0-9a-f]{6})\)", tokens))
    for theme in (named, dark):
        for text in ("ink", "ink-2", "ink-3", "accent", "ok", "warn", "bad"):
            for ground in ("paper", "sheet"):
                assert contrast(theme[text], theme[ground]) >= 4.5, (text, ground)
        for tone in ("ok", "warn", "bad", "info", "off"):
            assert contrast(theme[tone], theme[f"{tone}-soft"]) >= 4.5, tone
        assert contrast(theme["line-strong"], theme["sheet"]) >= 3


def contrast(one, other):
    lights = sorted((luminance(one), luminance(other)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def luminance(colour):
    parts = [int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.django_db
@pytest.mark.usefixtures("systems")
class TestPage:
    @pytest.fixture
    def reader(self, operator):
        client = Client(headers={"Accept-Language": "en"})
        client.force_login(operator)
        return client

    def test_policy_is_strict_and_the_page_obeys_it(self, reader):
        answer = reader.get("/keys/")
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert "unsafe" not in answer.headers["Content-Security-Policy"]
        assert not INLINE.findall(answer.text)

    def test_empty_blocks_leave_no_element(self, reader):
        page = reader.get("/keys/").text
        assert 'class="crumbs"' not in page
        assert 'class="tabs"' not in page
        assert 'class="actions"' not in page

    def test_menu_marks_where_the_reader_is(self, reader):
        page = squeezed(reader.get("/alerts/").text)
        assert re.search(r'<a href="/alerts/" aria-current="page" data-go="t">Tides</a>', page)
        assert 'aria-current="page"' not in reader.get("/keys/").text.split("</nav>")[0]

    def test_pages_behind_the_tabs_of_operations_belong_to_it(self, reader):
        for path in ("/people/", "/audit/"):
            assert re.search(r'<a href="/operations/" aria-current="true"', squeezed(reader.get(path).text)), path

    def test_only_operators_see_operations(self, reader, alice):
        assert "Operations" in reader.get("/keys/").text
        client = Client(headers={"Accept-Language": "en"})
        client.force_login(alice)
        assert "Operations" not in client.get("/keys/").text

    def test_every_menu_entry_has_its_own_key(self, operator):
        request = RequestFactory().get("/")
        request.user = operator
        keys = [entry.key for entry in build_menu(request) if entry.key]
        assert len(keys) == len(set(keys))

    def test_alerts_are_counted_once_and_only_when_shown(self, operator, django_assert_num_queries):
        request = RequestFactory().get("/")
        request.user = operator
        layout = Layout(request)
        with django_assert_num_queries(0):
            assert layout.lang == "en"
            assert layout.menu
        with django_assert_num_queries(1):
            assert (layout.alerts_open, layout.alerts_open) == (0, 0)

    def test_stranger_is_sent_to_sign_in(self):
        for path in ("/", "/keys/"):
            assert Client().get(path).status_code == 302

    def test_page_after_a_form_comes_back_to_a_page_not_to_the_form(self, operator):
        request = RequestFactory().post("/x/")
        assert Layout(request).here == "/"


def test_toast_travels_in_a_header_that_is_ascii():
    request = RequestFactory().post("/x")
    request.htmx = True
    answer = formatting.done(request, HttpResponse(), "已移动 2 个文件", undo_url="/undo/")
    header = answer.headers["HX-Trigger"]
    assert header.isascii()
    assert '"undo": "/undo/"' in header


def test_language_of_the_document_is_a_proper_tag():
    with translation.override("zh-hans"):
        assert Layout(RequestFactory().get("/")).lang == "zh-Hans"
