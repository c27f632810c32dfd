"""Object storage that speaks S3: one bucket in memory, every signature checked, and a ledger of what it holds.

with ObjectStorage() as storage:
    ...  # put, get, head, list and delete through any S3 client
    assert storage.objects["prefix/name"] == b"..."
"""

from __future__ import annotations

import hashlib
import hmac
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, quote
from xml.sax.saxutils import escape

from standins.messages import Answer, Request
from standins.process import arguments, run
from standins.server import Site

KEY_ID, SECRET, REGION, BUCKET = "stand-in-key", "stand-in-secret", "us-east-1", "watchbook"
_CREDENTIAL = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, ?SignedHeaders=([^,]+), ?Signature=(\w{64})"
)


class ObjectStorage(Site):
    """Answers 403 to a wrong signature, a wrong key and a body that is not the one that was signed."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.objects: dict[str, bytes] = {}
        self.changed_at: dict[str, datetime] = {}
        self._uploads: dict[str, dict[int, bytes]] = {}

    def respond(self, request: Request) -> Answer:
        if not is_signed(request):
            return _error(403, "SignatureDoesNotMatch")
        bucket, _, name = request.path.lstrip("/").partition("/")
        if bucket != BUCKET:
            return _error(404, "NoSuchBucket")
        query = dict(parse_qsl(request.query, keep_blank_values=True))
        if not name:
            return self._delete_many(request) if "delete" in query else self._list(query)
        if "uploads" in query or "uploadId" in query:
            return self._multipart(request, name, query)
        return self._object(request, name)

    def _object(self, request: Request, name: str) -> Answer:
        if request.method == "PUT":
            self._keep(name, request.body)
            return Answer(200, b"", headers=(("ETag", _etag(request.body)),))
        if request.method == "DELETE":
            self.objects.pop(name, None)
            return Answer(204, b"")
        if name not in self.objects:
            return _error(404, "NoSuchKey")
        stamp = self.changed_at[name].strftime("%a, %d %b %Y %H:%M:%S GMT")
        return Answer(
            200,
            self.objects[name],
            headers=(("ETag", _etag(self.objects[name])), ("Last-Modified", stamp)),
            content_type="application/octet-stream",
        )

    def _multipart(self, request: Request, name: str, query: dict[str, str]) -> Answer:
        if "uploads" in query:
            number = f"upload-{len(self._uploads) + 1}"
            self._uploads[number] = {}
            return _xml("InitiateMultipartUploadResult", f"<Key>{escape(name)}</Key><UploadId>{number}</UploadId>")
        parts = self._uploads.get(query["uploadId"])
        if parts is None:
            return _error(404, "NoSuchUpload")
        if request.method == "PUT":
            parts[int(query["partNumber"])] = request.body
            return Answer(200, b"", headers=(("ETag", _etag(request.body)),))
        if request.method == "POST":
            self._keep(name, b"".join(parts[number] for number in sorted(parts)))
        del self._uploads[query["uploadId"]]
        return _xml("CompleteMultipartUploadResult", f"<ETag>{_etag(self.objects.get(name, b''))}</ETag>")

    def _delete_many(self, request: Request) -> Answer:
        names = re.findall(r"<Key>([^<]*)</Key>", request.body.decode())
        for name in names:
            self.objects.pop(name, None)
        return _xml("DeleteResult", "".join(f"<Deleted><Key>{name}</Key></Deleted>" for name in names))

    def _list(self, query: dict[str, str]) -> Answer:
        found = [name for name in sorted(self.objects) if name.startswith(query.get("prefix", ""))]
        rows = "".join(
            f"<Contents><Key>{escape(name)}</Key><Size>{len(self.objects[name])}</Size>"
            f"<LastModified>{self.changed_at[name]:%Y-%m-%dT%H:%M:%S.000Z}</LastModified>"
            f"<ETag>{_etag(self.objects[name])}</ETag></Contents>"
            for name in found
        )
        return _xml("ListBucketResult", f"<IsTruncated>false</IsTruncated><KeyCount>{len(found)}</KeyCount>{rows}")

    def _keep(self, name: str, body: bytes) -> None:
        self.objects[name] = body
        self.changed_at[name] = datetime.now(UTC)

    def lose(self, name: str) -> None:
        self.objects.pop(name, None)

    def actions(self) -> dict[str, Callable[..., Any]]:
        return {"lose": self.lose}

    def ledger_json(self) -> object:
        return {name: hashlib.sha256(body).hexdigest() for name, body in self.objects.items()}


def is_signed(request: Request) -> bool:
    """AWS Signature Version 4 over method, path, query, headers and the digest of the body."""
    said = _CREDENTIAL.fullmatch(request.headers.get("Authorization"))
    if said is None or said[1] != KEY_ID:
        return False
    digest = request.headers.get("x-amz-content-sha256")
    if digest not in ("UNSIGNED-PAYLOAD", hashlib.sha256(request.body).hexdigest()):
        return False
    _, day, region, names, signature = said.groups()
    pairs = sorted((quote(a, safe="-_.~"), quote(b, safe="-_.~")) for a, b in parse_qsl(request.query, True))
    query = "&".join(f"{name}={value}" for name, value in pairs)
    headers = "".join(f"{name}:{request.headers.get(name).strip()}\n" for name in names.split(";"))
    path = request.target.partition("?")[0]
    canonical = "\n".join([request.method, path, query, headers, names, digest])
    scope = f"{day}/{region}/s3/aws4_request"
    stamp = request.headers.get("x-amz-date")
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{SECRET}".encode()
    for word in (day, region, "s3", "aws4_request"):
        key = hmac.new(key, word.encode(), hashlib.sha256).digest()
    return hmac.compare_digest(hmac.new(key, text.encode(), hashlib.sha256).hexdigest(), signature)


def _etag(body: bytes) -> str:
    return f'"{hashlib.md5(body).hexdigest()}"'


def _xml(root: str, inside: str, status: int = 200) -> Answer:
    body = f'<?xml version="1.0" encoding="UTF-8"?><{root}>{inside}</{root}>'
    return Answer(status, body.encode(), content_type="application/xml")


def _error(status: int, code: str) -> Answer:
    return _xml("Error", f"<Code>{code}</Code><Message>{code}</Message>", status)


def main(argv: list[str] | None = None) -> None:
    given = arguments("storage", __doc__).parse_args(argv)
    storage = ObjectStorage(host=given.host, port=given.port)
    run({"url": storage.url, "bucket": BUCKET}, storage)


if __name__ == "__main__":
    main(sys.argv[1:])
