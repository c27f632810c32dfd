"""The three forms in which the forum gives the same page, and the address of each."""

from __future__ import annotations

from enum import StrEnum
from urllib.parse import urlencode

from watchbook.sources.nga import options


class Form(StrEnum):
    """In the order in which they are asked for: 11 is the cleanest JSON, 8 is older, pages are last."""

    JSON_11 = "11"
    JSON_8 = "8"
    HTML = "html"


def list_address(fid: int, page: int, form: Form) -> str:
    return _address("thread.php", {"fid": fid, "order_by": "postdatedesc", "page": page}, form)


def topic_address(tid: int, page: int, form: Form) -> str:
    return _address("read.php", {"tid": tid, "page": page}, form)


def _address(script: str, asked: dict[str, int | str], form: Form) -> str:
    if form is not Form.HTML:
        asked |= {"__output": form.value}
    return f"{options.BASE_URL.value}/{script}?{urlencode(asked)}"
