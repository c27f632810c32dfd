"""Which tests also run on PostgreSQL and MariaDB is found in the source."""

from __future__ import annotations

from pathlib import Path

from watchbook.base.testing import own_sql

MODULE = """
from django.db import IntegrityError, connection
from watchbook.base.store.rows import upsert

def locks(rows):
    return rows.select_for_update()

def asks(sql):
    with connection.cursor() as cursor:
        cursor.execute(sql)

def writes(rows):
    upsert(rows)

def through_another(rows):
    return locks(rows)

class Store:
    def refused(self):
        try:
            self.save()
        except IntegrityError:
            return None

def pages(request):
    return request.GET["cursor"]

def parses(token):
    return token.raw()
"""


def test_functions_with_sql_of_their_own_and_their_callers_are_found(tmp_path: Path) -> None:
    file = tmp_path / "store.py"
    file.write_text(MODULE)
    found = own_sql.Source(file).reaching(set())
    assert found == {"locks", "asks", "writes", "through_another", "refused"}


def test_test_that_names_a_function_of_another_module_reaches_its_sql(tmp_path: Path) -> None:
    file = tmp_path / "test_store.py"
    file.write_text("def helper():\n    claim()\n\ndef test_a(board):\n    helper()\n\ndef test_b():\n    draw()\n")
    assert own_sql.Source(file).reaching({"claim"}) == {"helper", "test_a"}


def test_queue_and_search_run_on_every_database_and_texts_of_services_do_not() -> None:
    core = own_sql.ROOT / "watchbook" / "core"
    assert {"claim_next", "claim_by_id"} <= own_sql.in_module("watchbook.core.jobs.queue")
    assert own_sql.in_test_file(core / "search" / "tests" / "test_find.py") > {
        "test_every_word_must_be_there_in_any_script"
    }
    assert not own_sql.in_test_file(core / "notify" / "tests" / "test_services.py")
