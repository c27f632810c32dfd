"""Pictures, live photos and videos of notes: kept before their addresses end, deleted with the note."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from standins.note_platform import shapes
from watchbook.base.store import blobs
from watchbook.base.testing.pages import squeezed
from watchbook.core.jobs.runner import run_now
from watchbook.core.media.models import FileState, KeptFile
from watchbook.core.media.store import files_of
from watchbook.systems.notes import actions
from watchbook.systems.notes.jobs.collect import collect
from watchbook.systems.notes.models import Note
from watchbook.systems.notes.tests.browser import get, reader
from watchbook.systems.notes.tests.data import offer

pytestmark = pytest.mark.django_db
__all__ = ["reader"]
ENDS = 0x6F000000


def take(*entries) -> None:
    offer(*entries)
    collect()


def fetch():
    run = run_now("media.fetch")
    assert run.state == "done", run.error
    return run.progress


def test_best_quality_of_every_file_is_kept_with_the_end_of_its_address(platform, pool):
    pool()
    entry = platform.add("Lantern", kind="video", pictures=2, is_live=True, ends=ENDS)
    take(entry)
    files = files_of("notes", [entry.note_id])[entry.note_id]
    assert [(one.role, one.file.url.rpartition("/")[2].partition("?")[0]) for one in files] == [
        ("picture", "0.jpg"),
        ("live_photo", "0.mov"),
        ("picture", "1.jpg"),
        ("live_photo", "1.mov"),
        ("video", "v.mp4"),
    ]
    assert {one.file.use_before for one in files} == {datetime.fromtimestamp(ENDS, UTC)}
    assert files[-1].file.others == [entry.file("backup-v.mp4")]
    assert fetch()["kept"] == 5
    kept = {one.role: one.file for one in files_of("notes", [entry.note_id])[entry.note_id]}
    assert blobs.read(kept["picture"].sha256, limit=10**6) == shapes.picture(f"{entry.note_id}/1.jpg")
    assert (kept["picture"].width, kept["picture"].height, kept["video"].media_type) == (360, 450, "video/mp4")


def test_pages_show_what_is_kept_and_say_what_is_not(platform, pool, reader):
    pool()
    kept, lost = platform.add("Lantern one", kind="video"), platform.add("Lantern two")
    take(kept, lost)
    assert "waiting to be saved" in squeezed(get(reader, "notes").content.decode())
    KeptFile.objects.filter(references__object_id=lost.note_id).update(state=FileState.TOO_LARGE)
    fetch()
    picture, video = files_of("notes", [kept.note_id])[kept.note_id]
    grid = squeezed(get(reader, "notes").content.decode())
    assert f'src="{picture.file.path}?size=640"' in grid
    assert "not saved: too large" in grid
    assert "2 saved" in grid
    page = reader.get(f"/notes/note/{kept.note_id}/").content.decode()
    assert f'src="{picture.file.path}?size=640"' in page
    assert f'<video src="{video.file.path}"' in " ".join(page.split())
    assert reader.get(picture.file.path).status_code == 200
    plain = squeezed(reader.get("/notes/notes/?view=list").content.decode())
    assert 'class="gallery"' not in plain
    assert "Lantern one" in plain


def test_list_of_notes_asks_once_for_all_files(platform, pool, reader, django_assert_max_num_queries):
    pool()
    take(*platform.add_many(3))
    get(reader, "notes")
    with django_assert_max_num_queries(40) as few:
        get(reader, "notes")
    Note.objects.all().delete()
    take(*platform.add_many(9, "Lantern more"))
    with django_assert_max_num_queries(len(few)):
        get(reader, "notes")


def test_deleted_note_leaves_no_file(platform, pool):
    pool()
    entry = platform.add("Lantern")
    take(entry)
    fetch()
    actions.delete_note(entry.note_id)
    assert not KeptFile.objects.exists()


def test_switch_stores_addresses_only(platform, pool, monkeypatch):
    monkeypatch.setenv("NOTES_MEDIA", "off")
    pool()
    entry = platform.add("Lantern")
    take(entry)
    fetch()
    assert (KeptFile.objects.get().state, platform.log.count(f"/media/{entry.note_id}/0.jpg")) == (FileState.OFF, 0)


def test_other_addresses_of_a_commit_are_kept_or_named(n8n):
    actions.add_candidates({"items": [{"note_id": "a1"}]})
    got = n8n.post("workflow/acquire", {"workflow_name": "collect"})
    held = {"execution_id": got["execution_id"], "fence": got["fence"]} if "fence" in got else got["data"]
    held = {name: held[name] for name in ("execution_id", "fence")}
    n8n.post("workflow/claim", held)
    video = {
        "kind": "video",
        "url": "https://m.example.com/v.mp4",
        "others": ["https://n.example.com/v.mp4", "ftp://x"],
    }
    done = n8n.post("workflow/commit", {**held, "note_id": "a1", "result": {"title": "T", "media": [video]}})
    assert "media.0.others" in str(done)
    assert KeptFile.objects.get().others == ["https://n.example.com/v.mp4"]
