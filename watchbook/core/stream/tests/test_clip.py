from __future__ import annotations

import pytest
from django.template import Context, Template
from django.urls import NoReverseMatch

from watchbook.core import registry
from watchbook.core.registry import Source
from watchbook.core.stream import clip
from watchbook.core.stream.tests.conftest import forum

BUTTON = Template('{% load stream %}{% save_to_library_button "topic" "a&b" %}')


def test_clip_comes_from_the_system_that_knows_the_kind(systems):
    found = clip.find_clip("topic", "1", None)
    assert (found.title, found.version) == ("A topic", "2")
    assert clip.find_clip("topic", "2", None) is None
    assert clip.find_clip("note", "1", None) is None


def test_without_a_library_there_is_no_button(systems):
    assert BUTTON.render(Context()).strip() == ""


def test_with_a_library_the_button_leads_there(systems, monkeypatch):
    def address(name):
        assert name == "library:clip"
        return "/library/clip/"

    monkeypatch.setattr(
        registry, "sources", lambda: (forum(), Source("library", "Library", "library", clip_page="library:clip"))
    )
    monkeypatch.setattr(clip, "reverse", address)
    shown = BUTTON.render(Context())
    assert 'href="/library/clip/?kind=topic&amp;id=a%26b"' in shown
    assert "Save to library" in shown


def test_library_without_such_a_page_shows_no_button(systems, monkeypatch):
    def nowhere(name):
        raise NoReverseMatch(name)

    monkeypatch.setattr(
        registry, "sources", lambda: (Source("library", "Library", "library", clip_page="library:clip"),)
    )
    monkeypatch.setattr(clip, "reverse", nowhere)
    assert BUTTON.render(Context()).strip() == ""


@pytest.mark.parametrize("given", ["", "x" * 5000, "\x00", "'; DROP"])
def test_any_id_may_be_asked(systems, given):
    assert clip.find_clip(given, given, None) is None
