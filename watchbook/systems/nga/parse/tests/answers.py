"""Made-up answers of the forum as bytes, in each of its forms."""

from __future__ import annotations

import json
from typing import Any

NOON = 1_782_532_800  # a moment in the middle of 2026
TOKEN = "#anony_0123456789abcdef0123456789abcdef"
TOKEN_NAME = "甲高傅庚聂涂"
PREFIX = "window.script_muti_get_var_store="


def dumped(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False)


def row(tid: int, **fields: Any) -> dict[str, Any]:
    """A row of a topic list."""
    return {
        "tid": tid,
        "fid": 7,
        "quote_from": 0,
        "author": "测试员",
        "authorid": 4001,
        "subject": f"[讨论]第{tid}个主题",
        "type": 0,
        "postdate": NOON,
        "lastpost": NOON + 600,
        "lastposter": "另一人",
        "replies": 3,
        "lastmodify": NOON + 600,
        "recommend": 0,
        "topic_misc": "",
        "tpcurl": f"/read.php?tid={tid}",
        **fields,
    }


def list_document(*rows: dict[str, Any], **data: Any) -> dict[str, Any]:
    return {
        "data": {
            "__CU": {"uid": 0},
            "__GLOBAL": {"_ATTACH_BASE_VIEW": "img.nga.cn/attachments"},
            "__F": {"fid": 7, "name": "艾泽拉斯议事厅", "topped_topic": 1, "sub_forums": {}},
            "__ROWS": 1000,
            "__T": {str(number): one for number, one in enumerate(rows)},
            "__T__ROWS": len(rows),
            "__T__ROWS_PAGE": 35,
            **data,
        },
        "encode": "gbk",
        "time": NOON,
    }


def post(lou: int, content: Any = "正文", **fields: Any) -> dict[str, Any]:
    """A row of a topic."""
    return {
        "pid": 7000 + lou if lou else 0,
        "tid": 500,
        "fid": 7,
        "lou": lou,
        "authorid": 4001,
        "subject": "[讨论]标题" if lou == 0 else "",
        "content": content,
        "alterinfo": "",
        "postdate": "2026-06-27 12:00",
        "postdatetimestamp": NOON + lou * 60,
        "score": 2,
        "score_2": 0,
        "recommend": 0,
        "type": 33554432 if lou == 0 else 0,
        "content_length": 10,
        "from_client": "7 iOS",
        "attachs": "",
        **fields,
    }


def stub(lou: int, parent: int) -> dict[str, Any]:
    """A note's own floor as JSON shows it."""
    return {
        "pid": 7000 + lou,
        "lou": lou,
        "authorid": 4002,
        "author": "",
        "subject": f"对回复({parent})发表了一条评论",
        "postdate": "2026-06-27 12:30",
        "comment_to_id": parent,
    }


USERS = {
    "4001": {"uid": 4001, "username": "测试员", "medal": 3, "remark": "a\tb"},
    "4002": {"uid": 4002, "username": 123456, "medal": "1,2"},
    "-1": {"uid": 0, "username": TOKEN},
    "-2": {"uid": 0, "username": TOKEN},
    "__GROUPS": {"0": {"0": "学徒", "1": 0, "2": 0}},
    "__MEDALS": {},
    "__REPUTATIONS": {},
}


def topic_document(*posts: dict[str, Any], topic: dict[str, Any] | None = None, **data: Any) -> dict[str, Any]:
    total = max((one["lou"] for one in posts), default=0) + 1
    return {
        "data": {
            "__CU": {"uid": 0},
            "__GLOBAL": {"_ATTACH_BASE_VIEW": "img.nga.cn/attachments"},
            "__U": USERS,
            "__R": {str(number): one for number, one in enumerate(posts)},
            "__T": {
                "fid": 7,
                "tid": 500,
                "subject": "[讨论]标题",
                "author": "测试员",
                "authorid": 4001,
                "type": 0,
                "replies": total - 1,
                "postdate": NOON,
                "lastpost": NOON + 600,
                "digest": 0,
                "locked": 0,
                "topic_misc": "",
                **(topic or {}),
            },
            "__F": {"name": "艾泽拉斯议事厅", "custom_level": ""},
            "__R__ROWS": len(posts),
            "__R__ROWS_PAGE": 20,
            "__ROWS": total,
            "__PAGE": 1,
            **data,
        },
        "encode": "gbk",
        "time": NOON,
    }


def body(document: Any, *, prefix: str = "", encoding: str = "gb18030") -> bytes:
    return (prefix + dumped(document)).encode(encoding)


def other_serialiser(document: dict[str, Any]) -> dict[str, Any]:
    """As `__output=11` writes it: maps with numbers are lists, empty texts are null."""

    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            if value and list(value) == [str(n) for n in range(len(value))]:
                return [turned(item) for item in value.values()]
            return {key: turned(item) for key, item in value.items()}
        return None if value == "" else value

    found: dict[str, Any] = turned(document)
    return found


def refusal(text: str, code: int = 2048) -> dict[str, Any]:
    return {"error": {"0": f"{code}:{text}"}, "data": {"__MESSAGE": {"0": code, "1": text, "3": 200}}, "time": NOON}


def refusal_page(text: str, code: int) -> bytes:
    return (
        f"<html><head><title>{text}</title></head><body>(ERROR:<!--msgcodestart-->{code}<!--msgcodeend-->)"
        f"<!--msginfostart-->{text}<br/><a href='/'>返回</a><!--msginfoend--></body></html>"
    ).encode("gb18030")
