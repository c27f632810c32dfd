"""Clips beside their sources: what changed since, an update merged with what members wrote, and kept pictures."""

from __future__ import annotations

from hashlib import sha256

import pytest

from watchbook.base.store import blobs
from watchbook.base.testing.people import client_of
from watchbook.core import registry
from watchbook.core.media.models import FileReference, FileState, KeptFile
from watchbook.systems.library import actions
from watchbook.systems.library.errors import NotFound, VersionConflict
from watchbook.systems.library.models import Attachment, AttachmentUse, Page, PageOrigin, PageVersion
from watchbook.systems.library.tests import clipping
from watchbook.systems.library.tests.pictures import picture

pytestmark = pytest.mark.django_db


@pytest.fixture
def item(clips, monkeypatch):
    """Change the made-up item: item(html="<p>4 m</p>", version="9")."""
    return lambda **values: [monkeypatch.setitem(clipping.ITEM, name, value) for name, value in values.items()]


@pytest.fixture
def saved(desk, item):
    item(html="<p>3 m at noon</p><p>calm</p>")
    return actions.clip(desk.wanda, kind="library_test", object_id="1", space_id=desk.space.pk)


def test_clip_says_how_many_versions_the_source_had_since(desk, saved, item):
    state = actions.source_state(desk.rene, saved)
    assert (state.has_changed, state.versions_since) == (False, 0)
    item(html="<p>4 m at noon</p><p>calm</p>", version="10")
    shown = client_of(desk.rene).get(f"/library/pages/{saved.pk}/").content.decode()
    assert "3 versions since: compare" in shown
    answer = client_of(desk.rene).get(f"/api/v1/library/pages/{saved.pk}/source").json()
    assert (answer["has_changed"], answer["versions_since"], answer["source_version"]) == (True, 3, "10")
    item(version="tide-b")
    assert actions.source_state(desk.rene, saved).versions_since == 0
    assert "changed since: compare" in client_of(desk.rene).get(f"/library/pages/{saved.pk}/").content.decode()


def test_update_keeps_what_members_changed(desk, saved, item):
    actions.save_page(desk.wanda, saved.pk, version=1, content=saved.content.replace("calm", "calm, says Ada"))
    item(html="<p>4 m at noon</p><p>calm</p>", version="8")
    state, difference = actions.compare_source(desk.rene, saved.pk)
    assert state.versions_since == 1
    assert (difference.added, difference.removed) != (0, 0)
    assert client_of(desk.wanda).get(f"/library/pages/{saved.pk}/source/").status_code == 200
    client_of(desk.wanda).post(f"/library/pages/{saved.pk}/source/")
    now = Page.objects.get(pk=saved.pk)
    assert "4 m at noon" in now.content
    assert "calm, says Ada" in now.content
    assert PageOrigin.objects.get(page=saved).version == "8"
    assert not actions.source_state(desk.rene, now).has_changed
    # The next update begins at this one.
    item(html="<p>5 m at noon</p><p>calm</p>", version="9")
    assert "5 m at noon" in actions.update_clip(desk.wanda, saved.pk).content


def test_same_words_changed_on_both_sides_need_a_choice(desk, saved, item):
    actions.save_page(desk.wanda, saved.pk, version=1, content=saved.content.replace("3 m", "33 m"))
    item(html="<p>4 m at noon</p><p>calm</p>", version="8")
    with pytest.raises(VersionConflict):
        actions.update_clip(desk.wanda, saved.pk)
    shown = client_of(desk.wanda).post(f"/library/pages/{saved.pk}/source/").content.decode()
    assert "piece-" in shown
    assert PageVersion.objects.filter(page=saved).count() == 2
    assert PageOrigin.objects.get(page=saved).version == "7"


def test_item_that_is_gone_is_no_change(desk, saved, item):
    item(is_gone=True)
    state = actions.source_state(desk.rene, saved)
    assert (state.item, state.has_changed) == (None, False)
    with pytest.raises(NotFound):
        actions.compare_source(desk.rene, saved.pk)
    assert "gone or not visible" in client_of(desk.rene).get(f"/library/pages/{saved.pk}/").content.decode()


def kept_picture(tmp_path, key: str) -> KeptFile:
    path = tmp_path / "picture"
    path.write_bytes(picture())
    blob = blobs.put(path)
    return KeptFile.objects.create(
        key=key, url="https://example.org/a.png", state=FileState.KEPT, sha256=blob.sha256, media_type="image/png",
        size=path.stat().st_size, width=40, height=30, is_picture=True,
    )  # fmt: skip


@pytest.mark.parametrize("is_visible", [True, False])
def test_kept_pictures_come_along_for_who_may_see_them(desk, item, tmp_path, monkeypatch, is_visible):
    address = "https://example.org/a.png"
    file = kept_picture(tmp_path, sha256(address.encode()).hexdigest())
    FileReference.objects.create(file=file, system="tides", object_id="1")
    tides = next(source for source in registry.sources() if source.slug == "tides")
    monkeypatch.setattr(registry, "source", lambda _slug: tides)
    item(html=f'<p><img src="{address}" alt="Pier"></p>', is_visible=is_visible)
    page = actions.clip(desk.wanda, kind="library_test", object_id="1", space_id=desk.space.pk)
    assert Attachment.objects.count() == AttachmentUse.objects.count() == int(is_visible)
    assert ("/library/files/" in page.content) is is_visible
    assert (address in page.content) is not is_visible
    if is_visible:
        made = Attachment.objects.get()
        assert (made.sha256, made.home_id) == (file.sha256, page.pk)
        assert actions.open_attachment(desk.rene, made.pk)
