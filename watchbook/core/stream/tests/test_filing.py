"""What a line of the stream offers to file, there and on the home page."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from watchbook.base.testing.people import client_of
from watchbook.core import registry
from watchbook.core.registry import Source
from watchbook.core.stream.record import record
from watchbook.core.stream.tests.conftest import entry, forum

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("systems")]

ADDRESS = "/library/clip/?kind=topic&amp;id={}"
BOTH = pytest.mark.parametrize("path", ["/stream/", "/"])


@pytest.fixture
def with_library(monkeypatch):
    monkeypatch.setattr(registry, "sources", lambda: (forum(), Source("library", "Library", "library")))


def page(person, path):
    return client_of(person).get(path).content.decode()


@BOTH
def test_a_line_is_filed_with_one_press(alice, with_library, path):
    record([entry("7&8", "Lanterns")])
    shown = page(alice, path)
    assert f'href="{ADDRESS.format("7%268")}"' in shown
    assert 'aria-label="File in library: Lanterns"' in shown


@BOTH
def test_what_no_system_clips_has_no_button(alice, with_library, path):
    record([entry(1, object_kind="board"), entry(2, object_kind=""), entry(3, source="gone", object_kind="map")])
    assert "log-file" not in page(alice, path)


def test_what_lost_its_text_has_no_button(alice, with_library):
    record([entry(1, "  ")])
    assert "log-file" not in page(alice, "/stream/")


@BOTH
def test_without_a_library_no_line_has_a_button(alice, path):
    record([entry(1)])
    assert "log-file" not in page(alice, path)


def test_a_title_is_no_markup_in_the_name_of_the_button(alice, with_library):
    record([entry(1, '"><script>alert(1)</script>')])
    shown = page(alice, "/stream/")
    assert "<script>alert" not in shown
    assert "File in library: &quot;&gt;&lt;script&gt;" in shown


def test_buttons_cost_no_query(alice, with_library):
    client = client_of(alice)
    client.get("/stream/")
    costs = []
    for number in (1, 40):
        record([entry(f"{number}-{each}") for each in range(number)])
        with CaptureQueriesContext(connection) as captured:
            shown = client.get("/stream/").content.decode()
        costs.append(len(captured))
    assert shown.count("log-file") == 41
    assert costs[0] == costs[1]
