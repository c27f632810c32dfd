"""The methods that are compared, ours and the peers'. Each measures itself after its imports.

"reading" gives all pages of a sitemap; "check" reads generation A and keeps it, reads B and keeps it, and says what is
different.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from bench._sitemap_site import PER_CHILD


def get(url: str) -> bytes:
    with urlopen(url, timeout=120) as answer:
        return answer.read()


def measured(work: Callable[[], int]) -> dict[str, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    count = work()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {"count": count, "cpu": cpu, "wall": wall, "peak": peak_megabytes()}


def peak_megabytes(process: int | str = "self", row: str = "VmHWM:") -> float:
    """VmHWM begins with this program; ru_maxrss would include the process that started it."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith(row):
            return int(line.split()[1]) / 1024
    return 0.0


def watchbook_snapshot(url: str, folder: Path) -> list[Any]:
    """Fetch to disk, read, write canonical lists."""
    from watchbook.systems.sitemaps.parse import read_part

    def fetch(address: str) -> Path:
        path = folder / "body"
        with urlopen(address, timeout=120) as answer, path.open("wb") as file:
            while chunk := answer.read(1 << 18):
                file.write(chunk)
        return path

    lists = []
    for number, child in enumerate(read_part(fetch(url), base_url=url).children):
        part = read_part(fetch(child.url), base_url=child.url, output=folder / f"{number}.tsv")
        assert part.complete, part.notes
        lists.append(part.pages)
    return lists


def read_watchbook(url: str) -> dict[str, float]:
    # Imports are not measured, for either side; this one is loaded late otherwise.
    import lxml.etree  # noqa: F401

    import watchbook.systems.sitemaps.parse  # noqa: F401

    with tempfile.TemporaryDirectory() as folder:
        return measured(lambda: sum(part.count for part in watchbook_snapshot(url, Path(folder))))


def usp_pages(url: str) -> Iterator[Any]:
    from usp.fetch_parse import SitemapFetcher
    from usp.web_client.abstract_client import AbstractWebClient, AbstractWebClientSuccessResponse

    class Answer(AbstractWebClientSuccessResponse):
        def __init__(self, address: str) -> None:
            self.address, self.body = address, get(address)

        def status_code(self) -> int:
            return 200

        def status_message(self) -> str:
            return "OK"

        def header(self, case_insensitive_name: str) -> str | None:
            return "application/xml" if case_insensitive_name.lower() == "content-type" else None

        def raw_data(self) -> bytes:
            return self.body

        def url(self) -> str:
            return self.address

    class Client(AbstractWebClient):
        def set_max_response_data_length(self, max_response_data_length: int | None) -> None:
            pass

        def get(self, url: str) -> Answer:
            return Answer(url)

    return SitemapFetcher(url=url, recursion_level=0, web_client=Client()).sitemap().all_pages()


def read_usp(url: str) -> dict[str, float]:
    import logging

    import usp.fetch_parse  # noqa: F401

    logging.disable(logging.CRITICAL)
    return measured(lambda: sum(1 for _ in usp_pages(url)))


def scrapy_pages(url: str) -> Iterator[dict[str, Any]]:
    from scrapy.utils.sitemap import Sitemap

    for child in Sitemap(get(url)):
        yield from Sitemap(get(child["loc"]))


def read_scrapy(url: str) -> dict[str, float]:
    import scrapy.utils.sitemap  # noqa: F401

    return measured(lambda: sum(1 for _ in scrapy_pages(url)))


def read_advertools(url: str) -> dict[str, float]:
    import logging

    import advertools

    logging.disable(logging.CRITICAL)
    return measured(lambda: len(advertools.sitemap_to_df(url)))


def check_watchbook(url: str) -> dict[str, float]:
    import lxml.etree  # noqa: F401
    import zstandard

    from watchbook.systems.sitemaps.compare import compare, union_of
    from watchbook.systems.sitemaps.parse.lists import PartList

    def keep(address: str, folder: Path) -> list[Any]:
        folder.mkdir()
        lists = watchbook_snapshot(address, folder)
        assert union_of(lists).url_hash
        packer = zstandard.ZstdCompressor(level=3)
        kept = []
        for part in lists:
            path = part.source.with_suffix(".zst")
            with part.source.open("rb") as plain, path.open("wb") as packed:
                packer.copy_stream(plain, packed)
            part.source.unlink()
            kept.append(PartList(part.name, part.sha256, part.count, path))
        return kept

    def work() -> int:
        with tempfile.TemporaryDirectory() as folder:
            old = keep(url, Path(folder, "a"))
            new = keep(url.replace("/a/", "/b/"), Path(folder, "b"))
            with compare(old, new) as found, Path(folder, "changes.json").open("w") as file:
                file.writelines(found.json_pieces())
                return sum(found.counts[kind] for kind in ("added", "removed", "modified"))

    return measured(work)


def check_naively(url: str, rows: Callable[[str], Iterator[dict[str, Any]]]) -> dict[str, float]:
    """What most do: all pages as JSON, loaded into two dictionaries."""

    def load(path: Path) -> dict[str, str]:
        return {row["url"]: row["lastmod"] for row in json.loads(path.read_text())}

    def work() -> int:
        with tempfile.TemporaryDirectory() as folder:
            for generation in "ab":
                pages = list(rows(url.replace("/a/", f"/{generation}/")))
                Path(folder, generation).write_text(json.dumps(pages))
                del pages
            old, new = load(Path(folder, "a")), load(Path(folder, "b"))
            modified = sum(old[page] != new[page] for page in old.keys() & new.keys())
            return len(new.keys() - old.keys()) + len(old.keys() - new.keys()) + modified

    return measured(work)


def check_usp(url: str) -> dict[str, float]:
    import logging

    import usp.fetch_parse  # noqa: F401

    logging.disable(logging.CRITICAL)

    def rows(address: str) -> Iterator[dict[str, Any]]:
        for page in usp_pages(address):
            moment = page.last_modified
            yield {"url": page.url, "lastmod": moment.isoformat() if moment else None}

    return check_naively(url, rows)


def check_scrapy(url: str) -> dict[str, float]:
    import scrapy.utils.sitemap  # noqa: F401

    def rows(address: str) -> Iterator[dict[str, Any]]:
        for page in scrapy_pages(address):
            yield {"url": page["loc"], "lastmod": page.get("lastmod")}

    return check_naively(url, rows)


def check_advertools(url: str) -> dict[str, float]:
    import logging

    import advertools

    logging.disable(logging.CRITICAL)

    def rows(address: str) -> Iterator[dict[str, Any]]:
        frame = advertools.sitemap_to_df(address)
        for page, moment in zip(frame["loc"], frame["lastmod"], strict=True):
            yield {"url": page, "lastmod": str(moment)}

    return check_naively(url, rows)


def download(url: str) -> dict[str, float]:
    """The least that a client without validators can do: fetch every file and see that it is the same as before."""
    import hashlib

    def digest(address: str) -> bytes:
        found = hashlib.sha256()
        with urlopen(address, timeout=120) as answer:
            while chunk := answer.read(1 << 18):
                found.update(chunk)
        return found.digest()

    names = [part.partition("</loc>")[0] for part in get(url).decode().split("<loc>")[1:]]

    def work() -> int:
        assert all([digest(url), *map(digest, names)])
        return len(names) * PER_CHILD

    return measured(work)
