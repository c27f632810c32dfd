from __future__ import annotations

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from watchbook.core.search import index
from watchbook.core.search.find import find
from watchbook.core.search.models import SearchDocument
from watchbook.core.search.tests.conftest import NOON, document

pytestmark = pytest.mark.django_db


def ids(query, **given):
    return [hit.object_id for hit in find(query, scopes=["members"], **given).items]


def writes(captured):
    return [each["sql"] for each in captured if each["sql"].lstrip().upper().startswith(("INSERT", "UPDATE", "DELETE"))]


def test_document_is_found_by_the_words_it_has_now(put):
    put(1, "old harbour", "旧港口")
    put(1, "new lighthouse", "新灯塔")
    assert ids("lighthouse") == ids("灯塔") == ["1"]
    assert ids("harbour") == ids("港口") == []
    assert SearchDocument.objects.count() == 1


def test_unchanged_document_costs_no_write(put):
    put(1, "harbour", "港口")
    with CaptureQueriesContext(connection) as captured:
        assert put(1, "harbour", "港口") == 0
    assert writes(captured) == []


def test_document_that_only_moved_keeps_its_words(put):
    put(1, "harbour")
    with CaptureQueriesContext(connection) as captured:
        put(1, "harbour", hours=5, scope="staff", url_path="/elsewhere")
    assert len(writes(captured)) == 1
    row = SearchDocument.objects.get()
    assert (row.scope, row.url_path, (row.occurred_at - NOON).total_seconds()) == ("staff", "/elsewhere", 5 * 3600)
    assert ids("harbour") == []


def test_one_ceiling_of_queries_for_1_and_200_documents():
    counts = []
    for size in (1, 200):
        made = [document(f"{size}-{number}", f"harbour {number}", "港口" * 20) for number in range(size)]
        for batch in (made, [document(each.object_id, "changed " + each.title) for each in made]):
            with CaptureQueriesContext(connection) as captured:
                index.put(batch)
            counts.append(len(captured))
        with CaptureQueriesContext(connection) as captured:
            index.remove("topic", [each.object_id for each in made])
        counts.append(len(captured))
    assert max(counts) <= 10
    assert ids("harbour") == []


def test_last_of_two_documents_with_one_id_wins():
    index.put([document(1, "harbour"), document(1, "lighthouse")])
    assert ids("lighthouse") == ["1"]
    assert ids("harbour") == []


def test_removed_documents_are_not_found(put):
    put(1, "harbour")
    put(2, "harbour")
    assert index.remove("topic", ["1", "7"]) == 1
    assert index.remove("floor", ["2"]) == 0
    assert ids("harbour") == ["2"]


def test_what_is_rolled_back_is_not_found(put):
    put(1, "harbour")
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        put(1, "lighthouse")
        put(2, "harbour")
        index.remove("topic", ["1"])
        raise ZeroDivisionError
    assert ids("harbour") == ["1"]
    assert ids("lighthouse") == []


@pytest.mark.django_db(transaction=True)
def test_index_can_be_rebuilt():
    index.put([document(number, f"harbour {number}") for number in range(3)])
    done = []
    assert index.rebuild(done.append) == 3
    assert done == [3]
    assert sorted(ids("harbour")) == ["0", "1", "2"]


@pytest.mark.parametrize(
    "body",
    [
        "".join(chr(0x4E00 + number % 20_000) + chr(0x20000 + number) for number in range(40_000)) * 13,
        " ".join(f"w{number:x}" for number in range(200_000)),
        "x" * 2_000_000,
        "\x00\ud800\ufffe\x1b",
        "\ufdfa" * 200_000,
    ],
    ids=["pairs", "words", "one word", "unfit", "unfolding"],
)
def test_any_body_can_be_indexed(put, body):
    put(1, "harbour", body)
    assert ids("harbour") == ["1"]
    put(1, "lighthouse", "short")
    assert ids("lighthouse") == ["1"]


def test_names_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="object_id"):
        index.put([document("x" * 201, "harbour")])


def test_unsafe_links_are_dropped(put):
    put(1, "harbour", url_path="javascript:alert(1)")
    assert SearchDocument.objects.get().url_path == ""
