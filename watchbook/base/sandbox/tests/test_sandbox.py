"""Limits that hold inside native code, errors with a name, and no process left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from watchbook.base import sandbox, work
from watchbook.base.sandbox import Pool, _shared

TASKS = "watchbook.base.sandbox.tests.tasks:"
ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture(autouse=True)
def no_child_is_left() -> Iterator[None]:
    yield
    _shared.close()
    assert [child for child in psutil.Process().children() if "sandbox" in " ".join(_command(child))] == []


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline() or ["sandbox zombie"]
    except psutil.Error:
        return []


def call(name: str, argument: dict[str, Any] | None = None, **limits: Any) -> Any:
    return sandbox.call(TASKS + name, argument or {}, **limits)


def wait_until(is_so: Callable[[], bool], seconds: float = 10.0) -> None:
    ends = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < ends, "it never came true"
        time.sleep(0.02)


def test_argument_comes_back_as_it_was() -> None:
    argument = {"text": "字 \ud800 \u0000", "number": 1.5, "none": None, "list": [1, [2]]}
    assert call("echo", argument) == argument


def test_large_argument_and_answer_pass() -> None:
    text = "x" * 3_000_000
    assert call("echo", {"text": text})["text"] == text


def test_files_are_named_by_path(tmp_path: Path) -> None:
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("quiet")
    assert call("copy_upper", input_path=source, output_path=target) == 5
    assert target.read_text() == "QUIET"


def test_one_child_serves_many_tasks() -> None:
    _shared.close()  # a child that other tests used may be at the end of its life
    assert len({call("look_around")["pid"] for _ in range(5)}) == 1


def test_child_knows_no_django_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COOKIE_MASTER_KEY", "sentinel")
    _shared.close()
    seen = call("look_around")
    assert not [name for name in seen["modules"] if name.partition(".")[0] == "django"]
    assert "sentinel" not in json.dumps(seen["environment"])
    assert seen["files"] < 12


def test_only_tasks_of_this_product_can_be_named() -> None:
    for task in ("os:system", "watchbook:main", "watchbook.base.env:../x", "watchbookx.y:z", "watchbook.base.env"):
        with pytest.raises(ValueError, match="not a task"):
            sandbox.call(task, {})


def test_cpu_time_runs_out() -> None:
    with pytest.raises(sandbox.TaskTooSlow):
        call("spin", cpu_seconds=1)
    assert call("echo", {"next": 1}) == {"next": 1}


def test_wall_time_runs_out_without_cpu() -> None:
    with pytest.raises(sandbox.TaskTooSlow):
        call("sleep", {"seconds": 60}, wall_seconds=0.5)
    assert call("echo", {"next": 1}) == {"next": 1}


def test_native_cleaning_of_nested_tags_is_killed_at_its_limit_and_the_next_task_is_fine() -> None:
    with pytest.raises(sandbox.TaskTooSlow):
        call("clean_nested", {"depth": 100_000}, cpu_seconds=1)
    assert call("clean_nested", {"depth": 10}) > 0


def test_memory_runs_out_in_python() -> None:
    with pytest.raises(sandbox.TaskTooBig):
        call("eat_memory", {"megabytes": 300}, memory_mb=100)
    assert call("eat_memory", {"megabytes": 50}, memory_mb=100) == 50 * 1024 * 1024


def test_memory_runs_out_in_native_code() -> None:
    with pytest.raises(sandbox.TaskTooBig):
        call("fill_rust_memory", memory_mb=200)
    assert call("echo", {"next": 1}) == {"next": 1}


def test_each_task_has_its_own_limits() -> None:
    assert call("eat_memory", {"megabytes": 80}, memory_mb=200)
    with pytest.raises(sandbox.TaskTooBig):
        call("eat_memory", {"megabytes": 80}, memory_mb=20)
    assert call("eat_memory", {"megabytes": 80}, memory_mb=200)


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGKILL", "SIGABRT", "SIGTERM"])
def test_child_killed_by_a_signal_is_a_crash(name: str) -> None:
    with pytest.raises(sandbox.TaskCrashed, match=name):
        call("die", {"signal": name})
    assert call("echo", {"next": 1}) == {"next": 1}


def test_child_that_leaves_is_a_crash() -> None:
    with pytest.raises(sandbox.TaskCrashed, match="exit code 3"):
        call("leave", {"code": 3})


def test_exception_keeps_its_name_and_its_child() -> None:
    before = call("look_around")["pid"]
    with pytest.raises(sandbox.TaskFailed) as caught:
        call("fail", {"text": "no\nroot"})
    assert (caught.value.name, caught.value.text) == ("LookupError", "no root")
    assert call("look_around")["pid"] == before


def test_missing_task_is_a_failure() -> None:
    with pytest.raises(sandbox.TaskFailed, match="AttributeError"):
        call("no_such_task")
    with pytest.raises(sandbox.TaskFailed, match="ModuleNotFoundError"):
        sandbox.call("watchbook.no_such_room:task", {})


def test_output_and_warnings_do_not_damage_the_answer() -> None:
    assert call("print_a_lot") == "done"
    assert call("complain_a_lot", wall_seconds=5) == "lost"
    assert call("echo", {"next": 1}) == {"next": 1}


def test_answer_that_is_too_long_is_refused() -> None:
    with pytest.raises(sandbox.TaskTooBig, match="too long"):
        call("answer_with", {"kind": "long"}, max_answer_bytes=100_000)


@pytest.mark.parametrize("kind", ["nan", "bytes", "deep"])
def test_answer_that_is_not_json_is_a_failure(kind: str) -> None:
    with pytest.raises(sandbox.TaskFailed, match="not JSON"):
        call("answer_with", {"kind": kind})


@pytest.mark.parametrize(
    "written",
    [
        b"\xff\xff\xff\xff" + b"A" * 50,
        b"\x00\x00\x00\x04AAAA",
        b"\x00\x00\x00\x05[1,2]",
        b'\x00\x00\x00\x09{"ok":NaN}',
        b"\x00\x00\x30\x00" + b"[" * 0x3000,
        b"\x00\x00",
    ],
)
def test_compromised_child_cannot_harm_its_parent(written: bytes) -> None:
    with pytest.raises(sandbox.TaskCrashed):
        call("garble", {"hex": written.hex()}, max_answer_bytes=20_000)
    assert call("echo", {"next": 1}) == {"next": 1}


def test_few_files_can_be_open() -> None:
    with pytest.raises(sandbox.TaskFailed, match="Too many open files"):
        call("open_many_files", {"count": 100})


def test_threads_share_the_children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHBOOK_SANDBOX_CHILDREN", "3")
    with ThreadPoolExecutor(12) as threads:
        answers = list(threads.map(lambda n: call("echo", {"n": n})["n"], range(60)))
        pids = set(threads.map(lambda _: call("look_around")["pid"], range(30)))
    assert answers == list(range(60))
    assert len(pids) <= 3


def test_child_is_replaced_after_its_share_of_tasks() -> None:
    pool = Pool(tasks_per_child=2)
    request = _request("look_around")
    try:
        pids = [pool.ask(request, 10, 1_000_000)["ok"]["pid"] for _ in range(4)]
    finally:
        pool.close()
    assert pids[0] == pids[1] != pids[2] == pids[3]


def test_idle_child_is_ended_and_leaves_no_zombie() -> None:
    pool = Pool(idle_seconds=0.2)
    pid = pool.ask(_request("look_around"), 10, 1_000_000)["ok"]["pid"]
    wait_until(lambda: not psutil.pid_exists(pid))


def test_child_that_died_while_idle_is_replaced() -> None:
    pid = call("look_around")["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    assert call("look_around")["pid"] != pid


def test_finished_task_renews_the_heartbeat() -> None:
    beats = []
    with work.listening(lambda: beats.append(1)):
        call("echo")
    assert beats


@pytest.mark.parametrize("busy", [True, False])
def test_children_end_with_a_killed_parent(tmp_path: Path, busy: bool) -> None:
    parent, pid = _parent_with_child(tmp_path, "busy" if busy else "idle")
    try:
        assert psutil.pid_exists(pid)
    finally:
        parent.kill()
        parent.wait()
    wait_until(lambda: not _runs(pid))


def test_forked_copy_of_the_parent_does_not_keep_children_alive(tmp_path: Path) -> None:
    parent, pid = _parent_with_child(tmp_path, "fork")
    copies = psutil.Process(parent.pid).children()
    parent.kill()
    parent.wait()
    try:
        wait_until(lambda: not _runs(pid))
    finally:
        for copy in copies:
            copy.kill()


def _runs(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def _parent_with_child(tmp_path: Path, manner: str) -> tuple[subprocess.Popen[bytes], int]:
    told = tmp_path / "pid"
    script = Path(__file__).with_name("parent.py")
    parent = subprocess.Popen([sys.executable, str(script), manner, str(told)], env={"PYTHONPATH": str(ROOT)})
    wait_until(lambda: told.exists() and told.read_text().endswith("."))
    return parent, int(told.read_text().rstrip("."))


def _request(name: str) -> bytes:
    limits = {"cpu_seconds": 5, "wall_seconds": 10, "memory_mb": 100, "max_answer_bytes": 1_000_000}
    return json.dumps({"task": TASKS + name, "argument": {}, **limits}).encode()


def test_waiting_for_a_free_child_does_not_count_as_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHBOOK_SANDBOX_CHILDREN", "1")
    first = threading.Thread(target=call, args=("sleep", {"seconds": 2.0}), kwargs={"wall_seconds": 10})
    first.start()
    wait_until(lambda: bool(_shared._places_taken))
    assert call("echo", {"n": 1}, wall_seconds=1.9) == {"n": 1}
    first.join()
