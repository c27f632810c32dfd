"""Every operation of the API as its document has it, and a world in which each of them finds what it asks for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any
from urllib.parse import quote

import pytest
from django.core.cache import cache as shared_cache
from django.test import Client

from standins.sitemap_site import SitemapSite
from tests.api_document import openapi_document
from tests.security.conftest import Trust
from tests.security.sample_rows import Ids, furnish
from watchbook.base import clock
from watchbook.base.testing.fixtures import SharedRows
from watchbook.base.testing.people import client_of, make_person
from watchbook.core import registry
from watchbook.core.jobs.actions import run_soon
from watchbook.core.notify import actions as channels
from watchbook.core.people import groups
from watchbook.core.people.models import GroupRole, Invitation
from watchbook.core.search import saved


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
    return list(_operations(openapi_document()))


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


@dataclass(frozen=True)
class Prepared:
    owner: Any
    site: SitemapSite
    ids: Ids


@pytest.fixture(scope="module")
def prepared(shared_rows: SharedRows) -> Iterator[Prepared]:
    """The rows of the world, written once for a module: each of its tests rolls back to them."""
    with SitemapSite() as site:
        with shared_rows(), pytest.MonkeyPatch.context() as patch:
            patch.setenv("WATCHBOOK_TRUSTED_HOSTS", site.netloc)
            patch.setenv("WATCHBOOK_PACE", "off")
            owner = make_person("alice")
            made = Prepared(owner, site, _rows(owner, site))
        yield made


def _rows(owner: Any, site: SitemapSite) -> Ids:
    shared_cache.clear()
    made = [
        channels.create(owner, name="x", channel_type="webhook", given={"url": site.address("/hook")}).channel
        for _ in range(3)
    ]
    search = saved.save(owner, name="x", query="new")
    return {
        "channel_id": [str(channel.pk) for channel in made],
        "delivery_id": [str(channels.send_test(made[0]).pk)],
        "saved_id": [str(search.pk)],
        "thread": [search.thread],
        "name": ["sitemaps.due"],
        "source": [source.slug for source in registry.sources()],
        "run_id": [str(run_soon("stream.clean").pk)],
        **_people(owner),
        **furnish(owner),
    }


def _people(owner: Any) -> Ids:
    group = groups.create("Harbour", actor=owner)
    groups.add_member(group, owner, actor=owner)
    role = GroupRole.objects.create(group=group, source="server", place="server", role="operator")
    Invitation.objects.create(
        digest="0" * 64, email="nora@example.com", created_by=owner, expires_at=clock.now() + timedelta(days=7)
    )
    return {
        "group_id": [str(group.pk)],
        "role_id": [str(role.pk)],
        "invitation_id": [str(Invitation.objects.get().pk)],
    }


@pytest.fixture
def alice(prepared: Prepared, db: None) -> Any:
    """The owner of the prepared rows, as this test may change her."""
    return type(prepared.owner).objects.get(pk=prepared.owner.pk)


@pytest.fixture
def world(alice: Any, prepared: Prepared, trust: Trust, monkeypatch: pytest.MonkeyPatch) -> World:
    shared_cache.clear()
    trust(prepared.site.netloc)
    monkeypatch.setenv("WATCHBOOK_API_PER_MINUTE", "1000000")
    return World(client_of(alice), prepared.ids)


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
