"""django-treebeard and django-tree-queries with the same tree, each asked through its own interface."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

Rows = list[tuple[int | None, int]]


def swing(move: Callable[[Any], Any], targets: list[Any]) -> Callable[[], Any]:
    """There and back again: every call is a real move."""
    turn = [0]

    def call() -> Any:
        turn[0] += 1
        return move(targets[turn[0] % 2])

    return call


def treebeard(rows: Rows) -> Any:
    try:
        from treebeard.mp_tree import MP_Node
    except ImportError:
        print("django-treebeard is not installed: left out", file=sys.stderr)
        return None
    from django.db import connection, models

    class BeardPage(MP_Node):
        title = models.CharField(max_length=200)

        class Meta:
            app_label = "library"

    make_table(connection, BeardPage)
    paths: list[str] = []
    counts: dict[int | None, int] = {}
    made = []
    for parent, depth in rows:
        counts[parent] = counts.get(parent, 0) + 1
        paths.append((paths[parent] if parent is not None else "") + step_of(counts[parent]))
        made.append((paths[-1], depth + 1))
    below = [counts.get(n, 0) for n in range(len(rows))]
    nodes = [
        BeardPage(path=path, depth=depth, numchild=below[n], title=f"Page {n}") for n, (path, depth) in enumerate(made)
    ]
    BeardPage.objects.bulk_create(nodes, batch_size=1000)
    settle(connection)
    ids = dict(BeardPage.objects.values_list("path", "pk"))
    keys = [ids[path] for path in paths]

    def acts(places: dict[str, int]) -> dict[str, Callable[[], Any]]:
        there = {name: keys[n] for name, n in places.items()}

        def get(pk: int) -> Any:
            return BeardPage.objects.get(pk=pk)

        def way(node: Any) -> list[Any]:
            return [*BeardPage.objects.get_ancestors(node), node]

        def move(pk: int, target: int) -> None:
            BeardPage.objects.move(get(pk), get(target), "last-child")

        return {
            "children": lambda: list(BeardPage.objects.get_children(get(there["crowd"]))[:100]),
            "way to a page": lambda: way(get(there["deep"])),
            "move big": swing(lambda target: move(there["big"], target), [keys[0], other_top(keys, there["big"])]),
            "move small": swing(lambda target: move(there["small"], target), [keys[0], other_top(keys, there["big"])]),
        }

    return "treebeard", acts


def other_top(keys: list[int], big: int) -> int:
    """A top that is neither the crowd's nor the one that travels."""
    return next(key for key in keys[1:9] if key != big)


def step_of(number: int) -> str:
    """A step of a materialised path: four digits of base 36, as MP_Node writes them."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    text = ""
    while number:
        number, rest = divmod(number, 36)
        text = digits[rest] + text
    return text.rjust(4, "0")


def tree_queries(rows: Rows) -> Any:
    try:
        from tree_queries.models import TreeNode
    except ImportError:
        print("django-tree-queries is not installed: left out", file=sys.stderr)
        return None
    from django.db import connection, models

    class QueryPage(TreeNode):
        title = models.CharField(max_length=200)
        position = models.PositiveIntegerField(default=0)

        class Meta:
            app_label = "library"
            ordering = ["position"]

    make_table(connection, QueryPage)
    nodes = [
        QueryPage(id=n + 1, parent_id=parent + 1 if parent is not None else None, title=f"Page {n}", position=n)
        for n, (parent, _depth) in enumerate(rows)
    ]
    QueryPage.objects.bulk_create(nodes, batch_size=1000)
    settle(connection)

    def acts(places: dict[str, int]) -> dict[str, Callable[[], Any]]:
        def get(name: str) -> Any:
            return QueryPage.objects.get(pk=places[name] + 1)

        def move(name: str, target: int | None) -> None:
            node = get(name)
            node.parent_id = target
            node.full_clean()  # its check for rings
            node.save()

        return {
            "children": lambda: list(get("crowd").children.all()[:100]),
            "way to a page": lambda: list(get("deep").ancestors(include_self=True)),
            "move big": swing(lambda target: move("big", target), [1, None]),
            "move small": swing(lambda target: move("small", target), [1, None]),
        }

    return "tree-queries", acts


def make_table(connection: Any, model: Any) -> None:
    with connection.schema_editor() as editor:
        editor.create_model(model)


def settle(connection: Any) -> None:
    """Statistics for the planner, as a database that has been up for a day has them."""
    with connection.cursor() as cursor:
        if connection.vendor != "mysql":
            cursor.execute("ANALYZE")
