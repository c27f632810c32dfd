"""The stand-in platform: the endpoints of the web API, without the signatures that the real one asks for."""

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
SEARCH, FEED = "/api/sns/web/v1/search/notes", "/api/sns/web/v1/feed"


class StandIn:
    name = "standin"

    def __init__(self) -> None:
        self.base_url = options.STANDIN_URL.value.rstrip("/")

    def search(self, query: SearchQuery, visit: Visit, seconds: float) -> SearchPage:
        wish = {"keyword": query.keyword, "page": query.page, "page_size": query.page_size, "sort": "general"}
        with translated():
            return parse_search(self._post(SEARCH, wish, visit, seconds))

    def detail(self, address: NoteAddress, visit: Visit, seconds: float) -> NoteRecord:
        wish = {
            "source_note_id": address.note_id,
            "image_formats": ["jpg", "webp", "avif"],
            "extra": {"need_body_topic": 1},
            "xsec_source": address.xsec_source or "pc_search",
            "xsec_token": address.xsec_token,
        }
        with translated():
            return parse_feed(self._post(FEED, wish, visit, seconds), address.note_id)

    def _post(self, path: str, wish: dict[str, Any], visit: Visit, seconds: float) -> bytes:
        times = Times.within(seconds, self.base_url)
        answer = client.send(
            "POST",
            self.base_url + path,
            json.dumps(wish, ensure_ascii=False).encode(),
            visit.headers(**{"Content-Type": "application/json"}),
            jar=visit.jar_for(self.base_url),
            max_bytes=MAX_BYTES,
            raise_for_status=False,
            account=visit.account,
            wait_seconds=times.wait_seconds,
            deadline_seconds=times.deadline_seconds,
        )
        check_answer(answer)
        return answer.body
