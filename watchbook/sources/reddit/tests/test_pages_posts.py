"""The list of posts, the search in it, and one post with its versions."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from watchbook.sources.reddit.models import PostRaw
from watchbook.sources.reddit.store.blanking import blank_posts
from watchbook.sources.reddit.tests.pages import filled, make_posts, reader, text_of, titles

pytestmark = pytest.mark.django_db

__all__ = ["filled", "reader"]


class TestPosts:
    def test_newest_first_and_every_filter(self, filled, reader):
        def found(**query):
            return titles(reader.get("/reddit/posts/", query))

        assert len(found()) == 4
        assert found(state="edited") == ["A compass"]
        assert found(author="somebody") == ["A compass"]
        assert found(community="golang") == []
        assert len(found(community="r/WebDev")) == 4
        assert found(least_score="40") == ["Lantern 2"]
        assert found(since="2026-03-03") == found(until="2026-03-01") == []
        assert len(found(since="2026-03-02", until="2026-03-02")) == 4

    def test_words_go_through_the_shared_search_with_the_filters(self, filled, reader):
        answer = reader.get("/reddit/posts/", {"q": "lantern"})
        assert sorted(titles(answer)) == ["Lantern 0", "Lantern 1", "Lantern 2"]
        assert "<mark>Lantern</mark>" in text_of(answer)
        assert titles(reader.get("/reddit/posts/", {"q": "south pier"})) == ["A compass"]
        assert titles(reader.get("/reddit/posts/", {"q": "lantern", "least_score": "40"})) == ["Lantern 2"]
        assert "No post matches these filters" in text_of(reader.get("/reddit/posts/", {"q": "dromedary"}))

    @pytest.mark.parametrize(
        "query",
        [{"since": "2026-13-45"}, {"until": "0001-01-01"}, {"since": "9999-12-31"}, {"state": "\x00"}, {"q": "\x00"},
         {"least_score": "9" * 40}, {"least_score": "-1"}, {"community": "\x00"}, {"older": "%%%"},
         {"older": "WyJ4IiwxXQ"}, {"q": "a" * 5000}, {"q": "lantern", "cursor": "nonsense"}],
    )  # fmt: skip
    def test_nonsense_is_never_an_error(self, filled, reader, query):
        assert reader.get("/reddit/posts/", query).status_code == 200

    def test_pages_lose_nothing_and_double_nothing(self, reader):
        make_posts(65)
        found, query = [], ""
        while True:
            answer = reader.get(f"/reddit/posts/{query}")
            found.append(titles(answer))
            if not answer.context["page"].older:
                break
            query = f"?older={answer.context['page'].older}"
        assert [len(page) for page in found] == [30, 30, 5]
        assert len({title for page in found for title in page}) == 65

    def test_queries_do_not_grow_with_posts(self, reader):
        counts = []
        for count in (1, 60):
            PostRaw.objects.all().delete()
            make_posts(count)
            with CaptureQueriesContext(connection) as seen:
                reader.get("/reddit/posts/")
            counts.append(len(seen))
        assert counts[0] == counts[1] <= 9

    def test_hostile_words_are_text(self, desk, reader):
        desk.add("webdev")
        post = desk.world.post("webdev", "<script>alert(1)</script>", "<img src=x onerror=alert(2)>")
        desk.crawl("webdev")
        for path in ("/reddit/posts/", "/reddit/posts/?q=script", f"/reddit/posts/{post}/", "/reddit/r/webdev/"):
            content = reader.get(path).content
            assert b"<script>alert" not in content, path
            assert b"<img src=x" not in content, path


class TestPost:
    def test_difference_between_two_versions(self, filled, reader):
        answer = reader.get(f"/reddit/posts/{filled}/")
        text = text_of(answer)
        assert "<del>north</del><ins>south</ins>" in text
        assert "version 1</b> → <b>version 2, current" in text
        old = text_of(reader.get(f"/reddit/posts/{filled}/?to=1"))
        assert "The north pier closes." in old
        assert "<ins>" not in old

    @pytest.mark.parametrize("query", ["?to=3", "?to=0", "?to=99999"])
    def test_version_that_never_was_is_not_found(self, filled, reader, query):
        assert reader.get(f"/reddit/posts/{filled}/{query}").status_code == 404

    @pytest.mark.parametrize("query", ["?to=x", "?from=%00", "?from=9&to=2", "?to=" + "9" * 99])
    def test_nonsense_shows_the_newest(self, filled, reader, query):
        assert reader.get(f"/reddit/posts/{filled}/{query}").status_code == 200

    @pytest.mark.parametrize("post_id", ["zzzzzz", "A", "%00", "a%00", "x" * 400, "..", "灯"])
    def test_unknown_posts_are_not_found(self, filled, reader, post_id):
        assert reader.get(f"/reddit/posts/{post_id}/").status_code == 404

    def test_removed_deleted_and_blanked_are_told_apart(self, desk, reader):
        desk.add("webdev")
        removed, deleted = (desk.world.post("webdev", title, "Last words.") for title in ("One", "Two"))
        desk.crawl("webdev")
        desk.world.remove(removed)
        desk.world.delete(deleted)
        desk.wait(hours=3)
        desk.run("reddit.recheck")
        first, second = (text_of(reader.get(f"/reddit/posts/{post}/")) for post in (removed, deleted))
        assert "Removed at Reddit" in first
        assert "by moderators" in first
        assert "Deleted by its author" in second
        assert "Last words." in first
        assert "Last words." in second
        assert titles(reader.get("/reddit/posts/?state=removed")) == ["One"]
        assert titles(reader.get("/reddit/posts/?state=deleted")) == ["Two"]
        blank_posts(list(PostRaw.objects.of([removed])), desk.now)
        blanked = text_of(reader.get(f"/reddit/posts/{removed}/"))
        assert "The words of this post were blanked" in blanked
        assert "Last words." not in blanked
        assert "File in library" not in blanked
        assert "words blanked" in text_of(reader.get("/reddit/posts/"))

    def test_a_post_can_be_filed_and_its_link_followed(self, desk, reader):
        desk.add("webdev")
        post = desk.world.post("webdev", "See this", link="https://lamps.example/%E7%81%AF")
        desk.crawl("webdev")
        text = text_of(reader.get(f"/reddit/posts/{post}/"))
        assert f"kind=reddit_post&amp;id={post}" in text
        assert 'href="https://lamps.example/%E7%81%AF"' in text

    def test_same_words_elsewhere(self, desk, reader):
        desk.add("webdev", "golang")
        first, second = (desk.world.post(name, "The very same", "Words.") for name in ("webdev", "golang"))
        desk.run("reddit.incremental")
        assert f"/reddit/posts/{second}/" in text_of(reader.get(f"/reddit/posts/{first}/"))
