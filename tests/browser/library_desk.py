"""A desk of its own for the library: two people, a workspace they share, and a tree. Filled in a process of its own."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import django

from standins.demo import free_port
from tests.browser.world import FILL_SECONDS, PASSWORD
from watchbook.core.ops.tests.processes import Running, environment, prepare_tables

ADA, MOSS = "ada@example.com", "moss@example.com"
TEXT = (
    "<p>From 20 November the last ferry leaves pier 4 at 22:40. The night bus waits five minutes for it on weekdays; "
    'on Sundays it does not, see <a href="https://example.org/night">Night bus connections</a>.</p>'
    "<h2>Changes to last winter</h2><table><thead><tr><th>Line</th><th>2025</th><th>2026</th><th>Why</th></tr></thead>"
    "<tbody><tr><td>Pier 4 to Lighthouse</td><td>22:10</td><td>22:40</td><td>theatre ends later</td></tr>"
    "<tr><td>Pier 2 to Old Town</td><td>23:00</td><td>23:00</td><td>no change</td></tr></tbody></table>"
    "<p>冬季班次自 11 月 20 日起执行。周日末班船不等夜班公交，请提前 10 分钟到 4 号码头候船。</p>"
    "<ul><li>Check the Sunday connection again on 1 December.</li><li>Ask for the printed version.</li></ul>"
    "<pre><code>pier 4  22:40\npier 2  23:00</code></pre>"
    '<p><img src="https://example.org/map.png" alt="Map of the piers"></p>'
)
OLD_FILES = 1200


class LibraryDesk:
    """A data folder, and the program on it. `places` are the addresses of what was made."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.settings = {
            "WATCHBOOK_BIND": f"127.0.0.1:{self.port}",
            "WATCHBOOK_PUBLIC_URL": self.url,
            "WATCHBOOK_LOG_LEVEL": "WARNING",
        }
        self.places: dict[str, str] = {}

    def fill(self) -> None:
        prepare_tables(self.home)
        done = subprocess.run(
            [sys.executable, "-m", "tests.browser.library_desk"],
            env=environment(self.home, **self.settings), capture_output=True, text=True, timeout=FILL_SECONDS,
            check=False,
        )  # fmt: skip
        if done.returncode:
            raise AssertionError(f"filling ended with {done.returncode}:\n{done.stderr or done.stdout}")
        self.places = json.loads(done.stdout.splitlines()[-1])

    @contextlib.contextmanager
    def running(self) -> Iterator[Running]:
        process = Running(self.home, "-m", "watchbook", "up", **self.settings)
        try:
            process.wait_for(r"Watchbook is at ")
            yield process
            process.ask()
        finally:
            process.close()


def main() -> None:
    django.setup()

    print(json.dumps(make_all()))


def make_all() -> dict[str, str]:
    from django.contrib.auth import get_user_model

    from watchbook.systems.library import actions

    people: Any = get_user_model().objects
    ada, moss = (people.create_user(email, PASSWORD, is_verified=True) for email in (ADA, MOSS))
    team = actions.create_workspace(ada, "Harbour team")
    actions.set_member(ada, team.pk, person=moss, role="member")
    space = actions.create_space(ada, team.pk, "Timetables")
    actions.set_space_member(ada, space.pk, person=moss, role="writer")
    return {
        "workspace": f"/library/workspaces/{team.pk}/",
        "space": f"/library/spaces/{space.pk}/",
        **_tree_and_trash(ada, moss, space),
        **_old_space(ada, team),
    }


def _tree_and_trash(ada: Any, moss: Any, space: Any) -> dict[str, str]:
    from watchbook.systems.library import actions

    places = make_tree(ada, moss, space)
    gone = actions.create_page(
        moss, space.pk, title="A page that nobody needs any more", node_type="file",
        parent_page_id=UUID(places["folder"].split("/")[3]), content="",
    )  # fmt: skip
    actions.trash_page(moss, gone.pk)
    return places


def make_tree(ada: Any, moss: Any, space: Any) -> dict[str, str]:
    from watchbook.systems.library import actions

    def make(user: Any, title: str, kind: str, parent: Any = None, content: str = "") -> Any:
        return actions.create_page(
            user, space.pk, title=title, node_type=kind, parent_page_id=parent and parent.pk, content=content
        )

    reports = make(ada, "Reports", "folder")
    year = make(ada, "2026", "folder", reports)
    make(ada, "2025", "folder", reports)
    winter = make(ada, "Winter timetable", "folder", year)
    make(moss, "Autumn", "folder", year)
    for title in ("Clips", "研究资料", "Templates"):
        make(ada, title, "folder")
    harbour = make(ada, "Harbour timetable, winter", "file", winter, "<p>From 20 November the last ferry leaves.</p>")
    actions.save_page(ada, harbour.pk, version=1, content=TEXT)
    bus = make(moss, "Night bus connections", "file", winter, "<p>Every 20 minutes.</p>")
    make(moss, "Line N4", "file", bus, "<p>To the lighthouse.</p>")
    chinese = make(ada, "冬季航线说明", "file", winter, "<p>周日末班船不等夜班公交。</p>")
    make(ada, "Drafts", "folder", winter)
    make(moss, "Interview notes, pier 4", "file", winter, "<p>The keeper remembers the old lamp.</p>")
    actions.pin_page(ada, harbour.pk, pinned=True)
    actions.pin_page(ada, chinese.pk, pinned=True)
    actions.set_favourite(ada, harbour.pk, kept=True)
    return {
        "folder": f"/library/pages/{winter.pk}/",
        "file": f"/library/pages/{harbour.pk}/",
        "nested": f"/library/pages/{bus.pk}/",
        "empty": f"/library/pages/{make(ada, 'Nothing in it', 'folder', reports).pk}/",
    }


def _old_space(ada: Any, team: Any) -> dict[str, str]:
    """A space from before there were folders: its files stand at the top level."""
    from watchbook.systems.library import actions
    from watchbook.systems.library.parse.archive import PageRecord
    from watchbook.systems.library.store import parent_at, writing
    from watchbook.systems.library.store.pages import add_all, prepare_all

    old = actions.create_space(ada, team.pk, "Old notes")
    actions.set_flags(ada, team.pk, {"folders_enabled": False})
    records = [PageRecord(f"Note {number:04}", "file", f"<p>Note {number}</p>", None) for number in range(OLD_FILES)]
    pages = prepare_all(records)
    with writing(old.pk):
        add_all(parent_at(old, None), pages, ada, wrap_title="", reason="imported")
    actions.set_flags(ada, team.pk, {"folders_enabled": True})
    return {"old": f"/library/spaces/{old.pk}/"}


if __name__ == "__main__":
    main()
