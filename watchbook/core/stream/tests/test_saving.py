"""What can be saved to the library from the home page and from the reading pane of the inbox."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from watchbook.base.testing.people import client_of
from watchbook.core import registry
from watchbook.core.registry import Source
from watchbook.core.stream.entries import record
from watchbook.core.stream.models import StreamEntry
from watchbook.core.stream.tests.conftest import entry, forum

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("systems")]

ADDRESS = "/library/clip/?kind=topic&amp;id={}"
BOTH = pytest.mark.parametrize("path", ["/stream/{}/", "/"])


@pytest.fixture
def with_library(monkeypatch):
    monkeypatch.setattr(
        registry, "sources", lambda: (forum(), Source("library", "Library", "library", clip_page="library:clip"))
    )


def page(person, path):
    """The page, or the newest entry opened in the inbox."""
    return client_of(person).get(path.format(StreamEntry.objects.latest("pk").pk)).content.decode()


def can_save(shown):
    return "/library/clip/" in shown


@BOTH
def test_line_is_filed_with_one_press(alice, with_library, path):
    record([entry("7&8", "Lanterns")])
    shown = page(alice, path)
    assert f'href="{ADDRESS.format("7%268")}"' in shown
    assert "Save to library" in shown


@BOTH
def test_what_no_system_clips_has_no_button(alice, with_library, path):
    for number, fields in enumerate([{"object_kind": "board"}, {"object_kind": ""}, {"source": "gone"}]):
        record([entry(number, **{"object_kind": "map", **fields})])
        assert not can_save(page(alice, path))


def test_what_lost_its_text_has_no_button(alice, with_library):
    record([entry(1, "  ")])
    assert not can_save(page(alice, "/stream/{}/"))


@BOTH
def test_without_a_library_no_line_has_a_button(alice, path):
    record([entry(1)])
    assert not can_save(page(alice, path))


def test_title_is_no_markup_in_the_name_of_the_button(alice, with_library):
    record([entry(1, '"><script>alert(1)</script>')])
    shown = page(alice, "/")
    assert "<script>alert" not in shown
    assert "Save to library: &quot;&gt;&lt;script&gt;" in shown


def test_buttons_cost_no_query(alice, with_library):
    client = client_of(alice)
    client.get("/")
    costs = []
    for number in (1, 9):
        record([entry(f"{number}-{each}") for each in range(number)])
        with CaptureQueriesContext(connection) as captured:
            shown = client.get("/").content.decode()
        costs.append(len(captured))
    assert shown.count("log-save") == 10
    assert costs[0] == costs[1]
