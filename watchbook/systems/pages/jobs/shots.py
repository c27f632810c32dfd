"""The job that takes a screenshot after a new version, with a browser whose every connection is checked."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext_noop

from watchbook.base import files, sandbox
from watchbook.base.files import Facts
from watchbook.base.store import blobs
from watchbook.base.store.folder import scratch
from watchbook.base.store.models import Blob
from watchbook.base.web.proxy import GuardedProxy
from watchbook.core.jobs.runner import NOTHING_TO_DO, GiveUp, JobContext, Outcome
from watchbook.systems.pages import options
from watchbook.systems.pages.models import Page, PageShot
from watchbook.systems.pages.store.lists import add_to_day, requests_left
from watchbook.systems.pages.store.shots import has_room, is_wanted, shot_before, store_shot

DIFFERENCE_TASK = "watchbook.systems.pages.parse.pictures:difference_task"
CPU_SECONDS, MEMORY_MB = 20.0, 768.0
WIDTH, HEIGHT = 1280, 1800
# The page may load this long, the browser may live that long; everything it loads together has so many bytes.
LOAD_SECONDS, BROWSER_SECONDS = 15, 45
PAGE_BYTES, PICTURE_BYTES = 40_000_000, 15_000_000
FAILED = gettext_noop("Chromium took no screenshot.")


def take_screenshot(ctx: JobContext, page_id: int, number: int) -> Outcome:
    """Take a screenshot of the newest version and compare it with the one before."""
    page = Page.objects.select_related("site", "site__user").filter(pk=page_id, site__deleted_at=None).first()
    # A later version has its own run, and the browser would show that one now.
    if page is None or page.version_count != number or PageShot.objects.filter(page=page, number=number).exists():
        return NOTHING_TO_DO
    if not is_wanted(page.site) or not has_room(page.site) or not requests_left(page.site, ctx.now):
        return NOTHING_TO_DO
    with scratch("screenshot") as folder:
        proxy = GuardedProxy(BROWSER_SECONDS + 5, PAGE_BYTES, own_url=settings.PUBLIC_URL)
        path = _shoot(page.url, folder, proxy)
        facts = files.inspect(path) if path.exists() and path.stat().st_size <= PICTURE_BYTES else Facts("")
        is_taken = facts.media_type == "image/png" and facts.width is not None
        found = (blobs.put(path), _difference(page, number, path, folder)) if is_taken else None
    with ctx.writing():
        add_to_day(page.site, ctx.now, requests=proxy.requests)
        if found is not None and Page.objects.filter(pk=page.pk).exists():
            store_shot(page, number, found[0], facts, found[1], now=ctx.now)
    if found is None:
        raise GiveUp(FAILED, "no_screenshot")
    return Outcome("done", {"screenshots": 1, "requests": proxy.requests})


def _shoot(url: str, folder: Path, proxy: GuardedProxy) -> Path:
    """Let Chromium write a picture of the page; it is not there if that failed."""
    target = folder / "screenshot.png"
    with proxy.running() as where:
        command = [
            options.CHROMIUM.value, "--headless=new", "--disable-gpu", "--no-first-run", "--disable-extensions",
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic",
            "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio", "--incognito",
            # Nothing leaves but through the proxy: no names of its own, no loopback beside it, no UDP.
            f"--proxy-server=http://{where}", "--proxy-bypass-list=<-loopback>",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            "--force-webrtc-ip-handling-policy=disable_non_proxied_udp", "--disable-features=WebRtc,DnsOverHttps",
            f"--user-data-dir={folder / 'profile'}", f"--window-size={WIDTH},{HEIGHT}",
            f"--timeout={LOAD_SECONDS * 1000}", f"--screenshot={target}", url,
        ]  # fmt: skip
        if os.geteuid() == 0:
            command.insert(1, "--no-sandbox")  # Chromium refuses to start as root with it
        _run(command, folder)
    return target


def _run(command: list[str], folder: Path) -> None:
    """Run the browser in a group of its own, and end the whole group when its time is over."""
    env = {"PATH": os.environ.get("PATH", ""), "HOME": str(folder)}
    try:
        process = subprocess.Popen(  # noqa: S603 - the operator names the program, the address was checked
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=env, cwd=folder, start_new_session=True,
        )  # fmt: skip
    except OSError:
        return
    try:
        process.wait(BROWSER_SECONDS)
    except subprocess.TimeoutExpired:
        pass
    finally:
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _difference(page: Page, number: int, path: Path, folder: Path) -> tuple[Blob, float] | None:
    """A picture of what differs from the screenshot before, and the share of pixels; None without one."""
    before = shot_before(page, number)
    if before is None:
        return None
    target = folder / "difference.png"
    try:
        other = blobs.local_file(before.sha256, folder)
        told = sandbox.call(
            DIFFERENCE_TASK, {"other": str(other)}, input_path=path, output_path=target,
            cpu_seconds=CPU_SECONDS, memory_mb=MEMORY_MB,
        )  # fmt: skip
        return (blobs.put(target), float(told["percent"])) if told else None
    except (blobs.BlobError, sandbox.TaskError):
        return None
