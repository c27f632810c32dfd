"""Writes what was sent and received as WARC 1.1, and packs a WARC file as WACZ: pages, index, digests of every part."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from watchbook.base.web.response import Exchange

SOFTWARE = "Watchbook"
ARCHIVE, INDEX, PAGES = "archive/data.warc.gz", "indexes/index.cdx", "pages/pages.jsonl"
PACKAGE, DIGEST = "datapackage.json", "datapackage-digest.json"
WACZ_VERSION = "1.1.1"


@dataclass(frozen=True)
class PackedPage:
    """The page that a package is about."""

    url: str
    title: str
    at: datetime


def write_warc(path: Path, exchanges: Sequence[Exchange], at: datetime) -> None:
    """Write a response and its request for every exchange, each compressed on its own."""
    from warcio.warcwriter import WARCWriter  # only where evidence is kept

    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=True, warc_version="1.1")
        about = {"software": SOFTWARE, "format": "WARC File Format 1.1"}
        writer.write_record(writer.create_warcinfo_record(path.name, about))
        for exchange in exchanges:
            response = writer.create_warc_record(
                exchange.url, "response", payload=BytesIO(exchange.body), http_headers=_response(exchange),
                warc_headers_dict={"WARC-Date": _date(at)},
            )  # fmt: skip
            named = {"WARC-Date": _date(at), "WARC-Concurrent-To": response.rec_headers.get_header("WARC-Record-ID")}
            request = writer.create_warc_record(
                exchange.url, "request", payload=BytesIO(), http_headers=_request(exchange), warc_headers_dict=named
            )
            writer.write_record(response)
            writer.write_record(request)


def _response(exchange: Exchange) -> Any:
    from warcio.statusandheaders import StatusAndHeaders

    try:
        reason = HTTPStatus(exchange.status).phrase
    except ValueError:
        reason = ""
    # The parts of a chunked body were joined by the client; readers must not look for them.
    renamed = {"transfer-encoding": "x-archive-orig-transfer-encoding"}
    headers = [(renamed.get(name.lower(), name), value) for name, value in exchange.headers]
    return StatusAndHeaders(f"{exchange.status} {reason}".strip(), headers, protocol="HTTP/1.1")


def _request(exchange: Exchange) -> Any:
    from warcio.statusandheaders import StatusAndHeaders

    parts = urlsplit(exchange.url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    line = f"{exchange.method} {target} HTTP/1.1"
    return StatusAndHeaders(line, list(exchange.request_headers), is_http_request=True)


def _date(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def write_wacz(target: Path, warc: Path, page: PackedPage) -> None:
    """Pack a WARC file. Every part is named with its size and digest, and that list has a digest of its own."""
    line = {"id": "1", "url": page.url, "title": page.title, "ts": _date(page.at)}
    head = {"format": "json-pages-1.0", "id": "pages", "title": "All pages"}
    pages = "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in (head, line)).encode()
    parts = {ARCHIVE: warc.read_bytes(), INDEX: "".join(sorted(index_lines(warc))).encode(), PAGES: pages}
    package = {
        "profile": "data-package",
        "wacz_version": WACZ_VERSION,
        "title": page.title or page.url,
        "software": SOFTWARE,
        "created": _date(page.at),
        "mainPageUrl": page.url,
        "mainPageDate": _date(page.at),
        "resources": [
            {"name": path.rpartition("/")[2], "path": path, "hash": digest_of(body), "bytes": len(body)}
            for path, body in parts.items()
        ],
    }
    parts[PACKAGE] = json.dumps(package, ensure_ascii=False, indent=2).encode()
    parts[DIGEST] = json.dumps({"path": PACKAGE, "hash": digest_of(parts[PACKAGE])}, indent=2).encode()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as packed:
        for path, body in parts.items():
            # Players read the archive in parts, so it is not compressed a second time.
            packed.writestr(zipfile.ZipInfo(path, page.at.astimezone(UTC).timetuple()[:6]), body)


def digest_of(body: bytes) -> str:
    return f"sha256:{sha256(body).hexdigest()}"


def index_lines(warc: Path) -> Iterator[str]:
    """CDXJ lines: where each response is in the archive."""
    from warcio.archiveiterator import ArchiveIterator

    with warc.open("rb") as file:
        records = ArchiveIterator(file)
        for record in records:
            if record.rec_type != "response":
                continue
            url, date = record.rec_headers.get_header("WARC-Target-URI"), record.rec_headers.get_header("WARC-Date")
            stamp = "".join(filter(str.isdigit, date))[:14]
            facts = {
                "url": url,
                "mime": record.http_headers.get_header("content-type", "").partition(";")[0].strip(),
                "status": record.http_headers.get_statuscode(),
                "digest": record.rec_headers.get_header("WARC-Payload-Digest"),
                "offset": str(records.get_record_offset()),
                "length": str(records.get_record_length()),
                "filename": ARCHIVE.rpartition("/")[2],
            }
            yield f"{surt(url)} {stamp} {json.dumps(facts, ensure_ascii=False)}\n"


def surt(url: str) -> str:
    """The address in the order in which an index is sorted: host from right to left, then the path."""
    parts = urlsplit(url.lower())
    host = ",".join(reversed((parts.hostname or "").removeprefix("www.").split(".")))
    port = f":{parts.port}" if parts.port else ""
    query = f"?{parts.query}" if parts.query else ""
    return f"{host}{port}){parts.path or '/'}{query}"
