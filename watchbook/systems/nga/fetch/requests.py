"""One request: its address and format, the response, and what a failure means."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from urllib.parse import urlencode, urlsplit

from watchbook.base import sandbox, work
from watchbook.base.store.folder import scratch
from watchbook.base.web import client
from watchbook.base.web.errors import Busy, WebError
from watchbook.base.web.response import Answer, CookieJar
from watchbook.base.work import crash_point
from watchbook.systems.nga import options
from watchbook.systems.nga.errors import Denied, NgaError, PageBusy, PageUnreadable, PastEnd, Paused, TopicGone
from watchbook.systems.nga.parse import ListPage, Refused, TopicPage, page_of_task
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
