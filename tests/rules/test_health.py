"""Success needs evidence: when a source fails, no page says that it is healthy, and all name the same reason.

The test lets each stand-in succeed once or never, then fail in each way, and walks the pages, endpoints, probes and the
first steps that speak about the source, in English, and for one failure in Chinese.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.core.cache import cache
from django.utils import translation

from tests.rules.failing_sources import FAILURES, WORLDS, Case, Names
from watchbook.base import clock
from watchbook.base.testing.environment import NIGHTLY
from watchbook.base.testing.people import client_of
from watchbook.core import registry
from watchbook.core.health import Health, health_of, items_of
from watchbook.core.jobs.models import JobRun

pytestmark = pytest.mark.django_db

MARKUP = re.compile(r"<(script|style)\b.*?</\1>|<[^>]+>", re.DOTALL)
# Words of success that no page may show for a source that fails: page texts, and values in the API.
CLAIMS = {
    "en": ("Healthy", "Nothing changed", "Nothing had changed", "Done", "was read and had no", "since the baseline"),
    "zh-hans": ("正常", "没有变化", "已完成", "无变更", "基线以来"),
}
API_CLAIMS = ('"state": "healthy"', '"outcome": "done"', '"last_outcome": "done"')
# The words of one failure are read in Chinese as well; every night those of all of them.
IN_CHINESE_TOO = "HTTP 503"
WALKED: list[int] = []


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    book = Names()
    monkeypatch.setattr(socket, "getaddrinfo", book)
    cache.clear()
    return book


def pages_about(slug: str, case: Case) -> dict[str, str]:
    """Return each page and endpoint that speaks about the source, with the part of it that does."""
    run = JobRun.objects.filter(name=case.job).order_by("-pk").first()
    found = {
        "/": "",
        **dict.fromkeys(case.pages, ""),
        "/alerts/": "",
        "/operations/": f"source:{slug}",
        "/operations/health/": "",
        "/operations/jobs/": f"job:{case.job}",
        f"/operations/jobs/{case.job}/": "newest:/operations/runs/",
        f"/api/v1/health/{slug}": "",
        "/api/v1/health": f"api:{slug}",
        "/api/v1/alerts?state=open": "",
        "/readyz": f"readyz:{slug}",
    }
    if case.runs:
        found[case.runs] = f"newest:{case.runs}"
    if run is not None:
        found[f"/operations/runs/{run.pk}/"] = ""
        found[f"/api/v1/jobs/runs/{run.pk}"] = ""
    return found


def words_of(browser: Any, path: str, part: str, language: str) -> str:
    """Return the words of a page about the source, without markup."""
    answer = browser.get(path, headers={"accept-language": language})
    assert answer.status_code in ((200, 503) if path == "/readyz" else (200,)), f"{path}: {answer.status_code}"
    kind, _colon, name = part.partition(":")
    if path.startswith("/api/") or path == "/readyz":
        return of_json(answer.json(), kind, name)
    # The first steps say that a step is done: a source was read once, which stays true.
    html = re.sub(r'<ol class="steps[^"]*">.*?</ol>', "", answer.content.decode(), flags=re.DOTALL)
    if kind:
        marks = {"newest": f'href="{name}', "source": f'data-source="{name}"', "job": f"/operations/jobs/{name}/"}
        rows = [row for row in re.findall(r"<tr\b.*?</tr>", html, re.DOTALL) if marks[kind] in row]
        rows = rows[:1] if kind == "newest" else rows
        html = " ".join([*rows, *re.findall(r'<div class="notice.*?</div>', html, re.DOTALL)])
        assert rows, f"{path} has no row of {name}"
    return " ".join(unescape(MARKUP.sub(" ", html)).split())


def of_json(answer: Any, kind: str, name: str) -> str:
    if kind == "api":
        answer = next(one for one in answer["items"] if one["source"] == name)
    if kind == "readyz":
        answer = answer["sources"][name]
    return json.dumps(answer, ensure_ascii=False)


def is_silent(path: str, text: str) -> bool:
    """Whether a page has nothing to say: no alert is open, or the record of a run names only its outcome."""
    if path.startswith("/api/v1/alerts"):
        return '"items": []' in text
    if path == "/alerts/":
        return "No open alerts" in text or "没有未恢复的告警" in text
    return path.startswith("/api/v1/jobs/runs/")


def steps_done(browser: Any) -> int:
    """Return how many of the first steps the home page says are done."""
    page = " ".join(MARKUP.sub(" ", browser.get("/", headers={"accept-language": "en"}).text).split())
    return int(re.search(r"Getting started (\d) of \d", page)[1])  # type: ignore[index]


def wrong_words(browser: Any, slug: str, case: Case, language: str) -> tuple[Health, list[str], int]:
    """Return the health of the source, what is wrong on its pages, and how many pages were walked."""
    with translation.override(language):
        bad = health_of(registry.source(slug))
    assert bad is not None
    pages = pages_about(slug, case)
    texts = {path: words_of(browser, path, part, language) for path, part in pages.items()}
    wrong = []
    for path, text in texts.items():
        claims = API_CLAIMS if path.startswith(("/api/", "/readyz")) else CLAIMS[language]
        # The health page counts healthy things: "0 of 1 healthy" is no claim.
        wrong += [f"{path} ({language}) says {claim!r}" for claim in claims if claim in text.replace("项正常", "")]
        if bad.last_failure not in text and not is_silent(path, text):
            wrong.append(f"{path} ({language}) does not name {bad.last_failure!r}: {text[:300]}")
    return bad, wrong, len(texts)


def cases() -> Iterator[Any]:
    """Every source with every failure, by turns after one success and without any; every night both."""
    for row, slug in enumerate(WORLDS):
        for column, failure in enumerate(FAILURES):
            for was_read, word in ((True, "read once"), (False, "never read")):
                marks = () if (row + column) % 2 == was_read else (pytest.mark.nightly,)
                yield pytest.param(slug, failure, was_read, marks=marks, id=f"{slug}-{failure}-{word}")


@pytest.mark.parametrize(("slug", "failure", "was_read"), list(cases()))
def test_failing_source_is_never_shown_as_healthy(
    slug: str,
    failure: str,
    was_read: bool,
    operator: Any,
    names: Names,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Any,
) -> None:
    source, browser = registry.source(slug), client_of(operator)
    with WORLDS[slug](operator, monkeypatch, was_read) as (site, case):
        with clock.set_to(case.now()):
            good = health_of(source)
        assert good is not None
        assert good.is_good == was_read, good
        FAILURES[failure](site, names)
        for _ in range(3):
            case.read()
        with clock.set_to(case.now() + timedelta(minutes=1)):
            languages = CLAIMS if NIGHTLY or failure == IN_CHINESE_TOO else ("en",)
            walks = [wrong_words(browser, slug, case, language) for language in languages]
            items = items_of(source)
            assert steps_done(browser) == int(was_read), "a first step is done after the first success"
    bad = walks[0][0]
    assert bad.needs_attention, bad
    assert (bad.last_success_at is not None) == was_read
    assert bad.last_failure_at is not None
    assert bad.next_try_at is not None
    assert bad.remedy
    assert any(item.health.needs_attention for item in items)
    WALKED.append(sum(count for _bad, _wrong, count in walks))
    with capsys.disabled():
        print(f"\n{slug}, {failure}: {bad.state} on {WALKED[-1]} pages, {bad.last_failure}")
        if len(WALKED) == (2 if NIGHTLY else 1) * len(WORLDS) * len(FAILURES):
            print(f"{len(WORLDS)} sources x {len(FAILURES)} failures: {sum(WALKED)} pages walked")
    found = [text for _bad, wrong, _count in walks for text in wrong]
    assert not found, "\n".join(found)
