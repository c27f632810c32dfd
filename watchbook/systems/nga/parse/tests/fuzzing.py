"""Broken answers and random posts by the thousand, and what must hold for each.

    python -m watchbook.systems.nga.parse.tests.fuzzing 10000

The suite runs a tenth; NGA_FUZZ=10000 makes it run them all.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from lxml import html as lxml_html

from standins.nga_board import Attachment, Dialect, NgaBoard, answers, dialect, layout, pages
from watchbook.systems.nga.parse import ListPage, TopicPage, Unreadable
from watchbook.systems.nga.parse.answer import read_answer
from watchbook.systems.nga.parse.bbcode import render
from watchbook.systems.nga.parse.bbcode.builder import clean
from watchbook.systems.nga.parse.bbcode.tests.walk import ATTRIBUTES, TAGS, Walk

COUNT = int(os.environ.get("NGA_FUZZ", "1000"))
# One answer takes milliseconds; the sandbox gives it twenty seconds.
LONGEST_SECONDS = 10

PIECES = [b'"', b"\\", b"\\x5C", b"{", b"}", b"[", b"]", b",", b":", b"\x80", b"\xac", b"\0", b"<", b">", b"<script>",
          b"</script>", b"'", b"(", b")", b"/*", b"*/", b"+1", b"007", b"null", b"\xe9\xad\x94", b"&#0;", b"[/b]",
          b"-1", b"99999999999999999999", b"<!--", b"$('", b"\xff", b"\t", b"\r\n", b"&#55357;", b"\\u0000", b"\\ud83d",
          b"</span>", b"<p id='postcontent0'>", b"javascript:alert(1)", b"onerror=", b"data:text/html,"]  # fmt: skip
MARKUP = (
    "[b] [/b] [i] [/i] [u] [/u] [del] [/del] [quote] [/quote] [table] [/table] [tr] [/tr] [td] [/td] [td33] [list]"
    " [/list] [list=1] [*] [collapse=t] [/collapse] [url=http://e.com/] [/url] [url=javascript:alert(1)] [url]"
    " [url=data:text/html,x] [url=//e.com] [url=\x01javascript:x] [img] [/img] [img0] [/img0]"
    " [img]javascript:alert(1)[/img] [img]./mon_1/a.png[/img] [code] [/code] [code=js] [h] [/h] <br/> === --- ===t==="
    " [color=red] [/color] [color=red;background:url(x)] [size=150%] [/size] [font=x] [/font] [uid=5] [/uid]"
    " [pid=9,5,1] [/pid] [tid=5] [/tid] [stid=3] [/stid] [s:ac:喷] [s:1] [@abc] [@UID123] [dice]d6[/dice]"
    " [dice]99999999999d99999999[/dice] [align=left] [/align] [l] [/l] [r] [/r] [lessernuke] [/lessernuke]"
    " [lessernuke2] [/lessernuke2] &lt; &gt; &amp; &amp;#60; &#60; &quot; &#39; &nbsp; <b> <script> </script> <img"
    " <svg/onload=x> <!-- --> \" ' [ ] [[ ]] [foo] [/foo] [noimg] [/noimg] [crypt] [/crypt] [flash] [/flash]"
    " [flash=video] [album=t] [/album] [attach] [/attach] [iframe=1,2] [/iframe] [chartradar] [/chartradar]"
    " [randomblock] [/randomblock] [markdown] [/markdown] [hip] [item] [headline] [/headline] [fixsize] [sup] [/sup]"
    " [sub] [/sub] [span] [/span] [verticalTop] [comment] [/comment] [urlreplace] &#55357; &#56834; http://e.com/"
    " https://e.com/a?b=c&d=e \u202e \u2028 \ud800 \0 😂 字"
)
PARTS = [*MARKUP.split(" "), "[td colspan=2 rowspan=9]", "[td colspan=99999999]", "\n", " ", "\t"]


def seeds() -> list[bytes]:
    """Lists and topics of a lively board in each of its forms."""
    board = NgaBoard()
    board.life.days(2, topics_a_day=4)
    world = board.world
    tid = world.add_topic("[讨论]投票", poll="1~甲~2~乙~max_select~1", attachments=[Attachment("mon_1/a.png")])
    world.note(tid, world.reply(tid, "[quote]引[/quote]<b>", anonymous=True), "贴条")
    world.edit(tid, 0, "改\\过 😂 [table][tr][td]1[/td][/tr][/table]")
    world.mirror(tid)
    world.deny()
    made = []
    for ugly in (Dialect(), Dialect(prefixed=True, commented=True, tail=True, textual_parents=True)):
        rows = layout.page_rows(world, 7, 1)
        for data in (answers.topic_data(world, world.topics[tid], 1, ugly), answers.list_data(world, 7, rows, ugly)):
            document = {"data": data, "encode": "gbk", "time": world.now}
            made += [dialect.as_8(document, ugly), dialect.as_11(document)]
        made += [pages.topic_page(world, world.topics[tid], 1, ugly), pages.list_page(world, 7, rows, 1)]
    board.close()
    return [
        *made,
        pages.message_page("访客不能直接访问", 15),
        b'{"error":{"0":"2048:x"},"data":{"__MESSAGE":{"0":2048}}}',
    ]


def broken(chance: random.Random, whole: bytes) -> bytes:
    found = bytearray(whole)
    for _ in range(chance.randint(1, 8)):
        at = chance.randrange(len(found) + 1)
        kind = chance.choice(["insert", "insert", "cut", "flip", "repeat", "swap", "end"])
        if kind == "insert":
            found[at:at] = chance.choice(PIECES)
        elif kind == "cut":
            del found[at : at + chance.randint(1, 60)]
        elif kind == "flip" and at < len(found):
            found[at] ^= chance.randint(1, 255)
        elif kind == "repeat":
            found[at:at] = found[at : at + 60] * chance.randint(1, 20)
        elif kind == "swap":
            other = chance.randrange(len(found) + 1)
            found[at : at + 30] = found[other : other + 30]
        elif kind == "end" and chance.random() < 0.3:
            del found[at:]
    return bytes(found)


def check_answer(body: bytes) -> str:
    """Reads it, and says how that ended. Whatever came out of it can be stored and shown."""
    try:
        page = read_answer(body)
    except Unreadable as error:
        return type(error).__name__
    if isinstance(page, ListPage):
        assert all(topic.tid > 0 for topic in page.topics)
        return "list"
    check_topic(page)
    return "topic"


def check_topic(page: TopicPage) -> None:
    numbers = [floor.floor_number for floor in page.floors]
    assert numbers == sorted(set(numbers))
    page.missing_numbers()
    for floor in (*page.floors, *page.notes_elsewhere):
        check_html(floor.content_html)
        assert len(floor.content_fingerprint_sha256) == 64
        floor.author_name.encode()


def check_html(html: str) -> None:
    """Three independent eyes: a strict walk, the parser of libxml2, and the sanitiser, which finds nothing to do."""
    html.encode()
    Walk(html)
    assert clean(html) == html
    if html:
        for element in lxml_html.fragment_fromstring(html, create_parent="div").iterdescendants():
            assert element.tag in TAGS | {"p"}, element.tag
            assert set(element.attrib) <= ATTRIBUTES, dict(element.attrib)


def random_post(chance: random.Random) -> tuple[str, list[str]]:
    """A post, and the words that must be found in whatever becomes of it."""
    words: list[str] = []
    parts = []
    for number in range(chance.randint(1, 80)):
        if chance.random() < 0.35:
            words.append(f"w{number}w")
            parts.append(words[-1])
        else:
            parts.append(chance.choice(PARTS))
    return "".join(parts), words


def check_post(source: str, words: list[str]) -> str:
    html = render(source)
    check_html(html)
    shown = Walk(html).text + html
    assert [word for word in words if word not in shown] == [], source
    return "post"


@contextmanager
def watched(what: object) -> Iterator[None]:
    """A hang is a failure that names what hung, not a suite that never ends."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"took longer than {LONGEST_SECONDS} s: {what!r}")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(LONGEST_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def answers_of(count: int, seed: int = 0) -> Counter[str]:
    chance, known = random.Random(seed), seeds()
    ends: Counter[str] = Counter()
    for _ in range(count):
        body = broken(chance, chance.choice(known))
        with watched(body):
            ends[check_answer(body)] += 1
    return ends


def posts_of(count: int, seed: int = 0) -> Counter[str]:
    chance = random.Random(seed)
    ends: Counter[str] = Counter()
    for _ in range(count):
        source, words = random_post(chance)
        with watched(source):
            ends[check_post(source, words)] += 1
    return ends


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else COUNT
    kinds: tuple[Callable[[int], Counter[str]], ...] = (answers_of, posts_of)
    for kind in kinds:
        began = time.monotonic()
        print(f"{kind.__name__}: {dict(kind(count))} in {time.monotonic() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
