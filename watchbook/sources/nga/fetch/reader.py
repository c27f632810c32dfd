"""One run's view of the forum: what it asks, what it learnt about the site, how much it has cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from watchbook.base import sandbox
from watchbook.base.web.answer import Answer
from watchbook.sources.nga.errors import NgaTrouble, PageBusy, PageTrouble, PageUnreadable, PastEnd, SiteTrouble
from watchbook.sources.nga.fetch import asking
from watchbook.sources.nga.fetch.forms import Form, list_address, topic_address
from watchbook.sources.nga.fetch.gate import Gate
from watchbook.sources.nga.fetch.patience import TRIES, Patience, back_off
from watchbook.sources.nga.parse import LayoutChanged, ListPage, Refused, TopicPage, Unreadable

Page = TypeVar("Page", ListPage, TopicPage)
Failure = Unreadable | sandbox.TaskError | PageBusy | PageUnreadable
SLOWEST = 0.01


class BoardReader:
    """Made once per run, used by one thread.

    A page is asked for as JSON (`__output=11`), then `=8`, then HTML. A form that failed where a later one could be
    read is not asked for again in this run; a page that no form can give is that page's own trouble. Temporary
    answers (403, 429, 5xx, time-outs, "busy") are asked again a few times with growing, jittered pauses. The guest
    gate is passed once, as a browser does; when it stays shut, and after a long row of failures, every further call
    raises at once and costs nothing.

    Raises only what `errors.py` draws: SiteTrouble ends the run, PageTrouble concerns that one page. And a plain
    WebError when the operator's address of the forum is not allowed.
    """

    def __init__(self, *, requests_per_second: float = 1.0) -> None:
        """`requests_per_second` is the forum's `request_rate_limit_per_sec`, shared by all workers of all processes."""
        self._spacing_seconds = 1 / max(requests_per_second, SLOWEST)
        self._patience = Patience()
        self._gate = Gate()
        self._failed_forms: set[Form] = set()
        self._ended: SiteTrouble | None = None

    @property
    def http_request_count(self) -> int:
        """Every request that left: gate, retries, fallbacks, redirects."""
        return self._patience.spent

    def list_page(self, fid: int, page: int) -> ListPage:
        """One page of a board, newest topics first. Past the end: a page without topics."""
        try:
            found = self._in_any_form(ListPage, lambda form: list_address(fid, page, form), page, list(Form))
        except PastEnd:
            return ListPage(fid, "", (), None, None)
        return found

    def topic_page(self, tid: int, page: int) -> TopicPage:
        """One page of a topic. Whether it may be taken for whole is `TopicPage.is_whole(page)`."""
        return self._in_any_form(TopicPage, lambda form: topic_address(tid, page, form), page, list(Form), tid=tid)

    def note_page(self, tid: int, page: int) -> TopicPage:
        """The HTML of a page: there the floors of notes carry their text, which JSON keeps under the parents."""
        return self._in_any_form(TopicPage, lambda form: topic_address(tid, page, form), page, [Form.HTML], tid=tid)

    def _in_any_form(
        self, kind: type[Page], address: Callable[[Form], str], page: int, forms: list[Form], *, tid: int | None = None
    ) -> Page:
        failed: dict[Form, Failure] = {}
        for form in forms:
            if form in self._failed_forms:
                continue
            try:
                # A site that is ill is not asked three times for three forms.
                found = self._patiently(kind, address(form), page, tries=1 if failed else TRIES)
                if tid is not None and isinstance(found, TopicPage) and found.tid != tid:
                    raise LayoutChanged("not_nga")
            except (Unreadable, sandbox.TaskError) as error:
                failed[form] = error
            except (PageBusy, PageUnreadable) as trouble:
                if not _may_be_the_form(trouble):
                    raise
                failed[form] = trouble
            else:
                # Another form of this very page could be read, so it was the form.
                self._failed_forms.update(failed)
                return found
        raise _trouble(list(failed.values()))

    def _patiently(self, kind: type[Page], url: str, page: int, *, tries: int) -> Page:
        """Ask a few times when the trouble may pass."""
        for failures in range(1, tries + 1):
            try:
                return self._once(kind, url, page)
            except SiteTrouble as trouble:
                self._ended = trouble
                raise
            except PageBusy:
                if failures == tries:
                    raise
                back_off(url, failures)
        raise AssertionError("unreachable")

    def _once(self, kind: type[Page], url: str, page: int) -> Page:
        answer = self._get(url)
        try:
            try:
                found = self._read(answer, page)
            except Refused as refusal:
                if refusal.reason != "guest":
                    raise
                answer = self._get(url + self._gate.pass_through(answer))
                found = self._read(answer, page)
        except Refused as refusal:
            raise self._what_follows(refusal, answer) from refusal
        if not isinstance(found, kind):
            raise LayoutChanged("not_nga")
        self._was_useful()
        return found

    def _get(self, url: str) -> Answer:
        if self._ended is not None:
            raise self._ended
        self._patience.check()
        return asking.get(
            url, self._gate.jar, spacing_seconds=self._spacing_seconds, spend=self._patience.spend
        )  # fmt: skip

    def _read(self, answer: Answer, page: int) -> ListPage | TopicPage:
        """A page, or why there is none: the site's words before the status, the status before the shape."""
        try:
            found = asking.read(answer, page)
        except Refused:
            raise
        except (Unreadable, sandbox.TaskError):
            if answer.status >= 400:
                raise asking.failed(answer) from None
            if asking.is_short_message(answer):
                raise Refused("") from None
            raise
        if answer.status >= 400:
            raise asking.failed(answer)
        return found

    def _what_follows(self, refusal: Refused, answer: Answer) -> NgaTrouble:
        if refusal.reason == "guest":
            self._gate.pass_through(answer)  # raises: the gate is shut again at once
        trouble = asking.refused(refusal, answer)
        if not isinstance(trouble, PageBusy):
            self._was_useful()  # a clear no is an answer: the site is alive
        return trouble

    def _was_useful(self) -> None:
        self._patience.was_useful()
        self._gate.was_useful()


def _may_be_the_form(trouble: PageBusy | PageUnreadable) -> bool:
    """Sites block one way of asking with such statuses, or fall ill over it; words and silence are not about it."""
    return trouble.http_error_code not in {None, 429}


def _trouble(failures: list[Failure]) -> PageTrouble:
    """The first that may pass stands for all, else the last; without any, every form had failed before."""
    busy = next((failure for failure in failures if isinstance(failure, PageBusy)), None)
    if busy is not None or not failures:
        return busy or PageUnreadable("broken")
    last = failures[-1]
    if isinstance(last, PageUnreadable):
        return last
    return PageUnreadable(detail=str(last), code=last.code, message=last.message)
