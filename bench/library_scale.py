"""A large library: what folders, pages, backlinks, the link picker and search cost at one size and at ten times that.

    python -m bench.library_scale                                        # both databases, 10,000 and 100,000 pages
    python -m bench.library_scale --database sqlite --sizes 2000,20000

Two links and half an attachment for each page; one folder has 4,000 pages, one page 2,000 links to it. A tenth of the
pages is in a second space. Bars: at most 50 queries, and at the largest size at most twice the cost at the smallest, by
processor time. Each database is made for the run and removed afterwards.
"""

from __future__ import annotations

import argparse
import time
from random import Random
from typing import Any
from uuid import UUID, uuid4

from bench._databases import options_of, run

GROWTH_BAR, MOST_QUERIES = 2.0, 50
TOPS, FAN, CROWD, HUB = 9, 10, 4000, 2000
BATCH = 1000


class Library:
    """A space that grows: `pages` are ids, in a tree of ten children each, behind those of the crowd."""

    def __init__(self) -> None:
        from django.contrib.auth import get_user_model

        from watchbook.systems.library import actions

        self.user = get_user_model().objects.create_user("bench@example.com", None, is_verified=True)
        self.workspace = actions.create_workspace(self.user, "Bench")
        self.space = actions.create_space(self.user, self.workspace.pk, "Bench")
        self.second = actions.create_space(self.user, self.workspace.pk, "Second")
        self.crowd = actions.create_page(self.user, self.space.pk, title="Crowd", node_type="folder")
        self.pages: list[UUID] = []

    def grow(self, size: int) -> None:
        from django.db import connection

        from bench._library_peers import settle

        while len(self.pages) < size:
            self._add(min(BATCH, size - len(self.pages)))
        settle(connection)

    def _add(self, count: int) -> None:
        from watchbook.systems.library.models import Page, PageNodeMeta, PageVersion
        from watchbook.systems.library.models.tree import many_after
        from watchbook.systems.library.store import publish

        first = len(self.pages)
        self.pages += [uuid4() for _ in range(count)]
        keys = many_after(None, first + count)[first:]
        made = [
            Page(id=self.pages[n], space=self._space(n), parent_page_id=self._parent(n), sort_key=keys[n - first],
                 title=f"Page {n} 潮汐{n}", content=self._text(n), created_by=self.user, updated_by=self.user)
            for n in range(first, first + count)
        ]  # fmt: skip
        Page.objects.bulk_create(made)
        PageNodeMeta.objects.bulk_create(
            PageNodeMeta(page=page, workspace=self.workspace, space=page.space, node_type=self._kind(n))
            for n, page in enumerate(made, first)
        )
        PageVersion.objects.bulk_create(
            PageVersion(page=page, number=1, title=page.title, content=page.content, author=self.user, reason="created")
            for page in made
        )
        self._link(first, made)
        publish.put(made)

    def _space(self, n: int) -> Any:
        return self.second if n % FAN == 9 and n >= CROWD else self.space

    def _parent(self, n: int) -> UUID | None:
        if self._space(n) == self.second:
            return None
        if n < CROWD:
            return UUID(str(self.crowd.pk))
        above = CROWD + (n - CROWD - TOPS) // FAN
        return None if above < CROWD or self._space(above) == self.second else self.pages[above]

    def _kind(self, n: int) -> str:
        return "folder" if n >= CROWD and n % 3 else "file"

    def _targets(self, n: int) -> tuple[int, int]:
        """Two pages before this one; the first 2,000 of them link to the same."""
        some = Random(n)
        first, second = some.randrange(n or 1), some.randrange(n or 1)
        return (0 if n <= HUB else first or 1), second

    def _text(self, n: int) -> str:
        links = "".join(f'<a href="/library/pages/{self.pages[to]}/">Page {to}</a> ' for to in self._targets(n))
        return f"<p>words of page {n}, 高潮时间 {n % 97}, {links}</p>"

    def _link(self, first: int, made: list[Any]) -> None:
        from watchbook.systems.library.models import Attachment, AttachmentUse, PageLink

        links, files = [], []
        for n, page in enumerate(made, first):
            links += [PageLink(page=page, kind="page", key=str(self.pages[to])) for to in {*self._targets(n)}]
            if n % 2 == 0:
                files.append(
                    Attachment(workspace=self.workspace, home=page, sha256=f"{n:064x}", name=f"plan {n}.pdf",
                               media_type="application/pdf", size=1000, created_by=self.user)
                )  # fmt: skip
        PageLink.objects.bulk_create(links)
        Attachment.objects.bulk_create(files)
        AttachmentUse.objects.bulk_create(
            AttachmentUse(attachment=file, page=file.home, first_number=1) for file in files
        )

    def addresses(self) -> dict[str, str]:
        hub, some = self.pages[0], self.pages[CROWD + TOPS + 5 * 3]
        file = self.pages[CROWD + 2]
        deep = self._cursor()
        return {
            "library": "/library/",
            "space": f"/library/spaces/{self.space.pk}/",
            "space with a tenth of all at the top": f"/library/spaces/{self.second.pk}/",
            "folder": f"/library/pages/{some}/",
            "folder of 4,000": f"/library/pages/{self.crowd.pk}/",
            "its 35th piece": f"/library/pages/{self.crowd.pk}/?cursor={deep}",
            "tree below it": f"/library/pages/{self.crowd.pk}/tree/",
            "page": f"/library/pages/{file}/",
            "page with 2,000 links to it": f"/library/pages/{hub}/",
            "backlinks": f"/api/v1/library/pages/{hub}/backlinks",
            "unlinked mentions": f"/library/pages/{self.pages[7]}/mentions/",
            "picker, a word": f"/library/pages/{file}/link-targets/?q=潮汐77",
            "picker, all pages": f"/library/pages/{file}/link-targets/?q=pag",
            "picker, latest": f"/library/pages/{file}/link-targets/",
            "move dialog": f"/library/spaces/{self.space.pk}/targets/?part=list&q=page",
            "search": "/library/search/?q=高潮时间 42",
            "search, rare word": "/library/search/?q=潮汐777",
            "search in a space": f"/library/search/?q=words&space={self.space.pk}",
            "recent": "/library/recent/",
            "history": f"/library/pages/{hub}/history/",
        }

    def _cursor(self) -> str:
        from watchbook.systems.library import actions

        cursor = ""
        for _ in range(34):
            cursor = actions.list_children(self.user, page_id=self.crowd.pk, limit=100, cursor=cursor).next
        return cursor


def measure(options: argparse.Namespace) -> list[str]:
    from django.test import Client

    from bench._nga_pages import _costs

    library, client, figures = Library(), Client(), []
    client.force_login(library.user)
    for size in sorted(int(size) for size in options.sizes.split(",")):
        began = time.monotonic()
        library.grow(size)
        print(f"{options.database[0]}: {size:,} pages after {time.monotonic() - began:.0f} s", flush=True)
        figures.append(_costs(client, library.addresses(), options.rounds))
        for name, cost in figures[-1].items():
            print(f"  {name:36} {cost['ms']:8.1f} ms  {cost['queries']:2} queries", flush=True)
    return _judge(figures[0], figures[-1])


def _judge(first: dict[str, dict[str, float]], last: dict[str, dict[str, float]]) -> list[str]:
    missed = []
    for name, cost in last.items():
        grown = cost["ms"] / first[name]["ms"]
        if grown > GROWTH_BAR:
            missed.append(f"{name} costs {grown:.1f} times as much")
        if cost["queries"] > MOST_QUERIES:
            missed.append(f"{name} needs {cost['queries']:.0f} queries")
    return missed


if __name__ == "__main__":
    raise SystemExit(run("bench.library_scale", options_of(__doc__, unit="pages").parse_args(), measure))
