"""One public page of one note, with the operator's own cookie, slowly. It cannot search."""

from __future__ import annotations

from urllib.parse import urlencode

from django.utils.translation import gettext_noop

from watchbook.base.web import client
from watchbook.base.web.answer import Answer
from watchbook.sources.notes import options
from watchbook.sources.notes.errors import Trouble
from watchbook.sources.notes.fetch.refusals import check_answer, translated
from watchbook.sources.notes.fetch.visit import SearchQuery, Times, Visit
from watchbook.sources.notes.parse.addresses import NoteAddress
from watchbook.sources.notes.parse.note import parse_page
from watchbook.sources.notes.parse.records import NoteRecord, SearchPage
from watchbook.sources.notes.parse.signals import EMPTY, NOT_READABLE, NOTE_GONE, PlatformRefusal
from watchbook.sources.notes.rules import Code

MAX_BYTES = 6 * 1024 * 1024
CANNOT_SEARCH = gettext_noop("The adapter page reads single notes. Use the adapter remote to search.")


class Page:
    name = "page"

    def __init__(self) -> None:
        self.base_url = options.PAGE_URL.value.rstrip("/")

    def search(self, query: SearchQuery, visit: Visit, seconds: float) -> SearchPage:
        raise Trouble(Code.INVALID_INPUT, CANNOT_SEARCH, reason="cannot_search")

    def detail(self, address: NoteAddress, visit: Visit, seconds: float) -> NoteRecord:
        tokens = {"xsec_token": address.xsec_token, "xsec_source": address.xsec_source or "pc_search"}
        times = Times.within(seconds, self.base_url)
        query = f"?{urlencode(tokens)}" if address.xsec_token else ""
        with translated():
            answer = client.get(
                f"{self.base_url}/explore/{address.note_id}{query}",
                headers=visit.headers(),
                jar=visit.jar_for(self.base_url),
                max_bytes=MAX_BYTES,
                follow=0,
                raise_for_status=False,
                account=visit.account,
                spacing_seconds=options.PAGE_SPACING.value,
                wait_seconds=times.wait_seconds,
                deadline_seconds=times.deadline_seconds,
            )
            check_answer(answer, may_be_missing=True)
            return self._read(answer, address.note_id)

    def _read(self, answer: Answer, note_id: str) -> NoteRecord:
        try:
            return parse_page(answer.text, note_id)
        except PlatformRefusal as refusal:
            # Sites put the reason into the page of a 404; one without any is just that.
            if answer.status in {404, 410} and refusal.reason in {NOT_READABLE, EMPTY}:
                raise PlatformRefusal(NOTE_GONE, f"status {answer.status}") from refusal
            raise
