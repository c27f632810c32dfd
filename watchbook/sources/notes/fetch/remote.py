"""A crawler service that the operator runs and may use. It gets the leased cookie and answers as the platform does."""

from __future__ import annotations

import json
from typing import Any

from watchbook.base.web import client
from watchbook.sources.notes import options
from watchbook.sources.notes.fetch.refusals import check_answer, translated
from watchbook.sources.notes.fetch.visit import SearchQuery, Times, Visit
from watchbook.sources.notes.parse.addresses import NoteAddress
from watchbook.sources.notes.parse.note import parse_feed
from watchbook.sources.notes.parse.records import NoteRecord, SearchPage
from watchbook.sources.notes.parse.search import parse_search

MAX_BYTES = 4 * 1024 * 1024


class Remote:
    name = "remote"

    def __init__(self) -> None:
        self.base_url = options.REMOTE_URL.value.rstrip("/")

    def search(self, query: SearchQuery, visit: Visit, seconds: float) -> SearchPage:
        wish = {"keyword": query.keyword, "page": query.page, "page_size": query.page_size}
        with translated():
            return parse_search(self._post("/search", wish, visit, seconds))

    def detail(self, address: NoteAddress, visit: Visit, seconds: float) -> NoteRecord:
        wish = {
            "note_id": address.note_id,
            "xsec_token": address.xsec_token,
            "xsec_source": address.xsec_source,
        }
        with translated():
            return parse_feed(self._post("/detail", wish, visit, seconds), address.note_id)

    def _post(self, path: str, wish: dict[str, Any], visit: Visit, seconds: float) -> bytes:
        token = options.REMOTE_TOKEN.value
        secrets = {"Cookie": visit.cookie, "Authorization": f"Bearer {token}" if token else ""}
        times = Times.within(seconds, self.base_url)
        answer = client.send(
            "POST",
            self.base_url + path,
            json.dumps(wish, ensure_ascii=False).encode(),
            visit.headers(**{"Content-Type": "application/json"}),
            secrets={name: value for name, value in secrets.items() if value},
            max_bytes=MAX_BYTES,
            raise_for_status=False,
            account=visit.account,
            wait_seconds=times.wait_seconds,
            deadline_seconds=times.deadline_seconds,
        )
        check_answer(answer)
        return answer.body
