"""Every operation of the API as its document has it, and a world in which each of them finds what it asks for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client

from standins.sitemap_site import SitemapSite
from tests.security.furnished import Ids, furnish
from watchbook.base.testing.people import client_of
from watchbook.core.api.shell import build_api
from watchbook.core.jobs.actions import run_soon
from watchbook.core.notify import actions as channels
from watchbook.core.search import saved
from watchbook.sources.sitemaps.models import ChangeRecord
from watchbook.sources.sitemaps.tests.conftest import Watch


@cache
def document() -> Any:
    return build_api().get_openapi_schema()


@dataclass(frozen=True)
class Operation:
    method: str
    path: str
    path_names: tuple[str, ...]
    query_names: tuple[str, ...]
    properties: tuple[str, ...] | None
    # Status to its part of the document.
    responses: dict[int, Any]

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@cache
def operations() -> list[Operation]:
    return list(_operations(document()))


def _operations(schema: Any) -> Iterator[Operation]:
    for path, methods in schema["paths"].items():
        for method, facts in methods.items():
            named = {
                kind: tuple(p["name"] for p in facts.get("parameters", ()) if p["in"] == kind)
                for kind in ("path", "query")
            }
            yield Operation(method, path, named["path"], named["query"], _properties(schema, facts), facts["responses"])


def _properties(schema: Any, facts: Any) -> tuple[str, ...] | None:
    if "requestBody" not in facts:
        return None
    content = next(iter(facts["requestBody"]["content"].values()))["schema"]
    if "$ref" in content:
        content = schema["components"]["schemas"][content["$ref"].rpartition("/")[2]]
    return tuple(content.get("properties", {}))


@dataclass
class World:
    """Something of everything, so that operations find what they ask for."""

    browser: Client
    ids: Ids

    def known(self, operation: Operation, name: str) -> list[str]:
        """Real values for a part of its path; every part that there is has some."""
        system = operation.path.split("/")[3]
        return self.ids[f"{system} {name}"] if f"{system} {name}" in self.ids else self.ids[name]


@pytest.fixture
def world(alice: Any, watch: Watch, site: SitemapSite, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("WATCHBOOK_API_PER_MINUTE", "1000000")
    site.add("/new", lastmod="2026-02-02")
    watch.check()
    made = [
        channels.create(alice, name="x", channel_type="webhook", given={"url": site.address("/hook")}).channel
        for _ in range(3)
    ]
    deliveries = [channels.send_test(made[0])]
    kept = saved.save(alice, name="x", query="new")
    ids = {
        "channel_id": [str(channel.pk) for channel in made],
        "delivery_id": [str(delivery.pk) for delivery in deliveries],
        "monitor_id": [str(watch.monitor.pk)],
        "change_id": [str(pk) for pk in ChangeRecord.objects.values_list("pk", flat=True)],
        "snapshot_id": [str(watch.monitor.current_snapshot_id)],
        "saved_id": [str(kept.pk)],
        "name": ["sitemaps.due"],
        "run_id": [str(run_soon("stream.clean").pk)],
        **furnish(alice),
    }
    return World(client_of(alice), ids)


def real_paths(operation: Operation, world: World) -> list[str]:
    """One for each real value that a part of its path has."""
    known = {name: world.known(operation, name) for name in operation.path_names}
    paths = []
    for number in range(max([len(values) for values in known.values()], default=1)):
        path = operation.path
        for name, values in known.items():
            path = path.replace(f"{{{name}}}", encoded(values[number % len(values)]))
        paths.append(path)
    return paths


def real_path(operation: Operation, world: World) -> str:
    return real_paths(operation, world)[0]


def encoded(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe="")
