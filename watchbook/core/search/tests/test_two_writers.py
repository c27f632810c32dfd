"""Two writers of the same documents at the same moment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connections

from watchbook.core.search import index
from watchbook.core.search.find import find
from watchbook.core.search.models import SearchDocument
from watchbook.core.search.tests.conftest import document

pytestmark = pytest.mark.django_db(transaction=True)

WRITERS, ROUNDS, DOCUMENTS = 3, 5, 20


def write(barrier: Barrier, writer: int) -> None:
    """The same documents in another order and with other words than the others write."""
    try:
        for turn in range(ROUNDS):
            barrier.wait(timeout=60)
            numbers = range(DOCUMENTS) if writer % 2 else reversed(range(DOCUMENTS))
            index.put([document(number, f"harbour w{writer} t{turn}") for number in numbers])
    finally:
        connections.close_all()


def test_writers_neither_lock_up_nor_leave_words_behind():
    barrier = Barrier(WRITERS)
    with ThreadPoolExecutor(WRITERS) as pool:
        for done in [pool.submit(write, barrier, writer) for writer in range(WRITERS)]:
            done.result(timeout=120)

    assert SearchDocument.objects.count() == DOCUMENTS
    assert len(find("harbour", scopes=["members"], limit=100).items) == DOCUMENTS
    for row in SearchDocument.objects.all():
        found = find(f'"{row.title}"', scopes=["members"], limit=100).items
        assert row.object_id in [hit.object_id for hit in found]
