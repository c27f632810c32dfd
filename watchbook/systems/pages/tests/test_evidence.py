"""Kept requests and responses: written with a version, read back with warcio, counted, and deleted with the website."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from datetime import timedelta
from hashlib import sha256

import pytest
from warcio.archiveiterator import ArchiveIterator

from standins.messages import Answer
from watchbook.base import clock
from watchbook.base.store.models import BlobReference
from watchbook.base.testing.people import client_of
from watchbook.core.jobs import runner
from watchbook.systems.pages import actions, options
from watchbook.systems.pages.models import PageEvidence, PageVersion

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
API = "/api/v1/pages"


def keep(desk, site, *, on: bool) -> None:
    with clock.set_to(desk.now):
        actions.change_site(site, {"keeps_evidence": on})


@pytest.fixture
def page(desk):
    page = desk.watch("/piers/4", title="Pier 4", paragraphs=["The lift is out of service."])
    keep(desk, page.site, on=True)
    desk.read()
    return page


def records(body: bytes) -> list[tuple[str, str, bytes]]:
    """Type, address and payload of every record, with its digests checked."""
    found = []
    iterator = ArchiveIterator(io.BytesIO(body), check_digests="raise")
    for record in iterator:
        payload = record.content_stream().read()
        found.append((record.rec_type, record.rec_headers.get_header("WARC-Target-URI"), payload))
    return found


def download(desk, page, number: int, form: str) -> bytes:
    answer = client_of(desk.user).get(f"/pages/{page.pk}/evidence/{number}.{form}")
    assert answer.status_code == 200
    return b"".join(answer.streaming_content)


def test_every_version_has_what_was_sent_and_received(desk, page):
    desk.site.write("/piers/4", paragraphs=["The lift works again."])
    desk.read()
    desk.read()  # unchanged: nothing more is kept
    assert list(PageEvidence.objects.order_by("number").values_list("number", "exchanges")) == [(1, 2), (2, 2)]
    body = download(desk, page, 2, "warc")
    kept = PageEvidence.objects.get(number=2)
    assert (sha256(body).hexdigest(), len(body)) == (kept.sha256, kept.size)
    found = records(body)
    assert [(kind, url) for kind, url, _payload in found[1:]] == [("response", page.url), ("request", page.url)] * 2
    assert found[0][0] == "warcinfo"
    assert b"WARC/1.1" in gzip.decompress(body)
    # The page as the site sent it, not as it was understood.
    assert b"<nav><ul><li>" in found[1][2]
    assert b"The lift works again." in found[1][2]


def test_compressed_answer_is_kept_as_it_was_sent(desk):
    page = desk.watch("/piers/5", title="Pier 5", paragraphs=["Words."])
    keep(desk, page.site, on=True)
    plain = desk.site.texts.answer("/piers/5").body
    packed = gzip.compress(plain)
    headers = (("Content-Encoding", "gzip"), ("X-Harbour", "one"), ("X-Harbour", "two"))
    desk.site.texts.files["/piers/5"] = Answer(200, packed, headers, content_type="text/html")
    desk.read()
    for record in ArchiveIterator(io.BytesIO(download(desk, page, 1, "warc"))):
        if record.rec_type == "response":
            assert record.http_headers.get_header("content-encoding") == "gzip"
            assert [value for name, value in record.http_headers.headers if name == "x-harbour"] == ["one", "two"]
            assert record.raw_stream.read() == packed


def test_wacz_names_every_part_with_its_digest(desk, page):
    packed = zipfile.ZipFile(io.BytesIO(download(desk, page, 1, "wacz")))
    package = json.loads(packed.read("datapackage.json"))
    digest = json.loads(packed.read("datapackage-digest.json"))
    assert digest["hash"] == f"sha256:{sha256(packed.read('datapackage.json')).hexdigest()}"
    assert {part["path"] for part in package["resources"]} == set(packed.namelist()) - {
        "datapackage.json",
        "datapackage-digest.json",
    }
    for part in package["resources"]:
        body = packed.read(part["path"])
        assert (part["bytes"], part["hash"]) == (len(body), f"sha256:{sha256(body).hexdigest()}")
    archive = packed.read("archive/data.warc.gz")
    assert archive == download(desk, page, 1, "warc")
    lines = packed.read("indexes/index.cdx").decode().splitlines()
    assert len(lines) == 2
    for line in lines:
        facts = json.loads(line.split(" ", 2)[2])
        start, length = int(facts["offset"]), int(facts["length"])
        ((kind, url, _payload),) = records(archive[start : start + length])
        assert (kind, url) == ("response", page.url)
    pages = [json.loads(line) for line in packed.read("pages/pages.jsonl").decode().splitlines()]
    assert pages[1]["url"] == page.url


def test_answer_that_decided_the_fate_is_kept(desk):
    desk.site.write("/a", title="A", paragraphs=["A."])
    desk.site.add("/a")
    desk.site.add("/b")
    site = desk.website()
    keep(desk, site, on=True)
    desk.cycle()
    desk.site.remove("/a")
    desk.site.write("/a", mood="gone")
    desk.cycle()
    (kept,) = PageEvidence.objects.filter(number=0)
    assert kept.page.fate == "gone"
    assert [kind for kind, _url, _payload in records(download(desk, kept.page, 0, "warc"))] == [
        "warcinfo",
        "response",
        "request",
    ]


def test_off_by_default_and_full_websites_keep_versions_without_evidence(desk, page, monkeypatch):
    other = desk.watch("/piers/6", title="Pier 6", paragraphs=["Words."])
    keep(desk, other.site, on=False)
    desk.read()
    assert not PageEvidence.objects.filter(page=other).exists()
    keep(desk, other.site, on=True)
    PageEvidence.objects.update(size=options.EVIDENCE_MEGABYTES.value * 1_000_000)
    desk.site.write("/piers/6", paragraphs=["Other words."])
    desk.read()
    assert PageVersion.objects.filter(page=other).count() == 2
    assert not PageEvidence.objects.filter(page=other).exists()


def references() -> int:
    return BlobReference.objects.filter(owner_kind="web_page_evidence").count()


def test_evidence_goes_after_its_time_with_the_page_and_with_the_website(desk, page):
    assert references() == 1
    with clock.set_to(desk.now + timedelta(days=options.EVIDENCE_DAYS.value + 1)):
        assert runner.run_now("pages.forget").progress["evidence"] == 1
    assert (PageEvidence.objects.count(), references()) == (0, 0)
    desk.site.write("/piers/4", paragraphs=["Again."])
    desk.read()
    assert references() == 1
    actions.delete_site(page.site, desk.user)
    runner.run_now("pages.forget")
    assert (PageEvidence.objects.count(), references()) == (0, 0)
    single = desk.watch("/piers/7", title="Pier 7", paragraphs=["Words."])
    keep(desk, single.site, on=True)
    desk.read()
    assert references() == 1
    actions.delete_page(single)
    assert references() == 0
    last = desk.watch("/piers/8", title="Pier 8", paragraphs=["Words."])
    desk.read()
    assert (last.site_id, references()) == (single.site_id, 1)
    actions.delete_sites(desk.user)
    assert references() == 0


def test_only_the_owner_downloads(desk, page, bob):
    client = client_of(desk.user)
    listed = client.get(f"{API}/{page.pk}/evidence").json()["items"]
    assert [(row["number"], row["exchanges"]) for row in listed] == [(1, 2)]
    assert client.get(f"{API}/{page.pk}/evidence/1?form=wacz").status_code == 200
    assert client.get(f"{API}/{page.pk}/evidence/1?form=exe").status_code == 422
    assert client.get(f"{API}/{page.pk}/evidence/9").status_code == 404
    assert client.get(f"/pages/{page.pk}/evidence/1.exe").status_code == 404
    for url in (f"{API}/{page.pk}/evidence", f"{API}/{page.pk}/evidence/1", f"/pages/{page.pk}/evidence/1.warc"):
        assert client_of(bob).get(url).status_code == 404
    assert "WACZ" in client.get(f"/pages/{page.pk}/").content.decode()
