"""The nightly export: every space as Markdown files in a folder of this server, or in a Git working copy.

Only what a viewer without any grant sees is written: restricted pages and texts that are not approved are omitted and
counted. A file with the same content is not written again. Files that an earlier export wrote and that are no longer
part of the space are removed; files of others are never touched. A space that cannot be exported keeps its files.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from watchbook.base.store import blobs
from watchbook.core.jobs.runner import NOTHING_TO_DO, GiveUp, JobContext, Outcome
from watchbook.systems.library.access import Sight, viewer_sight
from watchbook.systems.library.errors import OtherChannel, Problem
from watchbook.systems.library.jobs.transfer import entries, free_name
from watchbook.systems.library.models import Attachment, Page, Space
from watchbook.systems.library.options import EXPORT_FOLDER, EXPORT_GIT
from watchbook.systems.library.store import owned_workspaces

# What earlier exports wrote: directory and files of each space, by id, with the digest of each file.
INDEX = ".watchbook-export.json"
GIT_SECONDS = 300


@dataclass
class Report:
    """Figures of one export, and the spaces that could not be exported."""

    spaces: int = 0
    written: int = 0
    unchanged: int = 0
    removed: int = 0
    left_out: int = 0
    foreign: int = 0
    failed: list[str] = field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        names = ("spaces", "written", "unchanged", "removed", "left_out", "foreign")
        return {name: value for name in names if (value := getattr(self, name))}


def export_nightly(ctx: JobContext) -> Outcome:
    """Bring the folder up to all spaces in use of this deployment's workspaces."""
    if not EXPORT_FOLDER.value:
        return NOTHING_TO_DO
    root = Path(EXPORT_FOLDER.value)
    try:
        root.mkdir(parents=True, exist_ok=True)
        index = _read_index(root)
        spaces = Space.objects.in_use().filter(workspace_id__in=owned_workspaces())
    except OtherChannel:
        return NOTHING_TO_DO
    except OSError as error:
        raise GiveUp(f"The folder {root} cannot be used: {error.strerror}.", "folder") from None
    report = Report()
    for space in spaces.select_related("workspace").order_by("created_at", "pk"):
        _export(space, root, index, report)
        _write(root / INDEX, json.dumps(index, ensure_ascii=False, indent=1, sort_keys=True).encode())
        ctx.report(**report.figures())
    if EXPORT_GIT.value:
        _commit(root, f"{ctx.now:%Y-%m-%d}")
    if report.failed:
        raise GiveUp(f"Not exported: {', '.join(report.failed)}. Their files are as before.", "partial")
    return Outcome("done", report.figures())


def _read_index(root: Path) -> dict[str, Any]:
    path = root / INDEX
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except ValueError:
        raise GiveUp(
            f"{path} is damaged. Move it away; the next export then takes no file for its own.", "index"
        ) from None
    return found


def _export(space: Space, root: Path, index: dict[str, Any], report: Report) -> None:
    """Write one space. Its old files are removed only after all of its new ones are there."""
    known = index.get(str(space.pk)) or {"directory": _directory(space, index), "files": {}}
    seen = viewer_sight(space)
    files: dict[str, str] = {}
    try:
        for path, body in entries(space, None, seen):
            if body is not None:
                _keep(root / known["directory"] / path, path, body, known["files"], files, report)
    except (OSError, blobs.BlobError, Problem) as error:
        report.failed.append(f"{space.workspace.name} / {space.name} ({error})")
        # What was written so far belongs to the export, too.
        index[str(space.pk)] = {**known, "files": {**known["files"], **files}}
        return
    for path in sorted(set(known["files"]) - set(files)):
        report.removed += _remove(root / known["directory"], path)
    index[str(space.pk)] = {**known, "files": files}
    report.spaces += 1
    report.left_out += _hidden(space, seen)


def _directory(space: Space, index: dict[str, Any]) -> str:
    """The directory of a space: after its first name, and the same when the space is renamed later."""
    taken = {str(each["directory"]).casefold() for each in index.values()}
    return free_name(f"{space.workspace.name} - {space.name}", taken)


def _keep(
    target: Path, path: str, body: bytes | Attachment, old: dict[str, str], files: dict[str, str], report: Report
) -> None:
    digest = body.sha256 if isinstance(body, Attachment) else sha256(body).hexdigest()
    if target.exists() and path not in old:
        report.foreign += 1  # not ours: it stays as it is
        return
    files[path] = digest
    if target.is_file() and _digest(target) == digest:
        report.unchanged += 1
        return
    _write(target, b"".join(blobs.stream(body.sha256)) if isinstance(body, Attachment) else body)
    report.written += 1


def _digest(path: Path) -> str:
    made = sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            made.update(chunk)
    return made.hexdigest()


def _write(target: Path, body: bytes) -> None:
    """Beside it first: a file is the old one or the new one, never half of it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.part")
    beside.write_bytes(body)
    os.replace(beside, target)


def _remove(directory: Path, path: str) -> int:
    target = directory / path
    if not target.is_file():
        return 0
    target.unlink()
    for above in list(target.parents)[: path.count("/")]:
        if any(above.iterdir()):
            break
        above.rmdir()
    return 1


def _hidden(space: Space, seen: Sight) -> int:
    rows = Page.objects.live().filter(space=space)
    return rows.count() - seen.rows(rows).count()


def _commit(root: Path, day: str) -> None:
    """Commit what changed. Watchbook pushes nothing; a hook of the working copy can."""
    name = ["-c", "user.name=Watchbook", "-c", "user.email=watchbook@localhost"]
    _git(root, "add", "--all", ".")
    if _git(root, "status", "--porcelain", "--", "."):
        _git(root, *name, "commit", "--quiet", "--message", f"Library export {day}", "--", ".")


def _git(root: Path, *words: str) -> str:
    env = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program with words of ours
            ["git", "-C", str(root), *words], check=True,  # noqa: S607 - where git is, is the operator's choice
            timeout=GIT_SECONDS, env=env, stdin=subprocess.DEVNULL,
            capture_output=True, text=True,
        )  # fmt: skip
    except subprocess.CalledProcessError as error:
        raise GiveUp(f"The files are written, but git failed: {error.stderr.strip()[:200]}", "git") from None
    except (OSError, subprocess.SubprocessError) as error:
        raise GiveUp(f"The files are written, but git failed: {error}", "git") from None
    return done.stdout
