"""Topics as files: whole, readable without the network, and the same words in every form."""

from __future__ import annotations

import json
import re
import zipfile
from io import BytesIO

import pytest
from lxml import html as reader
from markdown_it import MarkdownIt

from standins.nga_board import NgaBoard
from watchbook.base.testing import pages as books
from watchbook.base.testing import servers
from watchbook.core.accounts.models import AuditEvent, User
from watchbook.core.stream.clip import find_clip
from watchbook.systems.nga.export.files import FORMS, _data_address, _Topic
from watchbook.systems.nga.export.markdown import markdown
from watchbook.systems.nga.export.reading import chapters
from watchbook.systems.nga.models import Post
from watchbook.systems.nga.parse.bbcode import render
from watchbook.systems.nga.tests.archive import Crawler, thread_of
from watchbook.systems.nga.tests.desk import board as make_board
from watchbook.systems.nga.tests.desk import browser, fill, get, keep_old_picture, make_thread
from watchbook.systems.nga.tests.test_api import Caller
from watchbook.systems.nga.views.topic import parts_of
from watchbook.systems.nga.views.versions import plain_text

KEPT, LOST = "https://img.example/kept.png", "https://img.example/lost.jpg"
HARD = (
    "[quote][pid=12,40000001,1]Reply[/pid] [b]Post by 某某[/b]\n上文 * 与 _ 与 # 1. 项[/quote]\n"
    "# 不是标题\n- 不是列表\n1. 也不是\n\n[b]“粗”[/b]体[i]斜[/i][del]删[/del]行 <b>&amp; `x`\n[list][*]一[*]二[/list]"
    f"[img]{KEPT}[/img][img]{LOST}[/img][url=https://example.org/a(b)?x=你]链接[/url]"
    "[collapse=折叠]里面[/collapse][table][tr][td]甲[/td][td]乙[/td][/tr][/table][code]a\n  b[/code][s:ac:哭笑]"
)


def words(html: str) -> list[str]:
    return re.findall(r"\w+", plain_text(html))


@pytest.fixture
def topic(db: None):
    thread = fill(make_thread(title="港口 <灯塔> & 路线"), [number for number in range(130) if number not in (7, 8)])
    post = Post.objects.get(thread=thread, floor_number=5)
    post.content_html = render(HARD)
    post.save()
    keep_old_picture(post, KEPT)
    return thread


def test_html_file_holds_every_post_and_picture_and_asks_for_nothing(topic, tmp_path) -> None:
    written = FORMS["html"].write(topic, tmp_path / "t.html")
    assert (written.posts, written.missing, written.pictures, written.left_out_pictures) == (128, 2, 1, [LOST])
    page = reader.document_fromstring((tmp_path / "t.html").read_text("utf-8"))
    assert {each.get("id") for each in page.iter("article")} == {f"f{n}" for n in range(130) if n not in (7, 8)}
    assert page.get_element_by_id("f7").text == "Missing: #7–8"
    assert page.findtext(".//h1") == topic.title
    sources = [each.get("src") for each in page.iter("img")]
    assert len(sources) == 1
    assert sources[0].startswith("data:image/png;base64,")
    assert not list(page.iter("script", "link", "iframe"))
    policy = page.find(".//meta[@http-equiv]").get("content")
    assert policy == "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    assert LOST in [link.get("href") for link in page.iter("a")]


def test_pictures_of_a_topic_are_not_all_held_in_memory(topic) -> None:
    written = _Topic(topic)
    chapter = next(each for each in chapters(topic) if KEPT in each.pictures)
    place = written.picture(chapter, _data_address)
    assert place(KEPT) == place(KEPT)
    assert place(KEPT).startswith("data:image/png")
    assert (written.written.pictures, "base64" in repr(vars(written))) == (1, False)


def test_markdown_reads_back_as_the_same_words_links_and_pictures(topic, tmp_path) -> None:
    FORMS["markdown"].write(topic, tmp_path / "t.zip")
    with zipfile.ZipFile(tmp_path / "t.zip") as archive:
        names = archive.namelist()
        text = archive.read("topic.md").decode()
    assert len([name for name in names if name.startswith("pictures/")]) == 1
    shown = reader.fragment_fromstring(_rendered(text.partition("\n---\n\n")[2]), create_parent="div")
    assert [image.get("src") for image in shown.iter("img")] == [name for name in names if name != "topic.md"]
    assert len(list(shown.iter("h2"))) == 128
    assert "Missing: #7–8" in shown.text_content()
    links = {link.get("href") for link in shown.iter("a")}
    assert {LOST, "https://example.org/a%28b%29?x=%E4%BD%A0"} <= links


def _rendered(text: str) -> str:
    return str(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text))


@pytest.mark.parametrize("source", [HARD, "[b]a[/b][b]b[/b]", "[b][i]x[/i] [/b]*", "a\n\n\nb", "  - x\n> y", "<p>"])
def test_markdown_of_a_post_keeps_its_words(source: str) -> None:
    html = re.sub(r"<img[^>]*>", "", render(source))
    assert words(_rendered(markdown(html))) == words(html)


def test_epub_of_a_topic_is_valid_and_complete(topic, tmp_path) -> None:
    written = FORMS["epub"].write(topic, tmp_path / "t.epub")
    assert (written.pictures, written.left_out_pictures) == (1, [LOST])
    pages = books.read(tmp_path / "t.epub")
    ids = {each.get("id") for page in pages.values() for each in page.iter() if each.get("id")}
    assert {f"f{n}" for n in range(130) if n != 8} <= ids
    titles = [link.text for link in pages["nav.xhtml"].iter(f"{books.XHTML}a")]
    assert titles == ["Opening post", "Posts 1–99", "Posts 100–129"]
    FORMS["epub"].write(topic, tmp_path / "again.epub")
    assert (tmp_path / "t.epub").read_bytes() == (tmp_path / "again.epub").read_bytes()


@pytest.mark.nightly
@pytest.mark.nightly  # every day it judges the book of hard HTML in kit/tests
def test_epubcheck_accepts_a_topic(topic, tmp_path) -> None:
    FORMS["epub"].write(topic, tmp_path / "t.epub")
    books.epubcheck(tmp_path / "t.epub")


@pytest.mark.browser
@pytest.mark.skipif(not servers.chromium(), reason="There is no Chromium on this machine.")
def test_chapters_and_html_file_open_in_a_browser_without_any_request(topic, tmp_path) -> None:
    FORMS["epub"].write(topic, tmp_path / "t.epub")
    FORMS["html"].write(topic, tmp_path / "t.html")
    with zipfile.ZipFile(tmp_path / "t.epub") as book:
        book.extractall(tmp_path / "book")
    chapters = [tmp_path / "book" / "EPUB" / name for name in books.read(tmp_path / "t.epub")]
    with books.started() as browser:
        page = browser.new_context(offline=True).new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        shown, widths = "", []
        for file in [*chapters, tmp_path / "t.html"]:
            page.goto(file.as_uri())
            widths.append(page.evaluate("[...document.images].map(image => image.naturalWidth)"))
            shown += page.locator("body").inner_text()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert [width > 0 for found in widths for width in found] == [True, True], (
        "one picture in the book, one in the file"
    )
    assert len(chapters) == 4
    assert shown.count("港口 <灯塔> & 路线") >= 2
    assert all(shown.count(f"#{number} ") >= 2 for number in range(130) if number not in (7, 8))


def test_crawled_topics_are_the_same_in_json_lines_as_in_the_ledger(
    board: NgaBoard, crawler: Crawler, tmp_path
) -> None:
    tid = board.world.add_topic("路线", "首帖")
    for number in range(45):
        board.world.reply(tid, f"第 {number} 条[b]回复[/b]")
    crawler.crawl()
    FORMS["jsonl"].write(thread_of(tid), tmp_path / "t.jsonl")
    first, *lines = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text("utf-8").splitlines()]
    assert (first["kind"], first["tid"], first["missing"]) == ("topic", tid, [])
    truth = board.expected_archive()[tid]
    assert [line["floor_number"] for line in lines] == sorted(truth)
    stored = {post.floor_number: post for post in Post.objects.all()}
    for line in lines:
        assert line["source_post_id"] == truth[line["floor_number"]].now.pid
        assert line["content_html"] == stored[line["floor_number"]].content_html


@pytest.mark.parametrize("form", sorted(FORMS))
def test_filtered_list_as_a_zip_holds_exactly_its_topics(topic, alice: User, monkeypatch, form) -> None:
    fill(make_thread(1, author_name="别人"), range(2))
    fill(make_thread(1, author_name="别人", forum=make_board(8)), range(2))
    client = browser(alice)
    answer = get(client, "topics", author="别人", fid=7, zip=form)
    with zipfile.ZipFile(BytesIO(b"".join(answer.streaming_content))) as archive:
        assert archive.testzip() is None
        index = json.loads(archive.read("index.json"))
        assert [each["title"] for each in index["topics"]] == ["港口灯塔巡检路线 1"]
        assert set(archive.namelist()) == {"index.json", index["topics"][0]["file"]}
    assert AuditEvent.objects.filter(event="export.made").count() == 1
    monkeypatch.setenv("NGA_EXPORT_TOPICS", "1")
    answer = get(client, "topics", fid=7, zip=form)
    with zipfile.ZipFile(BytesIO(b"".join(answer.streaming_content))) as archive:
        index = json.loads(archive.read("index.json"))
    assert (len(index["topics"]), index["left_out_topics"]) == (1, 1)


def test_page_and_api_send_the_same_file(topic, alice: User) -> None:
    api_of = Caller(alice)
    for form, chosen in FORMS.items():
        page = get(browser(alice), "export_topic", topic.source_thread_id, form)
        api = api_of.get(f"/threads/{topic.source_thread_id}/export", form=form)
        assert page.headers["Content-Type"] == api.headers["Content-Type"] == chosen.media_type
        assert b"".join(page.streaming_content) == b"".join(api.streaming_content)
    assert get(browser(alice), "export_topic", topic.source_thread_id, "pdf").status_code == 404
    assert api_of.get(f"/threads/{topic.source_thread_id}/export", form="pdf").status_code == 422


def test_whole_topic_is_saved_to_the_library_in_parts(topic, alice: User) -> None:
    parts = parts_of(topic)
    clips = [find_clip(kind, number, alice) for kind, number in parts]
    assert [clip.title for clip in clips if clip] == [f"{topic.title} #0–99", f"{topic.title} #100–129"]
    text = "".join(clip.html for clip in clips if clip)
    assert all(f"<b>#{number} · " in text for number in range(130) if number not in (7, 8))
    assert "Missing: #7–8" in text
    assert find_clip("nga_posts", f"{topic.pk}-0-100000", alice) is None
    page = get(browser(alice), "topic", topic.source_thread_id).content.decode()
    assert f"item=nga_posts%3A{topic.pk}-0-99&amp;item=nga_posts%3A{topic.pk}-100-199" in page
