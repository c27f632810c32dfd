"""Writers of the four forms of a topic."""

from __future__ import annotations

import base64
import json
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from django.utils.text import slugify
from django.utils.translation import gettext as _

from watchbook.kit import epub
from watchbook.kit.lists.exports import plain_value
from watchbook.systems.nga.export.markdown import markdown
from watchbook.systems.nga.export.reading import (
    Chapter,
    Gap,
    chapters,
    gap_words,
    head_words,
    joined,
    portable,
    source_address,
    topic_words,
)
from watchbook.systems.nga.models import Post, Thread
from watchbook.systems.nga.parse.bbcode.tags import COLOURS, SIZES
from watchbook.systems.nga.schemas import post_out, thread_out
from watchbook.systems.nga.store.media import Kept

# The language of what is archived; the words around it are in the reader's language.
LANGUAGE = "zh-Hans"
# The earliest moment of a zip file: equal topics give equal files.
_FIXED = (1980, 1, 1, 0, 0, 0)
_STYLE = (
    "body{max-width:48rem;margin:2rem auto;padding:0 1rem;font:16px/1.7 sans-serif;color:#222;background:#fff}"
    "img{max-width:100%;height:auto}article{border-top:1px solid #ddd;padding:1rem 0}.meta,.gap{color:#666;"
    "font-size:.85rem}blockquote{border-left:3px solid #bbb;margin:.5rem 0;padding-left:1rem;color:#555}"
    "pre{overflow:auto;background:#f4f4f4;padding:1rem}.scroll{overflow-x:auto}table{border-collapse:collapse}"
    "td,th{border:1px solid #bbb;padding:.25rem .5rem}"
) + "".join(
    [f".bb-{colour}{{color:{colour}}}" for colour in sorted(COLOURS)]
    + [f".bb-size-{size}{{font-size:{size}%}}" for size in SIZES]
    + [f".bb-{side}{{text-align:{side}}}" for side in ("left", "center", "right")]
)


@dataclass
class Written:
    """What a file holds and what it lacks."""

    tid: int
    title: str
    posts: int = 0
    missing: int = 0
    pictures: int = 0
    left_out_pictures: list[str] = field(default_factory=list)


class _Topic:
    """The topic while it is written: counts posts, and asks once for each picture."""

    def __init__(self, thread: Thread) -> None:
        self.thread = thread
        stored = Post.objects.filter(thread=thread).count()
        highest = thread.crawl_cursor_max_floor_number
        missing = 0 if highest is None else max(highest + 1 - stored, 0)
        self.written = Written(thread.source_thread_id, thread.title, posts=stored, missing=missing)
        # None: not stored. Not what `keep` gave: that may be the content of the picture.
        self.known: dict[str, Kept | None] = {}
        self.source = source_address(thread.source_thread_id)
        self.words = topic_words(thread, stored, missing)

    def picture(self, chapter: Chapter, keep: Callable[[Kept], str]) -> Callable[[str], str]:
        """A function that gives the place of a picture in the file. `keep` puts it there; empty: it cannot."""

        def place(address: str) -> str:
            is_new = address not in self.known
            if is_new:
                kept = chapter.pictures.get(address)
                self.known[address] = kept if kept and kept.exists() else None
            kept = self.known[address]
            found = keep(kept) if kept else ""
            self.written.pictures += bool(is_new and found)
            if is_new and not found and address:
                self.written.left_out_pictures.append(address)
            return found

        return place

    def bodies(self, chapter: Chapter, keep: Callable[[Kept], str]) -> Iterator[tuple[Any, str, str]]:
        """Each post or gap of a chapter: the item, the line above it, and its text."""
        place = self.picture(chapter, keep)
        for item in chapter.items:
            if isinstance(item, Gap):
                yield item, gap_words(item), ""
            else:
                yield item, joined(head_words(item)), portable(self.thread, item.post, place)


def write_html(thread: Thread, path: Path) -> Written:
    """One file without scripts; pictures are in it, and its policy forbids every request."""
    topic = _Topic(thread)
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    with path.open("w", encoding="utf-8") as out:
        out.write(
            f'<!doctype html>\n<html lang="{LANGUAGE}">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
            '<meta name="viewport" content="width=device-width">\n'
            f"<title>{escape(thread.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
            f'<h1>{escape(thread.title)}</h1>\n<p class="meta">{escape(joined(topic.words))} · '
            f'<a href="{escape(topic.source)}">{_("Source")}</a></p>\n'
        )
        for chapter in chapters(thread):
            for item, head, text in topic.bodies(chapter, _data_address):
                out.write(_html_item(item, head, text))
        out.write("</body>\n</html>\n")
    return topic.written


def _html_item(item: Any, head: str, text: str) -> str:
    if isinstance(item, Gap):
        return f'<p class="gap" id="f{item.first}">{escape(head)}</p>\n'
    scrolled = text.replace("<table>", '<div class="scroll"><table>').replace("</table>", "</table></div>")
    return (
        f'<article id="f{item.post.floor_number}"><p class="meta">{escape(head)}</p><div>{scrolled}</div></article>\n'
    )


def _data_address(kept: Kept) -> str:
    encoded = base64.b64encode(kept.read()).decode()
    return f"data:{kept.media_type};base64,{encoded}"


def write_markdown(thread: Thread, path: Path) -> Written:
    """A zip with `topic.md` and the folder `pictures`."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        return add_markdown(thread, archive, "")


def add_markdown(thread: Thread, archive: zipfile.ZipFile, folder: str) -> Written:
    topic = _Topic(thread)
    added: set[str] = set()

    def keep(kept: Kept) -> str:
        name = f"pictures/{kept.digest[:24]}.{kept.media_type.removeprefix('image/')}"
        if name not in added:
            added.add(name)
            archive.writestr(entry(f"{folder}{name}", zipfile.ZIP_STORED), kept.read())
        return name

    parts = [_front(topic), f"# {markdown(escape(thread.title))}"]
    for chapter in chapters(thread):
        for item, head, text in topic.bodies(chapter, keep):
            words = markdown(escape(head))
            parts += [f"*{words}*"] if isinstance(item, Gap) else [f"## {words}", markdown(text)]
    archive.writestr(entry(f"{folder}topic.md"), "\n\n".join(part for part in parts if part) + "\n")
    return topic.written


def _front(topic: _Topic) -> str:
    thread = topic.thread
    values = {
        "title": thread.title,
        "author": thread.author_name,
        "board": str(thread.forum),
        "created": plain_value(thread.thread_created_at),
        "source": topic.source,
        "posts": topic.written.posts,
        "missing": topic.written.missing,
    }
    # JSON texts are YAML texts.
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in values.items()]
    return "\n".join(["---", *lines, "---"])


def write_epub(thread: Thread, path: Path) -> Written:
    topic = _Topic(thread)
    pictures: dict[str, epub.Picture] = {}

    def keep(kept: Kept) -> str:
        kind = kept.media_type
        if kind not in epub.PICTURE_TYPES:
            return ""
        pictures[kept.digest] = epub.Picture(kind, kept.read)
        return kept.digest

    def pages() -> Iterator[epub.Chapter]:
        facts = f'<p class="meta">{escape(joined(topic.words))}</p>'
        first = True
        for chapter in chapters(thread):
            parts = [_epub_item(*each) for each in topic.bodies(chapter, keep)]
            yield epub.Chapter(chapter.title, (facts if first else "") + "".join(parts))
            first = False
        if first:
            yield epub.Chapter(thread.title, facts)

    book = epub.Book(
        title=thread.title,
        language=LANGUAGE,
        identifier=topic.source,
        modified=thread.last_crawled_at or thread.thread_created_at,
        chapters=pages(),
        pictures=pictures,
        author=thread.author_name,
        source=topic.source,
    )
    with path.open("wb") as file:
        epub.write(book, file)
    return topic.written


def _epub_item(item: Any, head: str, text: str) -> str:
    number = item.first if isinstance(item, Gap) else item.post.floor_number
    return f'<div id="f{number}"><p class="meta">{escape(head)}</p><div>{text}</div></div><hr>'


def write_jsonl(thread: Thread, path: Path) -> Written:
    """One line for the topic, then one for each post, with the fields of the API."""
    topic, read = _Topic(thread), thread.read_times()
    with path.open("w", encoding="utf-8") as out:
        missing = []
        for chapter in chapters(thread):
            missing += [[item.first, item.last] for item in chapter.items if isinstance(item, Gap)]
        out.write(_line({"kind": "topic", **thread_out(thread, read), "missing": missing}))
        for chapter in chapters(thread):
            for item in chapter.items:
                if not isinstance(item, Gap):
                    out.write(_line({"kind": "post", "tid": thread.source_thread_id, **post_out(item.post)}))
    return topic.written


def _line(values: dict[str, Any]) -> str:
    text = json.dumps(values, ensure_ascii=False, default=plain_value)
    # A line separator of Unicode inside a text would end the line for some readers.
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029") + "\n"


@dataclass(frozen=True)
class Form:
    ending: str
    media_type: str
    write: Callable[[Thread, Path], Written]


FORMS = {
    "html": Form("html", "text/html; charset=utf-8", write_html),
    "markdown": Form("zip", "application/zip", write_markdown),
    "epub": Form("epub", epub.MEDIA_TYPE, write_epub),
    "jsonl": Form("jsonl", "application/jsonl; charset=utf-8", write_jsonl),
}


def stem(thread: Thread) -> str:
    return f"{thread.source_thread_id}-{slugify(thread.title, allow_unicode=True)[:60] or 'topic'}"


def entry(name: str, kind: int = zipfile.ZIP_DEFLATED) -> zipfile.ZipInfo:
    made = zipfile.ZipInfo(name, _FIXED)
    made.compress_type = kind
    made.external_attr = 0o644 << 16
    return made
