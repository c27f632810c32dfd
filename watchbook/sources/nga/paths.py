"""Addresses of a topic's pages. Templates write the same as `{% url … %}{{ thread.at_board }}`."""

from __future__ import annotations

from functools import cache

from django.urls import get_script_prefix, reverse

from watchbook.sources.nga.models import Thread
from watchbook.sources.nga.models.forum import FLOORS_PER_PAGE


def path(thread: Thread, name: str = "topic", *args: int) -> str:
    numbers = (thread.source_thread_id, *args)
    pattern = _pattern(get_script_prefix(), name, len(numbers))
    return f"{pattern.format(*numbers)}{thread.at_board}"


@cache
def _pattern(_prefix: str, name: str, count: int) -> str:
    """An address with places for its numbers: looking one up costs as much as storing a floor."""
    marks = [10**9 + number for number in range(count)]
    found = reverse(f"nga:{name}", args=marks)
    for number, mark in enumerate(marks):
        found = found.replace(str(mark), f"{{{number}}}")
    return found


def page_path(thread: Thread, number: int) -> str:
    """One page of its floors."""
    start = path(thread)
    return start if number <= 1 else f"{start}{'&' if '?' in start else '?'}page={number}"


def floor_place(thread: Thread, floor_number: int) -> str:
    """The page on which a floor stands, whether it is stored or not, and the place on it."""
    return f"{page_path(thread, floor_number // FLOORS_PER_PAGE + 1)}#f{floor_number}"
