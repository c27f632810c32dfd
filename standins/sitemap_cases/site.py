"""A server for the cases: every case lives in a folder of its own name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from standins.messages import Answer, Request
from standins.server import Site
from standins.sitemap_cases.case import Case, Resource
from standins.sitemap_cases.hostile import HOSTILE
from standins.sitemap_cases.matrix import MATRIX
from standins.sitemap_cases.robots import ROBOTS
from standins.sitemap_cases.traps import TRAPS

CANARY = "/canary/"


class CaseSite(Site):
    """`cases` are those with sitemaps; robots.txt files are served as well. Nothing may ever ask for a canary."""

    def __init__(self, cases: Sequence[Case] | None = None, *, host: str = "127.0.0.1", port: int = 0) -> None:
        super().__init__(host=host, port=port)
        self.cases: tuple[Case, ...] = tuple(cases) if cases is not None else (*MATRIX, *TRAPS, *HOSTILE)
        for case in (*self.cases, *ROBOTS):
            for resource in case.resources:
                path = case.path_of(resource)
                self.route(path, partial(self._serve, case, resource))
                if resource.hangs:
                    self.faults.on(path).hang()

    def case(self, name: str) -> Case:
        return next(case for case in (*self.cases, *ROBOTS) if case.name == name)

    def canary_hits(self) -> list[str]:
        """Requests that a hostile file provoked; a safe reader leaves this empty."""
        return [request.target for request in self.log.all() if request.path.startswith(CANARY)]

    def ledger_json(self) -> object:
        return {"cases": [{"name": case.name, "title": case.title, "path": case.path} for case in self.cases]}

    def _serve(self, case: Case, resource: Resource, request: Request) -> Answer:
        headers = resource.headers_at(self.url, case.name)
        if resource.claimed_length is not None:
            headers |= {"Content-Length": str(resource.claimed_length), "Connection": "close"}
        body = resource.bytes_at(self.url, case.name)
        return Answer(resource.status, body, tuple(headers.items()), content_type=resource.content_type)
