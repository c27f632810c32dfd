"""Addresses of a topic's pages. Templates write the same as `{% url … %}{{ thread.at_board }}`."""

from __future__ import annotations

from django.urls import reverse

from watchbook.sources.nga.models import Thread
from watchbook.sources.nga.models.forum import FLOORS_PER_PAGE


def path(thread: Thread, name: str = "topic", *args: int) -> str:
    return f"{reverse(f'nga:{name}', args=[thread.source_thread_id, *args])}{thread.at_board}"


def page_path(thread: Thread, number: int) -> str:
    """One page of its floors."""
    start = path(thread)
    return start if number <= 1 else f"{start}{'&' if '?' in start else '?'}page={number}"


def floor_place(thread: Thread, floor_number: int) -> str:
    """The page on which a floor stands, whether it is stored or not, and the place on it."""
    return f"{page_path(thread, floor_number // FLOORS_PER_PAGE + 1)}#f{floor_number}"
