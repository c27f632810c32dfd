"""Requests to the forum: addresses, formats, retries, guest check, request count, and the pause of an outage.

reader = BoardReader(requests_per_second=1.0)
page = reader.list_page(7, 1)
topic = reader.topic_page(page.topics[0].tid, 1)
reader.http_request_count
"""

from __future__ import annotations

import logging
import random
import re
from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar
from urllib.parse import urlencode, urlsplit

from watchbook.base import clock, sandbox, work
from watchbook.base.logs import redact
from watchbook.base.store.folder import scratch
from watchbook.base.web import client, rate_limit
from watchbook.base.web.address import check_url
from watchbook.base.web.errors import Busy, WebError
from watchbook.base.web.response import Answer, CookieJar
from watchbook.base.work import crash_point
from watchbook.core.alerts import outage
from watchbook.core.alerts.models import Outage as Row
from watchbook.systems.nga import options
from watchbook.systems.nga.errors import (
    Denied,
    GuestCheckFailed,
    NgaError,
    Outage,
    PageBusy,
    PageError,
    PageUnreadable,
    PastEnd,
    Paused,
    SiteError,
    TopicGone,
)
from watchbook.systems.nga.parse import LayoutChanged, ListPage, Refused, TopicPage, Unreadable, page_of_task
from watchbook.systems.nga.parse.errors import GONE


class Form(StrEnum):
    """In the order in which they are asked for: 11 is the cleanest JSON, 8 is older, pages are last."""

    JSON_11 = "11"
    JSON_8 = "8"
    HTML = "html"


def list_address(fid: int, page: int, form: Form) -> str:
    return _address("thread.php", {"fid": fid, "order_by": "postdatedesc", "page": page}, form)


def author_address(uid: int, page: int, form: Form) -> str:
    """The topics of one author in all boards, newest first."""
    return _address("thread.php", {"authorid": uid, "order_by": "postdatedesc", "page": page}, form)


def replies_address(uid: int, form: Form) -> str:
    """The newest replies of one author in all boards."""
    return _address("thread.php", {"authorid": uid, "searchpost": 1}, form)


def post_address(tid: int, pid: int, form: Form) -> str:
    """One post alone, with its number in the topic."""
    return _address("read.php", {"tid": tid, "pid": pid}, form)


def topic_address(tid: int, page: int, form: Form) -> str:
    return _address("read.php", {"tid": tid, "page": page}, form)


def _address(script: str, asked: dict[str, int | str], form: Form) -> str:
    if form is not Form.HTML:
        asked |= {"__output": form.value}
    return f"{options.BASE_URL.value}/{script}?{urlencode(asked)}"


READ_TASK = "watchbook.systems.nga.parse.records:read_answer_task"
READ_CPU_SECONDS, READ_MEMORY_MB = 20, 512
# Twenty floors of the longest posts are far below this.
LARGEST_ANSWER = 16_000_000
DEADLINE_SECONDS = 40.0
# How long a run waits for its turn at the site before it gives its worker back.
TURN_SECONDS = 30.0
TEMPORARY_STATUSES = frozenset({403, 408, 425, 429})
UNKNOWN_ADDRESS = frozenset({400, 404, 405, 406, 410})
SHORT_MESSAGE = "short-message"


def get(url: str, jar: CookieJar, *, spacing_seconds: float, spend: Callable[[int], None]) -> Answer:
    """An answer of whatever status: refusals come with any. Raises Paused, PageBusy or PageUnreadable."""
    with work.counted() as count:
        try:
            answer = client.get(
                url,
                headers={"User-Agent": options.USER_AGENT.value} if options.USER_AGENT.value else None,
                jar=jar,
                max_bytes=LARGEST_ANSWER,
                deadline_seconds=DEADLINE_SECONDS,
                raise_for_status=False,
                spacing_seconds=spacing_seconds,
                wait_seconds=TURN_SECONDS,
            )
        except Busy as busy:
            raise Paused(busy.detail, retry_after_seconds=busy.retry_after_seconds) from busy
        except WebError as error:
            raise _no_answer(error) from error
        finally:
            spend(count.requests)
    crash_point("nga.fetched")
    return answer


def read(answer: Answer, page: int) -> ListPage | TopicPage:
    """The records of an answer, read in a child. Raises what reading raises: Unreadable, or a TaskError."""
    origin = urlsplit(answer.url)
    with scratch("nga") as folder:
        path = folder / "body"
        path.write_bytes(answer.body)
        told = sandbox.call(
            READ_TASK,
            {
                "content_type": answer.headers.get("content-type", ""),
                "page": page,
                "site": f"{origin.scheme}://{origin.netloc}",
            },
            input_path=str(path),
            cpu_seconds=READ_CPU_SECONDS,
            memory_mb=READ_MEMORY_MB,
        )
    crash_point("nga.parsed")
    return page_of_task(told)


def is_short_message(answer: Answer) -> bool:
    """A message instead of a page, also where the status says 200."""
    return SHORT_MESSAGE in answer.headers.get("x-nga-content-type", "")


def refused(refusal: Refused, answer: Answer) -> NgaError:
    """Return the error for a message of the site."""
    kinds = {"busy": PageBusy, "past_end": PastEnd, "no_results": PastEnd} | dict.fromkeys(GONE, TopicGone)
    if refusal.reason == "unknown" and is_temporary(answer.status):
        return failed(answer, refusal.message)
    return kinds.get(refusal.reason, Denied)(refusal.reason, refusal.message, answer=answer)


def failed(answer: Answer, said: str = "") -> NgaError:
    """Return the error for a status without a message."""
    detail = " ".join(filter(None, [f"status {answer.status}", said]))
    if is_temporary(answer.status):
        return PageBusy("busy", detail, answer=answer)
    if answer.status in UNKNOWN_ADDRESS:
        # The site reports a missing topic in words. This is an address, or a form, that it does not know.
        return PageUnreadable("not_nga", detail, category="http", answer=answer)
    return Denied("no_right", detail, answer=answer)


def is_temporary(status: int) -> bool:
    return status in TEMPORARY_STATUSES or status >= 500


def _no_answer(error: WebError) -> WebError:
    if error.code == "refused" or not (error.is_temporary or error.code in {"too_large", "too_many_redirects"}):
        return error  # the operator's address is not allowed: nothing the forum could help with
    kind = PageBusy if error.is_temporary else PageUnreadable
    return kind(detail=error.detail, category="http", code=error.code, message=error.message, answer=error.answer)


log = logging.getLogger(__name__)
SOURCE = "nga"
# Failed requests in a row after which a run stops asking: then the site is at fault, not a page.
MAX_FAILURES = 3
FIRST_PAUSE, LONGEST_PAUSE = 2.0, 30.0


def pause_seconds(failures: int) -> float:
    """2, 4, 8 … seconds, each between half and one and a half of it, so that workers do not come back together."""
    longest = FIRST_PAUSE * float(2 ** (max(failures, 1) - 1))
    return min(longest, LONGEST_PAUSE) * random.uniform(0.5, 1.5)


def back_off(url: str, failures: int) -> None:
    """Everybody who asks this site waits, not only this worker; the next request holds still until then."""
    if not rate_limit.is_disabled(url):
        rate_limit.pause(check_url(url).site, pause_seconds(failures))


class SharedPause:
    """The pause of an outage that all jobs of the forum share: three failed requests, then one after each pause.

    Without it every job would send three requests of its own while the site is away. Each failure is counted alone,
    because jobs of other processes meet the same outage. The alert is not opened here: `health` does, from the results
    of crawls. `is_forced`: a user asks now, and the end of the pause is not awaited.
    """

    def __init__(self, *, is_forced: bool = False) -> None:
        self.host = urlsplit(options.BASE_URL.value).netloc[:200]
        self._row = Row.objects.filter(source=SOURCE, host=self.host).first()
        self._is_forced = is_forced

    @property
    def later_failure_count(self) -> int:
        """How many requests failed after a pause of this outage."""
        return max(self._row.tries - outage.TRIES[outage.SERVICE], 0) if self._row is not None else 0

    def error(self) -> Outage | None:
        """Return the error to raise instead of a request while the pause lasts."""
        row = self._row
        if row is None or self._is_forced or row.next_try_at is None or row.next_try_at <= clock.now():
            return None
        seconds = (row.next_try_at - clock.now()).total_seconds()
        return Outage(row.reason, retry_after_seconds=seconds)

    def failed(self, failure: NgaError, *, is_first: bool) -> bool:
        """Count a failed request; return True if the run must end: the pause begins, or another job decides.

        `is_first`: the run has no failed request before it. Of jobs that meet an outage together only the one that made
        the row sends more.
        """
        _row, is_mine = Row.objects.get_or_create(source=SOURCE, host=self.host, defaults={"began_at": clock.now()})
        self._row = outage.outage(SOURCE, self.host, failure.message, kind=outage.SERVICE, level="")
        return self._row.next_try_at is not None or (is_first and not is_mine)

    def succeeded(self) -> None:
        if self._row is not None:
            outage.recovered(SOURCE, self.host)
            self._row = None


def is_paused() -> bool:
    """Whether jobs wait for the end of the pause. Scheduled ones then do not start."""
    return SharedPause().error() is not None


class FailureCount:
    """Counts the requests of a run, and those that failed in a row."""

    def __init__(self) -> None:
        self.requests = 0
        self.in_a_row = 0

    def spend(self, requests: int) -> None:
        self.requests += requests

    def reset(self) -> None:
        self.in_a_row = 0


# A pass lasts some ten minutes. A gate that is back after fewer pages than this did not really open.
PAGES_A_PASS_IS_GOOD_FOR = 5

_GUEST = re.compile(rb"guestJs\s{0,9}=\s{0,9}(\d{5,12}(?:_[A-Za-z0-9]{1,64})?)")
_COOKIE = re.compile(r"\s*([^=;\s]+)\s*=\s*([^;]*?)\s*(?:;|\Z)")


class GuestCheck:
    """Holds the cookies of one run: the operator's, and those that the site sets."""

    def __init__(self) -> None:
        self.jar = CookieJar()
        redact.remember(options.COOKIE.value)
        self.jar.put(urlsplit(options.BASE_URL.value).hostname or "", dict(_COOKIE.findall(options.COOKIE.value)))
        self._pages_since: int | None = None

    def pass_check(self, answer: Answer) -> str:
        """Return what to add to the address of the repeated request. Raises GuestCheckFailed if it did not help."""
        if self._pages_since is not None and self._pages_since < PAGES_A_PASS_IS_GOOD_FOR:
            raise GuestCheckFailed(answer=answer)
        self._pages_since = 0
        found = _GUEST.search(answer.body)
        # The older form of the cookie is the time alone.
        token = found[1].decode("ascii") if found else str(int(clock.now().timestamp()))
        redact.remember(options.COOKIE.value)
        self.jar.put(urlsplit(answer.url).hostname or "", {"guestJs": token})
        return f"&rand={random.randint(100, 999)}"

    def was_useful(self) -> None:
        if self._pages_since is not None:
            self._pages_since += 1


Page = TypeVar("Page", ListPage, TopicPage)
Failure = Unreadable | sandbox.TaskError | PageBusy | PageUnreadable
# Pages of replies and of single posts are known as JSON only.
JSON_FORMS = [Form.JSON_11, Form.JSON_8]
SLOWEST = 0.01
FORBIDDEN = 403


class BoardReader:
    """Reads pages for one run; used by one thread.

    A page is requested as JSON (`__output=11`), then `=8`, then HTML. A format that failed where a later one could be
    read is not requested again in this run. After a busy site, a 5xx status or a broken connection the same address is
    requested again with growing, random pauses; after a 403 the next format. After 3 failed requests in a row the site
    is at fault: `Outage`, and every further call raises it without a request. Where two formats of a page cannot be
    read, the third request is for the topic list of `board`: if that can be read, only the page is broken, and its
    third format follows. Without a `board` the next request decides. A topic list that no format gives is an outage,
    if nothing was read before. The guest check is passed once, as a browser does.

    Raises only what `errors.py` draws: SiteError ends the run, PageError concerns that one page. And a plain
    WebError when the operator's address of the forum is not allowed.
    """

    def __init__(
        self, *, requests_per_second: float = 1.0, pause: SharedPause | None = None, board: int | None = None
    ) -> None:
        """`requests_per_second` is the forum's `request_rate_limit_per_sec`, shared by all workers of all processes.

        Jobs give the `pause` that they share: in a known outage one failed request is enough. It has another format
        after each pause, so that an outage ends although the site does not give one of them. `board` is the number of a
        board whose list shows whether only a page is broken or the site is away.
        """
        self._spacing_seconds = 1 / max(requests_per_second, SLOWEST)
        self._failures = FailureCount()
        self._guest_check = GuestCheck()
        self._failed_forms: set[Form] = set()
        self._refused_forms: set[Form] = set()
        self._readable_form = Form.HTML
        self._pause = pause
        self._board = board
        self._ended: SiteError | None = pause.error() if pause else None
        self._has_read = False

    @property
    def http_request_count(self) -> int:
        """Every request that was sent: guest check, retries, other formats, redirects."""
        return self._failures.requests

    def list_page(self, fid: int, page: int) -> ListPage:
        """One page of a board, newest topics first. Past the end: a page without topics."""
        try:
            found = self._in_any_form(
                ListPage, lambda form: list_address(fid, page, form), page, list(Form), is_proof=not self._has_read
            )
        except PastEnd:
            return ListPage(fid, "", (), None, None)
        except (PageBusy, PageUnreadable) as failure:
            if self._has_read or self._failures.in_a_row < MAX_FAILURES:
                raise
            self._fails(failure)
            raise self._end(failure) from failure
        return found

    def author_page(self, uid: int, page: int = 1) -> ListPage:
        """One page of the topics of one author, newest first. Past the end: a page without topics."""
        try:
            return self._in_any_form(ListPage, lambda form: author_address(uid, page, form), page, list(Form))
        except PastEnd:
            return ListPage(0, "", (), None, None)

    def author_replies(self, uid: int) -> ListPage:
        """The newest replies of one author, each as the row of its topic. None of them: a page without topics."""
        try:
            return self._in_any_form(ListPage, lambda form: replies_address(uid, form), 1, JSON_FORMS)
        except PastEnd:
            return ListPage(0, "", (), None, None)

    def post_number(self, tid: int, pid: int) -> int:
        """The number of one post in its topic."""
        view = self._in_any_form(TopicPage, lambda form: post_address(tid, pid, form), 1, JSON_FORMS, tid=tid)
        numbers = {row.source_post_id: row.floor_number for row in view.floors}
        numbers |= {row.source_post_id: row.floor_number for row in view.stubs}
        if pid not in numbers:
            raise PageUnreadable("missing_part", f"post {pid} is not in its own view")
        return numbers[pid]

    def topic_page(self, tid: int, page: int) -> TopicPage:
        """One page of a topic. Whether it is complete is `TopicPage.is_complete(page)`."""
        return self._in_any_form(TopicPage, lambda form: topic_address(tid, page, form), page, list(Form), tid=tid)

    def note_page(self, tid: int, page: int) -> TopicPage:
        """The HTML of a page: there the floors of notes carry their text, which JSON keeps under the parents."""
        return self._in_any_form(TopicPage, lambda form: topic_address(tid, page, form), page, [Form.HTML], tid=tid)

    def _in_any_form(
        self,
        kind: type[Page],
        address: Callable[[Form], str],
        page: int,
        forms: list[Form],
        *,
        tid: int | None = None,
        is_proof: bool = False,
    ) -> Page:
        """`is_proof`: if no format of this page can be read, that shows that the site is away."""
        failed: dict[Form, Failure] = {}
        for form in self._in_order(forms):
            try:
                if not is_proof and self._may_be_away(failed):
                    self._require_list()
                found = self._with_retries(kind, address(form), page)
                if tid is not None and isinstance(found, TopicPage) and found.tid != tid:
                    raise LayoutChanged("not_nga")
            except (Unreadable, sandbox.TaskError) as error:
                self._count_unreadable(error)
                failed[form] = error
            except PageUnreadable as failure:
                self._count_unreadable(failure)
                failed[form] = failure
            except PageBusy as failure:
                if not _is_refused(failure):
                    raise
                failed[form] = failure
            else:
                self._learn(failed)
                self._readable_form = form
                return found
        raise _error_of(list(failed.values()))

    def _in_order(self, forms: list[Form]) -> list[Form]:
        """Return the formats to request. In a known outage only the first is: another one after each pause."""
        left = [form for form in forms if form not in self._failed_forms]
        start = self._pause.later_failure_count % len(left) if self._pause is not None and left else 0
        return left[start:] + left[:start]

    def _with_retries(self, kind: type[Page], url: str, page: int) -> Page:
        """Request an address again while the failure may pass. A refused format is not: the next one follows."""
        while True:
            try:
                return self._once(kind, url, page)
            except SiteError as failure:
                self._ended = failure
                raise
            except PageBusy as failure:
                if self._fails(failure):
                    raise self._end(failure) from failure
                if _is_refused(failure):
                    raise
                back_off(url, self._failures.in_a_row)

    def _may_be_away(self, failed: dict[Form, Failure]) -> bool:
        """Whether the next failed request is the third after unreadable pages: then it must be of another page."""
        is_next_the_last = self._failures.in_a_row == MAX_FAILURES - 1
        return is_next_the_last and not any(isinstance(failure, PageBusy) for failure in failed.values())

    def _require_list(self) -> None:
        """Raise Outage if the list cannot be read either. It has the last format that could be read, else that of all.

        A refusal is enough: then the site is there.
        """
        if self._board is None:
            return
        try:
            self._once(ListPage, list_address(self._board, 1, self._readable_form), 1)
        except SiteError as failure:
            self._ended = failure
            raise
        except (Unreadable, sandbox.TaskError, PageBusy, PageUnreadable) as error:
            found = _error_of([error])
            self._fails(found)
            raise self._end(found) from error
        except PageError as refusal:
            log.info("the list of board %s is refused: %s", self._board, refusal.summary)

    def _count_unreadable(self, error: Failure) -> None:
        """One page may be unreadable in all three formats; when the next one is, too, the site is at fault.

        So the third is not counted yet: the next failed request, of whichever job, begins the pause.
        """
        if self._failures.in_a_row == MAX_FAILURES - 1:
            self._failures.in_a_row += 1
            return
        failure = _error_of([error])
        if self._fails(failure):
            raise self._end(failure) from error

    def _fails(self, failure: PageError) -> bool:
        """Count a failed request; return True if the run must end."""
        self._failures.in_a_row += 1
        is_enough = self._failures.in_a_row >= MAX_FAILURES
        if self._pause is None:
            return is_enough
        return self._pause.failed(failure, is_first=self._failures.in_a_row == 1) or is_enough

    def _end(self, failure: PageError) -> Outage:
        self._ended = Outage(failure.detail, code=failure.code, message=failure.message, answer=failure.answer)
        return self._ended

    def _learn(self, failed: dict[Form, Failure]) -> None:
        """Another format of the same page could be read, so the format failed. A single 403 may be an accident."""
        for form, failure in failed.items():
            if not isinstance(failure, PageBusy) or form in self._refused_forms:
                self._failed_forms.add(form)
            self._refused_forms.add(form)

    def _once(self, kind: type[Page], url: str, page: int) -> Page:
        answer = self._get(url)
        try:
            try:
                found = self._read(answer, page)
            except Refused as refusal:
                if refusal.reason != "guest":
                    raise
                answer = self._get(url + self._guest_check.pass_check(answer))
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
        return get(
            url, self._guest_check.jar, spacing_seconds=self._spacing_seconds, spend=self._failures.spend
        )  # fmt: skip

    def _read(self, answer: Answer, page: int) -> ListPage | TopicPage:
        """A page, or why there is none: the site's words before the status, the status before the shape."""
        try:
            found = read(answer, page)
        except Refused:
            raise
        except (Unreadable, sandbox.TaskError):
            if answer.status >= 400:
                raise failed(answer) from None
            if is_short_message(answer):
                raise Refused("") from None
            raise
        if answer.status >= 400:
            raise failed(answer)
        return found

    def _what_follows(self, refusal: Refused, answer: Answer) -> NgaError:
        if refusal.reason == "guest":
            self._guest_check.pass_check(answer)  # raises: the guest check failed again
        failure = refused(refusal, answer)
        if not isinstance(failure, PageBusy):
            self._was_useful()  # a clear no is an answer: the site is alive
        return failure

    def _was_useful(self) -> None:
        self._has_read = True
        self._failures.reset()
        if self._pause is not None:
            self._pause.succeeded()
        self._guest_check.was_useful()


def _is_refused(failure: PageBusy) -> bool:
    """Sites block one format with this status."""
    return failure.http_error_code == FORBIDDEN


def _error_of(failures: list[Failure]) -> PageError:
    """Return the first temporary error, else the last one; without any, all formats failed before."""
    busy = next((failure for failure in failures if isinstance(failure, PageBusy)), None)
    if busy is not None or not failures:
        return busy or PageUnreadable("broken")
    last = failures[-1]
    if isinstance(last, PageUnreadable):
        return last
    return PageUnreadable(detail=str(last), code=last.code, message=last.message)
