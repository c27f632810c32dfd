from __future__ import annotations

import gzip
import http.client
import re
import urllib.error
import urllib.request
import xml.etree.ElementTree as ET
from collections import Counter
from urllib.parse import urljoin

import pytest

from standins.sitemap_cases import CASES, FAILURES, MATRIX, ROBOTS, Case, CaseSite, Outcome, Wanted
from standins.tests.clients import ask, raw

# Cases that a strict XML reader can follow, so that what they want can be proven without a forgiving one.
STRICT = """
S1 S2 S3 S4 S5 S7 S8 S9 S10 S11 S12 S14 S19 S24 S28 S29 S30 S34 S35
T-gzip-under-xml T-gzip-two-layers T-gzip-members T-prefixed-root T-namespace-without-scheme T-alternates T-video
T-commented-url T-commented-url-between T-escaped-ampersand T-unicode-spaces T-priority-nan T-path-case
T-lastmod-forms T-relative-child T-relative-after-redirect T-duplicates-across T-child-twice C6 C10 C11-cdata
"""
MARKER = re.compile(rb"@(ROOT|HERE|SCHEME)@")
BROKEN = """
S13 S15 S16 S17 S18 S20 S23 T-html-entity T-control-inside T-latin1-as-utf8 C1 C3 C11-half-cdata T-html-as-xml
"""


@pytest.fixture(scope="module")
def site():
    with CaseSite() as site:
        yield site


def read_strictly(address: str) -> list[str]:
    """The locs of a sitemap or of everything below an index, by urllib, gzip and ElementTree."""
    with urllib.request.urlopen(address, timeout=5) as response:
        address, data = response.url, response.read()
    while data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    root = ET.fromstring(data)
    locs = [
        urljoin(address, loc.text.strip(" \n\u00a0\u200b\ufeff"))
        for entry in root
        for loc in entry
        if entry.tag.rpartition("}")[2] in {"url", "sitemap"} and loc.tag.rpartition("}")[2] == "loc"
    ]
    if root.tag.endswith("sitemapindex"):
        return [loc for child in locs for loc in read_strictly(child)]
    return locs


def test_matrix_is_complete_and_every_name_is_unique():
    assert [case.name for case in MATRIX] == [f"S{number}" for number in range(1, 36)]
    assert max(Counter(case.name for case in (*CASES, *ROBOTS)).values()) == 1


def test_what_is_wanted_makes_sense():
    for case in CASES:
        wanted = case.wanted
        assert wanted.failure in {None, *FAILURES}, case.name
        assert wanted.urls is None or len(set(wanted.urls)) == wanted.count, case.name
        assert not (wanted.failure and wanted.complete), case.name
        assert wanted.failed_parts == 0 or wanted.complete is False, case.name


@pytest.mark.parametrize("name", STRICT.split())
def test_strict_reader_finds_what_is_wanted(site, name):
    case = site.case(name)
    found = read_strictly(site.address(case.path))
    wanted = case.wanted_at(site.url)
    assert sorted(set(found)) == sorted(wanted.urls)
    if wanted.listed is not None:
        assert len(found) == wanted.listed


@pytest.mark.parametrize("name", BROKEN.split())
def test_broken_ones_are_truly_broken(site, name):
    with pytest.raises(ET.ParseError):
        read_strictly(site.address(site.case(name).path))


def test_cut_bodies_are_cut_where_they_should_be(site):
    assert len(ask(site, site.case("S20").path).body) == 30_000
    with pytest.raises(http.client.IncompleteRead):
        ask(site, site.case("S21").path)
    assert b"Content-Length: 900000\r\n" in raw(site, site.case("S21").path)


@pytest.mark.parametrize(("name", "child", "status"), [("S31", "bad.xml", 500), ("T-child-missing", "gone.xml", 404)])
def test_bad_children_answer_badly_and_good_ones_well(site, name, child, status):
    assert ask(site, f"/{name}/good.xml").status == 200
    assert ask(site, f"/{name}/{child}").status == status


def test_statuses_and_loops_are_real(site):
    assert ask(site, site.case("T-forbidden").path).status == 403
    with pytest.raises(urllib.error.HTTPError, match="infinite loop"):
        urllib.request.urlopen(site.address(site.case("T-redirect-loop").path), timeout=5)


def test_addresses_of_the_server_are_completed_and_others_kept(site):
    for case in (*CASES, *ROBOTS):
        for resource in case.resources:
            if not case.is_heavy:
                assert not MARKER.search(resource.bytes_at(site.url, case.name))
    index = ask(site, site.case("S31").path).body.decode()
    assert f"<loc>{site.url}/S31/good.xml</loc>" in index
    assert site.case("S28").wanted_at(site.url).urls == (f"{site.url}/a", f"{site.url}/S28/b", "http://e.com/c")


def test_bytes_are_had_without_a_server_as_well(site):
    for name in ("S1", "S2", "S8", "S15", "T-latin1-as-utf8"):
        case: Case = site.case(name)
        assert case.body(site.url) == ask(site, case.path).body


@pytest.mark.parametrize("case", ROBOTS, ids=lambda case: case.name)
def test_robots_files_name_what_is_wanted(site, case):
    data = ask(site, case.path).body
    text = data.decode("utf-16" if data[:2] == b"\xff\xfe" else "utf-8-sig")
    names = [line.partition("#")[0].partition(":") for line in text.splitlines()]
    found = [value.strip() for key, _, value in names if key.strip().lower() in {"sitemap", "site-map"}]
    here = site.address(case.path)
    assert tuple(dict.fromkeys(urljoin(here, value) for value in found)) == case.wanted_at(site.url).urls


def test_hanging_cases_are_marked_slow_and_hang(site):
    assert {case.name for case in CASES if case.is_slow} == {"T-hangs", "T-child-hangs"}
    connection = http.client.HTTPConnection(site.host, site.port, timeout=0.1)
    connection.request("GET", "/T-child-hangs/slow.xml")
    with pytest.raises(TimeoutError):
        connection.getresponse()
    connection.close()


def test_canary_is_noticed(site):
    assert site.canary_hits() == []
    ask(site, "/canary/rules.dtd")
    assert site.canary_hits() == ["/canary/rules.dtd"]
    site.log.clear()


def test_outcome_as_wanted_has_no_complaints():
    wanted = Wanted(count=2, urls=("a", "b"), noted=True)
    assert wanted.complaints(Outcome(count=2, complete=True, noted=True, urls=["b", "a"])) == []
    assert Wanted(complete=False, or_failure=True).complaints(Outcome(failure="timeout")) == []
    assert Wanted(complete=False, failure="any").complaints(Outcome(failure="empty")) == []
    assert Wanted(count=3, complete=None).complaints(Outcome(count=1)) == []


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome(count=2, complete=True, noted=True, urls=["a", "c"]),
        Outcome(count=3, complete=True, noted=True),
        Outcome(count=2, complete=False, noted=True),
        Outcome(count=2, complete=True, noted=False),
        Outcome(count=2, complete=True, noted=True, failed_parts=1),
        Outcome(failure="empty"),
    ],
)
def test_every_deviation_is_complained_about(outcome):
    assert len(Wanted(count=2, urls=("a", "b"), noted=True).complaints(outcome)) == 1


def test_result_where_a_failure_is_wanted_is_complained_about():
    assert Wanted(failure="empty", complete=False).complaints(Outcome(count=0))
    assert Wanted(failure="empty", complete=False).complaints(Outcome(failure="timeout"))
    assert Wanted(count=3, complete=None).complaints(Outcome(count=2, complete=True))
