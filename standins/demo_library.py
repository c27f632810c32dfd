"""The library's part of the demo: a workspace with a space, a folder, and in it something of every other system."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from standins.demo_server import DemoServer, becomes

# What can be filed, by system.
KINDS = {
    "sitemaps": ("sitemap_change",),
    "pages": ("web_page",),
    "nga": ("nga_thread", "nga_post"),
    "reddit": ("reddit_post",),
    "notes": ("note",),
}
REMARK = "Checked by hand."
# Says whether a page shows what a stand-in truly holds.
Truth = Callable[[dict[str, Any]], bool]


class Shelf:
    def __init__(self) -> None:
        self.workspace_id = self.space_id = self.folder_id = ""
        # Page by (kind, id) of what was filed.
        self.filed: dict[tuple[str, str], str] = {}
        self._turns = itertools.cycle(KINDS)

    def set_up(self, desk: DemoServer) -> None:
        self.workspace_id = desk.ask("POST", "/library/workspaces", {"name": "Demo"})["id"]
        space = desk.ask("POST", f"/library/workspaces/{self.workspace_id}/spaces", {"name": "Watching"})
        self.space_id = space["id"]
        folder = {"title": "Worth keeping", "node_type": "folder"}
        self.folder_id = desk.ask("POST", f"/library/spaces/{self.space_id}/pages", folder)["id"]

    def file_newest(self, desk: DemoServer, system: str) -> dict[str, Any] | None:
        """The newest thing of a system that is not filed yet, as its button does it."""
        for key in _news(desk, system):
            if key[0] in KINDS[system] and key not in self.filed:
                wish = {"kind": key[0], "id": key[1], "space_id": self.space_id, "parent_page_id": self.folder_id}
                page: dict[str, Any] = desk.ask("POST", "/library/clip", wish)
                self.filed[key] = page["id"]
                return page
        return None

    def go_on(self, desk: DemoServer) -> None:
        """Something of the system whose turn it is."""
        self.file_newest(desk, next(self._turns))

    def count(self, system: str) -> int:
        return sum(kind in KINDS[system] for kind, _ in self.filed)

    def one_round(self, desk: DemoServer, truths: Mapping[str, Truth]) -> tuple[tuple[Any, ...], bool]:
        """File one thing of each system, write a comment on the first, and read everything again."""
        self.set_up(desk)
        wrong = []
        for system, is_true in truths.items():
            page = becomes(lambda system=system: self.file_newest(desk, system), 30)  # type: ignore[misc]
            if page is None:
                wrong.append(f"{system} has nothing that could be filed")
            elif not is_true(page):
                wrong.append(f"the page filed from {system} does not say what its site says")
        wrong += self._write_remark(desk) if self.filed else []
        wrong += self._look(desk)
        for sentence in wrong:
            print(f"library: {sentence}")
        return ("library", 0, f"+{len(self.filed) + 1} −0 ~1", 0, len(self.filed)), not wrong

    def _write_remark(self, desk: DemoServer) -> list[str]:
        page_id = next(iter(self.filed.values()))
        page = desk.ask("GET", f"/library/pages/{page_id}")
        body = {"version": page["version"], "content": f"<p>{REMARK}</p>{page['content']}"}
        desk.ask("PATCH", f"/library/pages/{page_id}", body)
        versions = desk.ask("GET", f"/library/pages/{page_id}/versions")["items"]
        before = desk.ask("GET", f"/library/pages/{page_id}/versions/{page['version']}")
        is_kept = len(versions) == 2 and REMARK not in before["content"]
        return [] if is_kept else ["the remark did not become a second version beside the first"]

    def _look(self, desk: DemoServer) -> list[str]:
        rows = desk.ask("GET", f"/library/spaces/{self.space_id}/pages?limit=200")["items"]
        found = {(row["id"], row["node_type"], row["parent_page_id"]) for row in rows}
        wanted = {(page_id, "file", self.folder_id) for page_id in self.filed.values()}
        wrong = []
        if found != wanted | {(self.folder_id, "folder", None)}:
            wrong.append(f"the space holds {len(found)} pages, but not the folder with {len(wanted)} files")
        if not desk.ask("GET", f"/library/workspaces/{self.workspace_id}/reconciliation")["ok"]:
            wrong.append("the books of the workspace do not agree")
        return wrong


def _news(desk: DemoServer, system: str) -> Iterator[tuple[str, str]]:
    """Kind and id of what happened, the newest first."""
    for entry in desk.ask("GET", f"/stream?source={system}&limit=50")["items"]:
        yield entry["object_kind"], entry["object_id"]
