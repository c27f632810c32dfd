"""Somebody who opens the pages of notes, and rows for him to see."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from watchbook.systems.notes import actions
from watchbook.systems.notes.tests.data import add_candidates, held, holder

# A head with its tabs and its work, and the list itself; the same for one row and for thirty.
# Of these, 2 ask for the keyword and the creator that failed last.
MOST_QUERIES = 22
GONE = {"code": "NOT_FOUND", "message": "gone", "reason": "note_gone", "retryable": False}


def browser(person, language="en"):
    client = Client(headers={"Accept-Language": language})
    client.force_login(person)
    return client


def get(client, name, *args, **query):
    return client.get(reverse(f"notes:{name}", args=args), query)


def post(client, name, *args, **values):
    return client.post(reverse(f"notes:{name}", args=args), values, follow=True)


def said(answer):
    return [str(message) for message in answer.context["messages"]]


@pytest.fixture
def reader(alice):
    return browser(alice)


@pytest.fixture
def chief(operator):
    return browser(operator)


def collect_by_hand(count=1, **result):
    """So many notes through one execution that has ended."""
    ids = add_candidates(count)
    mine = holder()
    for one in [record["note_id"] for record in actions.claim({**held(mine), "batch_size": 100})["records"]]:
        actions.commit({**held(mine), "note_id": one, "result": {"title": f"Lantern {one[-2:]}", **result}})
    actions.release({**held(mine), "status": "completed"})
    return ids


def fail_one(error=GONE):
    [one] = add_candidates(1)
    mine = holder()
    actions.claim(held(mine))
    actions.fail({**held(mine), "note_id": one, "error": error})
    actions.release({**held(mine), "status": "completed"})
    return one
