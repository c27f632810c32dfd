"""Attachments: kept by digest, seen by who may see the page, never run by a browser, gone when nothing shows them."""

from __future__ import annotations

import io
from datetime import timedelta
from hashlib import sha256
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from PIL import Image

from watchbook.base import clock
from watchbook.base.files import safe_name
from watchbook.base.store import blobs
from watchbook.base.store.models import Blob, BlobReference
from watchbook.base.testing.people import client_of
from watchbook.systems.library import actions
from watchbook.systems.library.errors import NotFound, Wrong
from watchbook.systems.library.models import Attachment, AttachmentUse, Page, Thumbnail, TrashBatch
from watchbook.systems.library.store import attachments, owned_workspaces, references, trash
from watchbook.systems.library.store.publish import file_path
from watchbook.systems.library.tests.conftest import make_space, make_workspace
from watchbook.systems.library.tests.pictures import HOSTILE, picture
from watchbook.systems.library.tests.test_pages import url

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(desk) -> Page:
    return desk.file("Pier", desk.folder("Harbour"))


def figure(attachment: Attachment) -> str:
    return f'<figure><img src="{file_path(attachment)}" alt="Pier"><figcaption>High tide</figcaption></figure>'


def save(user, page: Page, content: str) -> Page:
    return actions.save_page(user, page.pk, version=Page.objects.get(pk=page.pk).version, content=content)


def read(user, attachment: Attachment, query: str = ""):
    return client_of(user).get(file_path(attachment) + query)


def clean_now() -> int:
    """What the nightly job removes, two days from now."""
    owned = owned_workspaces()
    removed = attachments.forget_uses(owned)
    return removed + attachments.remove_unused(owned, clock.now() + timedelta(days=3))


class TestUpload:
    def test_picture_is_kept_by_digest_and_shown_to_members_only(self, desk, page):
        body = picture(50, 20)
        sent = client_of(desk.wanda).post(url("upload", page.pk), {"file": SimpleUploadedFile("港 1.png", body)})
        assert sent.status_code == 201, sent.text
        told = sent.json()
        kept = Attachment.objects.get(pk=told["id"])
        assert told == {
            "id": str(kept.pk), "url": file_path(kept), "name": "港 1.png", "type": "image/png", "size": len(body),
            "width": 50, "height": 20,
        }  # fmt: skip
        assert blobs.read(sha256(body).hexdigest(), limit=10**6) == body
        got = read(desk.rene, kept)
        assert (got.status_code, got.headers["Content-Type"], got.getvalue()) == (200, "image/png", body)
        assert got.headers["Content-Disposition"].startswith("inline")
        again = client_of(desk.rene).get(told["url"], headers={"If-None-Match": got.headers["ETag"]})
        assert again.status_code == 304
        assert read(desk.xaver, kept).status_code == read(desk.otto, kept).status_code == 404
        assert Client().get(told["url"]).status_code == 302

    def test_same_bytes_are_stored_once(self, desk, page):
        first, second = (actions.upload(desk.wanda, page.pk, [picture()], name) for name in ("a.png", "b.png"))
        assert first.sha256 == second.sha256
        assert Blob.objects.filter(pk=first.sha256).count() == 1
        assert BlobReference.objects.filter(blob_id=first.sha256).count() == 2

    def test_readers_and_other_users_cannot_upload(self, desk, page):
        for user, status in ((desk.rene, 403), (desk.xaver, 404)):
            sent = client_of(user).post(url("upload", page.pk), {"file": SimpleUploadedFile("a.png", picture())})
            assert sent.status_code == status
        assert Attachment.objects.count() == 0

    def test_limits_of_one_file_and_of_the_workspace(self, desk, page, monkeypatch):
        monkeypatch.setenv("LIBRARY_ATTACHMENT_MEGABYTES", "1")
        monkeypatch.setenv("LIBRARY_QUOTA_MEGABYTES", "1")
        with pytest.raises(Wrong) as refused:
            actions.upload(desk.wanda, page.pk, [b"0" * 600_000, b"1" * 600_000], "large.bin")
        assert refused.value.code == "too_large"
        actions.upload(desk.wanda, page.pk, [b"0" * 600_000], "first.bin")
        with pytest.raises(Wrong) as refused:
            actions.upload(desk.wanda, page.pk, [b"1" * 600_000], "second.bin")
        assert refused.value.code == "quota"
        with pytest.raises(Wrong) as refused:
            actions.upload(desk.wanda, page.pk, [], "empty.bin")
        assert refused.value.code == "empty"
        assert Attachment.objects.count() == 1

    @pytest.mark.parametrize("name", HOSTILE)
    def test_nothing_that_a_browser_could_run_is_shown_inline(self, desk, page, name):
        kept = actions.upload(desk.wanda, page.pk, [HOSTILE[name]], name)
        got = read(desk.wanda, kept)
        assert got.getvalue() == HOSTILE[name]
        if not kept.is_picture:
            assert got.headers["Content-Disposition"].startswith("attachment")
            assert got.headers["Content-Type"] in ("application/octet-stream", "text/plain; charset=utf-8")
        else:
            assert got.headers["Content-Type"] == "image/gif"
            assert name == "both.gif"
        assert got.headers["X-Content-Type-Options"] == "nosniff"
        assert "sandbox" in got.headers["Content-Security-Policy"]
        assert "script-src" not in got.headers["Content-Security-Policy"]

    @pytest.mark.parametrize(
        ("given", "kept"),
        [("../../etc/passwd", "passwd"), ("a\\b\\c.png", "c.png"), ("", "file"), ("x\0y\n.png", "x_y_.png"),
         ("..", "file"), ("潮" * 200 + ".jpeg", "潮" * 65 + ".jpeg")],
    )  # fmt: skip
    def test_names_are_names(self, given, kept):
        assert safe_name(given) == kept

    def test_thumbnails_are_made_once_and_only_in_some_sizes(self, desk, page):
        kept = actions.upload(desk.wanda, page.pk, [picture(900, 600)], "pier.png")
        for _again in range(2):
            got = read(desk.rene, kept, "?size=320")
            assert got.headers["Content-Type"] == "image/webp"
            with Image.open(io.BytesIO(got.getvalue())) as small:
                assert small.size == (320, 213)
        assert Thumbnail.objects.count() == 1
        assert set(BlobReference.objects.values_list("blob_id", flat=True)) == {
            kept.sha256, Thumbnail.objects.get().sha256,
        }  # fmt: skip
        assert read(desk.rene, kept, "?size=1280").headers["Content-Type"] == "image/png", "it is smaller than that"
        assert read(desk.rene, kept, "?size=321").status_code == 422

    def test_api_uploads_lists_and_removes(self, desk, page):
        client = client_of(desk.wanda)
        folder = f"/api/v1/library/pages/{page.parent_page_id}/files"
        made = client.post(folder, {"file": SimpleUploadedFile("a.pdf", b"%PDF-1.7 x")})
        assert (made.status_code, made.json()["type"], made.json()["width"]) == (201, "application/pdf", None)
        one = f"/api/v1/library/files/{made.json()['id']}"
        assert client.get(one).json() == made.json() == client.get(folder).json()["items"][0]
        assert client.get(f"{one}/content").getvalue() == b"%PDF-1.7 x"
        assert client_of(desk.rene).delete(one).status_code == 403
        assert client.delete(one).status_code == 204
        assert client.get(folder).json()["items"] == []
        assert clean_now() == 1


class TestUse:
    def test_version_keeps_its_picture_until_it_is_gone(self, desk, page):
        kept = actions.upload(desk.wanda, page.pk, [picture()], "pier.png")
        save(desk.wanda, page, figure(kept))
        save(desk.wanda, page, "<p>No picture</p>")
        use = AttachmentUse.objects.get()
        assert (use.first_number, use.last_number) == (2, 2)
        assert clean_now() == 0
        history = client_of(desk.rene).get(url("history", page.pk) + "?old=1&new=2").text
        assert file_path(kept) in history
        assert read(desk.rene, kept).status_code == 200
        actions.restore_version(desk.wanda, page.pk, 2)
        assert list(AttachmentUse.objects.order_by("pk").values_list("first_number", "last_number")) == [
            (2, 2),
            (4, None),
        ]
        assert clean_now() == 0
        actions.trash_page(desk.wanda, page.pk)
        assert clean_now() == 0
        actions.purge_page(desk.olga, page.pk)
        trash.remove_piece(TrashBatch.objects.get())
        assert clean_now() == 1
        assert not BlobReference.objects.exists()

    def test_attachment_that_no_text_shows_goes_after_two_days(self, desk, page):
        actions.upload(desk.wanda, page.pk, [b"words"], "draft.txt")
        actions.upload(desk.wanda, page.parent_page_id, [b"words"], "in the folder.txt")
        assert attachments.remove_unused(owned_workspaces(), clock.now() - timedelta(days=2)) == 0
        assert clean_now() == 1
        assert Attachment.objects.get().name == "in the folder.txt"

    def test_address_of_a_file_opens_nothing_to_who_could_not_see_it(self, desk, page):
        hidden = actions.create_space(desk.olga, desk.workspace.pk, "Hidden")
        folder = actions.create_page(desk.olga, hidden.pk, title="F", node_type="folder")
        kept = actions.upload(desk.olga, folder.pk, [picture()], "secret.png")
        save(desk.wanda, page, figure(kept))
        assert AttachmentUse.objects.count() == 0
        assert read(desk.wanda, kept).status_code == 404
        save(desk.olga, page, figure(kept) + "<p>Now for all</p>")
        assert read(desk.wanda, kept).status_code == 200

    def test_share_link_shows_the_pictures_of_the_page_as_it_is_now(self, desk, page):
        kept = actions.upload(desk.wanda, page.pk, [picture()], "pier.png")
        other = actions.upload(desk.wanda, page.pk, [picture(9, 9)], "other.png")
        save(desk.wanda, page, figure(kept))
        _link, token = actions.share_page(desk.wanda, page.pk)
        text = Client().get(f"/library/shared/{token}/").text
        address = f"/library/shared/{token}/files/{kept.pk}/pier.png"
        assert f'src="{address}"' in text
        assert Client().get(address).getvalue() == picture()
        assert Client().get(f"/library/shared/{token}/files/{other.pk}/other.png").status_code == 404
        assert Client().get(f"/library/shared/nothing/files/{kept.pk}/pier.png").status_code == 404
        save(desk.wanda, page, "<p>Without</p>")
        assert Client().get(address).status_code == 404

    def test_copy_and_move_keep_the_pictures(self, desk, page):
        kept = actions.upload(desk.wanda, page.pk, [picture()], "pier.png")
        save(desk.wanda, page, figure(kept))
        copy = actions.duplicate_page(desk.wanda, page.pk)
        assert set(AttachmentUse.objects.values_list("page_id", flat=True)) == {page.pk, copy.pk}
        other = make_space(desk.people, make_workspace(desk.people, "Other"), "Elsewhere")
        target = actions.create_page(desk.olga, other.pk, title="F", node_type="folder")
        actions.move_page(desk.olga, page.pk, parent_page_id=target.pk, space_id=other.pk)
        assert Attachment.objects.get().workspace_id == other.workspace_id
        assert read(desk.olga, kept).status_code == 200

    def test_saving_without_a_change_of_files_costs_two_queries_more(self, desk, page, django_assert_num_queries):
        kept = actions.upload(desk.wanda, page.pk, [picture()], "pier.png")
        saved = save(desk.wanda, page, figure(kept))
        with django_assert_num_queries(2):
            references.record_saved(saved, desk.wanda)


def test_unknown_attachment_is_not_found(desk):
    with pytest.raises(NotFound):
        actions.open_attachment(desk.olga, uuid4())
