from __future__ import annotations

import gzip

import pytest
from django.http import FileResponse, HttpResponse, StreamingHttpResponse
from django.test import RequestFactory

from watchbook.core.ops.middleware import Compression

LONG = b"lantern " * 1000


def sent(response, *, method="get", accepts="gzip"):
    request = getattr(RequestFactory(), method)("/", headers={"Accept-Encoding": accepts})
    return Compression(lambda _request: response)(request)


def test_text_is_compressed_for_those_who_accept_it():
    response = sent(HttpResponse(LONG))
    assert response["Content-Encoding"] == "gzip"
    assert gzip.decompress(response.content) == LONG
    assert len(response.content) < len(LONG) / 10
    assert "Accept-Encoding" in response["Vary"]
    assert "Content-Encoding" not in sent(HttpResponse(LONG), accepts="")


def test_two_responses_of_one_text_differ_in_length():
    lengths = {len(sent(HttpResponse(LONG)).content) for _attempt in range(40)}
    assert len(lengths) > 1


@pytest.mark.parametrize(
    ("response", "method"),
    [
        (HttpResponse(LONG), "post"),
        (HttpResponse(LONG, content_type="image/png"), "get"),
        (HttpResponse(LONG, content_type="application/zip"), "get"),
        (StreamingHttpResponse([LONG], content_type="text/event-stream"), "get"),
    ],
)
def test_secrets_files_and_events_are_sent_as_they_are(response, method):
    assert "Content-Encoding" not in sent(response, method=method)


def test_long_list_is_compressed_while_it_is_sent():
    response = sent(StreamingHttpResponse(iter([LONG, LONG]), content_type="text/csv"))
    assert response["Content-Encoding"] == "gzip"
    assert gzip.decompress(b"".join(response.streaming_content)) == LONG * 2


def test_picture_keeps_its_length(tmp_path):
    (tmp_path / "a.png").write_bytes(LONG)
    with (tmp_path / "a.png").open("rb") as file:
        response = sent(FileResponse(file))
        assert response["Content-Length"] == str(len(LONG))
