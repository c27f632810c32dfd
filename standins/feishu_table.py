"""A Feishu multidimensional table: sign-in of an app, search, batch_create and batch_update, in Feishu's own dialect.

Feishu answers 200 to refusals, too; `code` is 0 for success. `rows` is what the table truly holds.
"""

from __future__ import annotations

import re
import sys
from typing import Any

from standins.process import arguments, run
from standins.server import Answer, Request, Site

APP_ID, APP_SECRET = "cli_made_up", "made-up-secret-of-the-app"
APP, TABLE = "bascnMadeUp", "tblMadeUp"
FIELDS = frozenset({
    "note_id", "title", "content", "author", "type", "tags", "keyword", "link", "liked", "collected", "comments",
    "shared", "published_at", "collected_at",
})  # fmt: skip
SIGN_IN = "/open-apis/auth/v3/tenant_access_token/internal"
_RECORDS = re.compile(r"/open-apis/bitable/v1/apps/(\w+)/tables/(\w+)/records/(search|batch_create|batch_update)")
MOST_RECORDS, MOST_CONDITIONS = 500, 50


class FeishuTable(Site):
    """`rows`: record id -> fields. `full_after` refuses further rows, as a table at its limit does."""

    def __init__(self, *, host: str = "127.0.0.1", port: int = 0) -> None:
        super().__init__(host=host, port=port)
        self.rows: dict[str, dict[str, Any]] = {}
        self.token = "t-made-up-token"
        self.full_after = 20_000

    def respond(self, request: Request) -> Answer:
        if request.method == "POST" and request.path == SIGN_IN:
            return self._sign_in(request.json())
        found = _RECORDS.fullmatch(request.path)
        if request.method != "POST" or found is None:
            return super().respond(request)
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return _refuse(99991663, "Invalid access token")
        if (found[1], found[2]) != (APP, TABLE):
            return _refuse(1254041, "TableIdNotFound")
        return self._search(request.json()) if found[3] == "search" else self._write(found[3], request.json())

    def _sign_in(self, given: dict[str, Any]) -> Answer:
        if (given.get("app_id"), given.get("app_secret")) != (APP_ID, APP_SECRET):
            return _refuse(10014, "app secret invalid")
        return Answer.json({"code": 0, "msg": "ok", "tenant_access_token": self.token, "expire": 7200})

    def _search(self, given: dict[str, Any]) -> Answer:
        conditions = given["filter"]["conditions"]
        if len(conditions) > MOST_CONDITIONS:
            return _refuse(1254018, "InvalidFilter")
        wanted = {value for one in conditions if one["operator"] == "is" for value in one["value"]}
        items = [
            {"record_id": key, "fields": {"note_id": [{"text": row["note_id"], "type": "text"}]}}
            for key, row in self.rows.items()
            if row["note_id"] in wanted
        ]
        return _good({"items": items, "has_more": False, "total": len(items)})

    def _write(self, step: str, given: dict[str, Any]) -> Answer:
        records = given.get("records") or []
        if not records or len(records) > MOST_RECORDS:
            return _refuse(1254104, "RecordAddOnceExceedLimit")
        if unknown := {name for one in records for name in one["fields"]} - FIELDS:
            return _refuse(1254045, f"FieldNameNotFound {min(unknown)}")
        if step == "batch_create" and len(self.rows) + len(records) > self.full_after:
            return _refuse(1254103, "RecordExceedLimit")
        written = []
        for one in records:
            key = one.get("record_id") or f"rec{len(self.rows) + 1:08d}"
            if step == "batch_update" and key not in self.rows:
                return _refuse(1254043, "RecordIdNotFound")
            self.rows[key] = {**self.rows.get(key, {}), **one["fields"]}
            written.append({"record_id": key, "fields": one["fields"]})
        return _good({"records": written})

    def ledger_json(self) -> object:
        return self.rows


def _good(data: dict[str, Any]) -> Answer:
    return Answer.json({"code": 0, "msg": "success", "data": data})


def _refuse(code: int, words: str) -> Answer:
    return Answer.json({"code": code, "msg": words})


def main(argv: list[str] | None = None) -> None:
    given = arguments("feishu", __doc__).parse_args(argv)
    table = FeishuTable(host=given.host, port=given.port)
    run({"url": table.url, "app_token": APP, "table_id": TABLE}, table)


if __name__ == "__main__":
    main(sys.argv[1:])
