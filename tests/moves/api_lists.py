"""What the API answers for every list, as a digest for each: python -m tests.moves.api_lists TOKEN.

Lists with a name in their path are asked for the first items of the list above them. Two pages of each.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import django

ITEMS = 3
PAGES = 2
# About the process that answers, or about this moment.
LEFT_OUT = re.compile(r"/(jobs/workers|operations|health|export|settings)")


def lists(document: Any) -> list[str]:
    """Paths whose answer has `items`, shortest first, so that a list comes before the lists below it."""
    found = []
    for path, operations in document["paths"].items():
        answer = operations.get("get", {}).get("responses", {})
        content = (answer.get(200) or answer.get("200") or {}).get("content", {}).get("application/json", {})
        name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
        properties = document["components"]["schemas"].get(name, {}).get("properties", {})
        if "items" in properties and not LEFT_OUT.search(path):
            found.append(path)
    return sorted(found, key=lambda path: (path.count("{"), path))


class Reader:
    def __init__(self, token: str) -> None:
        from django.test import Client

        self.client = Client(SERVER_NAME="127.0.0.1", HTTP_AUTHORIZATION=f"Bearer {token}")
        self.items: dict[str, list[Any]] = {}

    def ask(self, path: str) -> tuple[int, Any]:
        response = self.client.get(path)
        return response.status_code, response.json()

    def paths(self, template: str) -> Iterator[str]:
        """The path itself, or one for each of the first items of the list above it."""
        if "{" not in template:
            yield template
            return
        head, _, rest = template.partition("{")
        name, _, tail = rest.partition("}")
        if "{" in tail:
            return
        for item in self.items.get(head.rstrip("/"), [])[:ITEMS]:
            value = next((item[key] for key in (name, f"source_{name}", "source_thread_id", "id") if key in item), None)
            if value is not None:
                yield f"{head}{value}{tail}"

    def digests(self, templates: list[str]) -> Iterator[tuple[str, str, int]]:
        for template in templates:
            for path in self.paths(template):
                whole, count, address = hashlib.sha256(), 0, path
                for _ in range(PAGES):
                    status, answer = self.ask(address)
                    # `meta` names this request.
                    said = {key: answer[key] for key in answer if key != "meta"} if isinstance(answer, dict) else answer
                    whole.update(json.dumps([status, said], sort_keys=True).encode())
                    found = answer.get("items", []) if isinstance(answer, dict) else []
                    if not count:
                        self.items[path.rstrip("/")] = found
                    count += len(found)
                    cursor = answer.get("next") if isinstance(answer, dict) else None
                    if not cursor:
                        break
                    address = f"{path}?cursor={cursor}"
                yield path, whole.hexdigest(), count


def main() -> None:
    django.setup()
    from tests.api_document import openapi_document
    from watchbook.base import clock

    with clock.set_to(datetime(2026, 12, 1, tzinfo=UTC)):
        found = Reader(sys.argv[1]).digests(lists(openapi_document()))
        json.dump({path: [digest, count] for path, digest, count in found}, sys.stdout)


if __name__ == "__main__":
    main()
