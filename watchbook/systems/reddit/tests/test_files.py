"""Pictures of posts: kept once, shown from here, deleted with the post, never of posts marked NSFW."""

from __future__ import annotations

import orjson
import pytest

from standins.note_platform.shapes import picture
from watchbook.base.store import blobs
from watchbook.base.store.models import BlobReference
from watchbook.core.jobs.runner import run_now
from watchbook.core.media.models import FileReference, FileState, KeptFile
from watchbook.core.media.store import files_of
from watchbook.systems.reddit.actions import authors
from watchbook.systems.reddit.parse import parse_listing
from watchbook.systems.reddit.tests.pages import reader, text_of

__all__ = ["reader"]
pytestmark = [pytest.mark.django_db, pytest.mark.sql]


def fetch() -> dict[str, int]:
    run = run_now("media.fetch")
    assert run.state == "done", run.error
    return run.progress


def files(post_id: str) -> list[KeptFile]:
    return [each.file for each in files_of("reddit", [post_id]).get(post_id, ())]


def test_pictures_galleries_and_stills_are_kept_once_and_shown_from_here(scanner, site, reader):
    scanner.add("webdev")
    single = site.picture_post("webdev", "A lantern", "lantern")
    gallery = site.picture_post("webdev", "Three lamps", "one", "two", "three")
    video = site.picture_post("webdev", "It moves", "still", is_video=True)
    scanner.world.post("webdev", "Only words", "Text")
    scanner.crawl("webdev")
    assert [len(files(each)) for each in (single, gallery, video)] == [1, 3, 1]
    assert fetch()["kept"] == 5
    assert {file.state for file in KeptFile.objects.all()} == {FileState.KEPT}
    assert blobs.read(files(gallery)[1].sha256, limit=10**6) == picture("two")
    html = text_of(reader.get(f"/reddit/posts/{gallery}/"))
    for file in files(gallery):
        assert f'src="{file.path}?size=640"' in html
        assert reader.get(file.path).status_code == 200
    assert "Caption of two" in html
    html = text_of(reader.get(f"/reddit/posts/{video}/"))
    assert "Still of the video" in html
    assert 'href="https://v.redd.it/still"' in html
    scanner.wait(hours=1)
    scanner.crawl("webdev")
    assert KeptFile.objects.count() == 5
    asked = [request.path for request in site.log.all() if request.path.startswith("/pictures/")]
    assert len(asked) == len(set(asked)) == 5, "each once"


def test_page_says_why_there_is_only_a_link(scanner, site, reader, monkeypatch):
    scanner.add("webdev")
    waiting = site.picture_post("webdev", "A lantern", "lantern")
    scanner.crawl("webdev")
    assert "waiting to be saved" in text_of(reader.get(f"/reddit/posts/{waiting}/"))
    monkeypatch.setenv("REDDIT_MEDIA", "off")
    off = site.picture_post("webdev", "A beacon", "beacon")
    adult = site.picture_post("webdev", "Another", "adult", over_18=True)
    scanner.wait(hours=1)
    scanner.crawl("webdev")
    assert "saving is off" in text_of(reader.get(f"/reddit/posts/{off}/"))
    assert files(adult) == []
    assert f'href="{site.address("/pictures/adult")}"' in text_of(reader.get(f"/reddit/posts/{adult}/"))


def test_erased_post_leaves_no_picture_unless_another_post_shows_it(scanner, site):
    scanner.add("webdev")
    mine = site.picture_post("webdev", "Mine", "one", "shared")
    other = site.picture_post("webdev", "Other", "two", "shared")
    scanner.crawl("webdev")
    assert fetch()["kept"] == 3
    gone = files(mine)[0].sha256
    scanner.world.delete(mine)
    scanner.wait(hours=3)
    scanner.run("reddit.recheck")
    scanner.run("reddit.honor_deletions")
    assert files(mine) == []
    assert {file.url for file in KeptFile.objects.all()} == {site.picture("two"), site.picture("shared")}
    assert FileReference.objects.filter(object_id=other).count() == 2
    assert not KeptFile.objects.filter(sha256=gone).exists()
    assert not BlobReference.objects.filter(blob_id=gone).exists()


def test_crosspost_keeps_the_pictures_of_its_parent_once(scanner, site, reader):
    scanner.add("webdev")
    preview = {"images": [{"source": {"url": site.picture("lamp"), "width": 3, "height": 4}}]}
    parent = {"id": "p1", "subreddit": "lamps", "title": "The lamp", "preview": preview, "post_hint": "image"}
    post = scanner.world.post(
        "webdev", "Seen elsewhere", extra={"crosspost_parent_list": [parent], "preview": preview, "post_hint": "image"}
    )
    scanner.crawl("webdev")
    assert [file.url for file in files(post)] == [site.picture("lamp")]


def test_erased_author_of_the_parent_takes_the_pictures_along(scanner, site):
    scanner.add("webdev")
    preview = {"images": [{"source": {"url": site.picture("lamp")}}]}
    shown = {"preview": preview, "post_hint": "image"}
    parent = {"id": "p1", "subreddit": "lamps", "title": "The lamp", "author": "somebody", **shown}
    post = scanner.world.post("webdev", "Seen elsewhere", extra={"crosspost_parent_list": [parent], **shown})
    scanner.crawl("webdev")
    assert fetch()["kept"] == 1
    authors.erase_author("somebody")
    assert (files(post), KeptFile.objects.count()) == ([], 0)
    scanner.world.edit(post, "More words")
    scanner.wait(hours=1)
    scanner.crawl("webdev")
    assert KeptFile.objects.count() == 0


def test_preview_of_a_linked_website_is_no_picture_of_the_post(site, scanner):
    scanner.add("webdev")
    preview = {"images": [{"source": {"url": site.picture("other-site")}}]}
    post = scanner.world.post("webdev", "A link", link="https://lamps.example/", extra={"preview": preview})
    scanner.crawl("webdev")
    assert files(post) == []


@pytest.mark.parametrize("odd", [None, [], "x", {"images": 3}, {"images": [None]}, {"images": [{"source": "x"}]}])
def test_odd_previews_break_no_post(odd):
    raw = {
        "id": "a1", "subreddit": "webdev", "title": "T", "created_utc": 1.7e9, "preview": odd, "post_hint": "image",
        "url": "javascript:x",
    }  # fmt: skip
    page = {"kind": "Listing", "data": {"children": [{"kind": "t3", "data": raw}], "after": None}}
    [post] = parse_listing(orjson.dumps(page)).posts
    assert "picture" not in post.extra_data
