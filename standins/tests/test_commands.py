from __future__ import annotations

import json
import signal
import smtplib
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

ROOT = Path(__file__).parents[2]


@contextmanager
def running(*words: str) -> Iterator[dict[str, Any]]:
    """A stand-in as its own process; gives what it printed."""
    process = subprocess.Popen([sys.executable, "-m", *words], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        yield json.loads(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        assert process.stdout.read() == ""
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def get(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=20) as response:
        return response.read()


def post(address: str, value: object) -> Any:
    with urllib.request.urlopen(address, json.dumps(value).encode(), timeout=5) as response:
        return json.loads(response.read())


def test_sitemap_site_runs_changes_and_is_steered():
    with running("standins", "sitemap", "--pages", "9", "--children", "3") as said:
        assert get(said["sitemap"]).count(b"<sitemap>") == 3
        post(said["url"] + "/_standin/do/add", {"page": "/new", "lastmod": "2026-01-01"})
        post(said["url"] + "/_standin/faults", {"on": {"path": "/robots.txt"}, "do": "empty"})
        assert json.loads(get(said["url"] + "/_standin/ledger"))["count"] == 10
        assert get(said["robots"]) == b""


def test_demo_site_changes_over_time():
    with running("standins.sitemap_site", "--pages", "3", "--every", "0.05") as said:
        marks, deadline = set(), time.monotonic() + 10
        while len(marks) < 3 and time.monotonic() < deadline:
            marks.add(json.loads(get(said["url"] + "/_standin/ledger"))["mark"])
        assert len(marks) == 3


def test_mail_sink_shows_its_mails_over_http():
    with running("standins", "smtp") as said:
        host, _, port = said["smtp"].partition(":")
        post(said["control"] + "/_standin/do/on", {"do": "refuse", "recipient": "no@e.com", "details": {"code": 550}})
        with smtplib.SMTP(host, int(port), timeout=5) as client:
            refused = client.sendmail("a@e.com", ["b@e.com", "no@e.com"], b"Subject: hi\r\n\r\nhttps://e.com/x")
        assert refused["no@e.com"][0] == 550
        (message,) = json.loads(get(said["control"] + "/_standin/ledger"))["messages"]
        assert (message["subject"], message["links"]) == ("hi", ["https://e.com/x"])


def test_webhook_sink_runs_under_both_names():
    for words in (("standins", "webhooks"), ("standins.webhook_sink",)):
        with running(*words) as said:
            assert post(said["url"] + "/hook", {}) == {"ok": True}


def test_cases_and_proxy_run_and_name_their_addresses():
    with running("standins", "cases") as said:
        assert get(said["cases"]["S1"]).count(b"<url>") == 3
        with running("standins", "proxy", "--upstream", said["url"].removeprefix("http://")) as proxy:
            path = said["cases"]["S1"].removeprefix(said["url"])
            assert get(f"http://{proxy['proxy']}{path}").count(b"<url>") == 3
            assert json.loads(get(proxy["control"] + "/_standin/ledger"))["connections"] == 1


def test_unknown_name_is_wrong_usage():
    words = [sys.executable, "-m", "standins", "circus"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: python -m standins sitemap|")


@pytest.mark.nightly
def test_million_urls_are_served_in_bounded_memory():
    with running("standins", "sitemap", "--pages", "1000000", "--children", "20") as said:
        sizes = [get(f"{said['url']}/sitemap-{number}.xml").count(b"<url>") for number in range(1, 21)]
        assert sizes == [50_000] * 20
        assert get(said["sitemap"]).count(b"<sitemap>") == 20
        used = psutil.Process(said["pid"]).memory_info().rss
        assert used < 400 * 1024 * 1024
