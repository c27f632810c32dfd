"""The list of posts, the search in it, and one post with its versions."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from watchbook.systems.reddit.models import PostRaw
from watchbook.systems.reddit.store.hot import erase_posts
from watchbook.systems.reddit.tests.pages import filled, make_posts, reader, text_of, titles

pytestmark = pytest.mark.django_db

__all__ = ["filled", "reader"]


class TestPosts:
    def test_posts_page_applies_every_filter(self, filled, reader):
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

    def test_words_are_searched_together_with_filters(self, filled, reader):
        answer = reader.get("/reddit/posts/", {"q": "lantern"})
        assert sorted(titles(answer)) == ["Lantern 0", "Lantern 1", "Lantern 2"]
        assert "<mark>Lantern</mark>" in text_of(answer)
        assert titles(reader.get("/reddit/posts/", {"q": "south pier"})) == ["A compass"]
        assert titles(reader.get("/reddit/posts/", {"q": "lantern", "least_score": "40"})) == ["Lantern 2"]
        assert "No matches" in text_of(reader.get("/reddit/posts/", {"q": "dromedary"}))

    @pytest.mark.parametrize(
        "query",
        [{"since": "2026-13-45"}, {"until": "0001-01-01"}, {"since": "9999-12-31"}, {"state": "\x00"}, {"q": "\x00"},
         {"least_score": "9" * 40}, {"least_score": "-1"}, {"community": "\x00"}, {"older": "%%%"},
         {"older": "WyJ4IiwxXQ"}, {"q": "a" * 5000}, {"q": "lantern", "cursor": "nonsense"}],
    )  # fmt: skip
    def test_invalid_filters_are_ignored(self, filled, reader, query):
        assert reader.get("/reddit/posts/", query).status_code == 200

    def test_pages_contain_every_row_once(self, reader):
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
        assert counts[0] == counts[1] <= 14

    def test_hostile_text_is_escaped(self, scanner, reader):
        scanner.add("webdev")
        post = scanner.world.post("webdev", "<script>alert(1)</script>", "<img src=x onerror=alert(2)>")
        scanner.crawl("webdev")
        for path in ("/reddit/posts/", "/reddit/posts/?q=script", f"/reddit/posts/{post}/", "/reddit/r/webdev/"):
            content = reader.get(path).content
            assert b"<script>alert" not in content, path
            assert b"<img src=x" not in content, path


class TestPost:
    def test_post_page_shows_difference_of_versions(self, filled, reader):
        answer = reader.get(f"/reddit/posts/{filled}/")
        text = text_of(answer)
        assert "<del>north</del><ins>south</ins>" in text
        assert "version 1</b> → <b>version 2, current" in text
        old = text_of(reader.get(f"/reddit/posts/{filled}/?to=1"))
        assert "The north pier closes." in old
        assert "<ins>" not in old

    @pytest.mark.parametrize("query", ["?to=3", "?to=0", "?to=99999"])
    def test_unknown_version_returns_404(self, filled, reader, query):
        assert reader.get(f"/reddit/posts/{filled}/{query}").status_code == 404

    @pytest.mark.parametrize("query", ["?to=x", "?from=%00", "?from=9&to=2", "?to=" + "9" * 99])
    def test_invalid_version_shows_the_newest(self, filled, reader, query):
        assert reader.get(f"/reddit/posts/{filled}/{query}").status_code == 200

    @pytest.mark.parametrize("post_id", ["zzzzzz", "A", "%00", "a%00", "x" * 400, "..", "灯"])
    def test_unknown_post_returns_404(self, filled, reader, post_id):
        assert reader.get(f"/reddit/posts/{post_id}/").status_code == 404

    def test_post_page_shows_removed_deleted_and_erased(self, scanner, reader):
        scanner.add("webdev")
        removed, deleted = (scanner.world.post("webdev", title, "Last words.") for title in ("One", "Two"))
        scanner.crawl("webdev")
        scanner.world.remove(removed)
        scanner.world.delete(deleted)
        scanner.wait(hours=3)
        scanner.run("reddit.recheck")
        first, second = (text_of(reader.get(f"/reddit/posts/{post}/")) for post in (removed, deleted))
        assert "Removed on Reddit" in first
        assert "by moderators" in first
        assert "Deleted by the author" in second
        assert "Last words." in first
        assert "Last words." in second
        assert titles(reader.get("/reddit/posts/?state=removed")) == ["One"]
        assert titles(reader.get("/reddit/posts/?state=deleted")) == ["Two"]
        erase_posts(list(PostRaw.objects.of([removed])), scanner.now)
        blanked = text_of(reader.get(f"/reddit/posts/{removed}/"))
        assert "Text erased" in blanked
        assert "Last words." not in blanked
        assert "Save to library" not in blanked
        assert "text erased" in text_of(reader.get("/reddit/posts/"))

    def test_post_page_has_link_and_save_button(self, scanner, reader):
        scanner.add("webdev")
        post = scanner.world.post("webdev", "See this", link="https://lamps.example/%E7%81%AF")
        scanner.crawl("webdev")
        text = text_of(reader.get(f"/reddit/posts/{post}/"))
        assert f"kind=reddit_post&amp;id={post}" in text
        assert 'href="https://lamps.example/%E7%81%AF"' in text

    def test_post_page_lists_posts_with_same_text(self, scanner, reader):
        scanner.add("webdev", "golang")
        first, second = (scanner.world.post(name, "The very same", "Words.") for name in ("webdev", "golang"))
        scanner.run("reddit.incremental")
        assert f"/reddit/posts/{second}/" in text_of(reader.get(f"/reddit/posts/{first}/"))

    def test_post_page_renders_markdown_safely(self, scanner, reader):
        scanner.add("webdev")
        links = "[link](https://lamps.example/) [bad](javascript:alert(1))"
        text = f"# Head\n\n**bold** {links}\n\n- one\n- two\n\n<script>x</script>"
        post = scanner.world.post("webdev", "A lantern", text)
        scanner.crawl("webdev")
        html = text_of(reader.get(f"/reddit/posts/{post}/"))
        assert "<strong>bold</strong>" in html
        assert '<a href="https://lamps.example/" rel="noopener noreferrer nofollow">link</a>' in html
        assert "<li>one</li>" in html
        assert "javascript:alert" not in html.replace("[bad](javascript:alert(1))", "")
        assert "<script>x" not in html

    def test_post_page_shows_crosspost_gallery_and_poll(self, scanner, reader):
        scanner.add("webdev")
        parent = {"id": "p1", "subreddit": "lamps", "title": "The lamp", "selftext": "Words of the *parent*"}
        cross = scanner.world.post("webdev", "Seen elsewhere", extra={"crosspost_parent_list": [parent]})
        media = {
            "gallery_data": {"items": [{"media_id": "a", "caption": "At night"}]},
            "media_metadata": {"a": {"s": {"u": "https://preview.redd.it/a.jpg"}}},
            "poll_data": {"options": [{"text": "Copper", "vote_count": 5}], "total_vote_count": 5},
        }
        other = scanner.world.post("webdev", "Pictures", extra=media)
        scanner.crawl("webdev")
        html = text_of(reader.get(f"/reddit/posts/{cross}/"))
        assert "Crosspost from r/lamps" in html
        assert "Words of the <em>parent</em>" in html
        assert "This post has no text." not in html
        assert titles(reader.get("/reddit/posts/", {"q": "parent"})) == ["Seen elsewhere"]
        html = text_of(reader.get(f"/reddit/posts/{other}/"))
        assert 'href="https://preview.redd.it/a.jpg"' in html
        assert all(word in html for word in ("At night", "Copper"))
