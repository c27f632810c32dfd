"""Every tag of the dialect, as readers should see it."""

from __future__ import annotations

import pytest

from watchbook.systems.nga.parse.bbcode import Place, render
from watchbook.systems.nga.parse.bbcode.addresses import Addresses
from watchbook.systems.nga.parse.bbcode.tags import Dice
from watchbook.systems.nga.parse.bbcode.tests.walk import Walk
from watchbook.systems.nga.parse.values import unescape

REL = ' rel="noopener noreferrer nofollow"'
LOADED = ' loading="lazy" referrerpolicy="no-referrer"'
SITE = "https://bbs.nga.cn"
SMILE = "https://img4.nga.cn/ngabbs/post/smile"
FILES = "https://img.nga.cn/attachments"
TOKEN = "#anony_0123456789abcdef0123456789abcdef"


def link(url: str, label: str, data: str = "") -> str:
    return f'<a href="{url}"{data}{REL}>{label}</a>'


CASES = {
    "plain": ("a &lt;b&gt; &amp;amp; 'q'<br/>b", "a &lt;b&gt; &amp;amp; 'q'<br>b"),
    "emoji pairs": ("&#55357;&#56834;", "😂"),
    "inline": ("[b]a[/b][i]b[/i][u]c[/u][del]d[/del][sup]e[/sup][sub]f[/sub]",
               "<b>a</b><i>b</i><u>c</u><del>d</del><sup>e</sup><sub>f</sub>"),
    "colour": ("[color=red]a[/color][color=bgred]b[/color][color=nosuch]c[/color]",
               '<span class="bb-red">a</span><span class="bb-on-red">b</span>c'),
    "size": ("[size=150%]a[/size][size=9999]b[/size][size=x]c[/size]",
             '<span class="bb-size-150">a</span><span class="bb-size-300">b</span>c'),
    "looks that are not kept": ("[font=simsun]a[/font][span x=1]b[/span]", "ab"),
    "capitals": ("[B]a[/b]", "<b>a</b>"),
    "unknown tags": ("[foo]a[/foo] [foo=1] [ b ] [/b] []", "[foo]a[/foo] [foo=1] [ b ] [/b] []"),
    "crossing": ("[b][i]x[/b]y[/i]z", "<b><i>x</i></b><i>y</i>z"),
    "not closed": ("[b]x[quote]y", "<b>x<blockquote>y</blockquote></b>"),
    "escaped brackets": ("&#91;b&#93;x&#91;/b&#93;", "[b]x[/b]"),
    "quote": (
        "[quote][pid=900,100,2]Reply[/pid] [b]Post by [uid=5]某人[/uid] (2026-01-01 10:00):[/b]<br/><br/>hi[/quote]x",
        "<blockquote>"
        + link(f"{SITE}/read.php?tid=100&amp;pid=900&amp;to=1", "Reply", ' data-pid="900" data-tid="100"')
        + f" <b>Post by {link(SITE + '/nuke.php?func=ucp&amp;uid=5', '某人')} (2026-01-01 10:00):</b><br><br>hi"
        "</blockquote>x"),
    "quote of the opening post": (
        "[quote][tid=100]Topic[/tid] x[/quote]",
        f"<blockquote>{link(SITE + '/read.php?tid=100', 'Topic', ' data-tid=' + chr(34) + '100' + chr(34))} x"
        "</blockquote>"),
    "quote cut inside a tag": ("[quote]a [b]b[/quote]c", "<blockquote>a <b>b</b></blockquote>c"),
    "ids in either order": (
        "[pid=100,900,1]x[/pid]",
        link(f"{SITE}/read.php?tid=100&amp;pid=900&amp;to=1", "x", ' data-pid="900" data-tid="100"')),
    "first floor by post": (
        "[pid=0,100,1]x[/pid]", link(f"{SITE}/read.php?tid=100", "x", ' data-pid="0" data-tid="100"')),
    "ids as body": (
        "[tid]5[/tid][stid]6[/stid][pid]7[/pid]",
        link(f"{SITE}/read.php?tid=5", "5", ' data-tid="5"') + link(f"{SITE}/thread.php?stid=6", "6")
        + link(f"{SITE}/read.php?pid=7&amp;opt=128", "7", ' data-pid="7" data-tid="0"')),
    "collection": ("[stid=6]x[/stid]", link(f"{SITE}/thread.php?stid=6", "x")),
    "anonymous": (f"[uid]{TOKEN}[/uid][color=gray](9楼)[/color]", '甲高傅庚聂涂<span class="bb-gray">(9楼)</span>'),
    "page-local author": ("[uid=-3]x[/uid]", "x"),
    "mention": ("[@某某] [@123] [@UID4]", f'<span class="bb-mention">@某某</span> '
                f"{link(SITE + '/nuke.php?func=ucp&amp;uid=123', '@123')} "
                f"{link(SITE + '/nuke.php?func=ucp&amp;uid=4', '@UID4')}"),
    "links": (
        "[url=http://e.com/?a=1&amp;b=2]x[/url][url]https://e.com/[/url][url=/read.php?tid=1]y[/url][url=//e.com]z[/url]",
        link("http://e.com/?a=1&amp;b=2", "x") + link("https://e.com/", "https://e.com/")
        + link(f"{SITE}/read.php?tid=1", "y") + link("https://e.com", "z")),
    "link to a page of the forum": ("[url=read.php?tid=9]x[/url]", link(f"{SITE}/read.php?tid=9", "x")),
    "link in a link": ("[url=http://e.com/]a[url=http://f.com/]b[/url]",
                       link("http://e.com/", "a[url=http://f.com/]b")),
    "smilies": ("[s:ac:喷][s:1][s:ac:没有]",
                f'<img class="bb-smiley" src="{SMILE}/ac18.png" alt="[s:ac:喷]"{LOADED}>'
                f'<img class="bb-smiley" src="{SMILE}/smile.gif" alt="[s:1]"{LOADED}>[s:ac:没有]'),
    "pictures": (
        "[img]./mon_1/a.jpg.medium.jpg[/img][img0]./a.png[/img][img-1]http://e.com/q.png[/img][img50]./b.gif.thumb_ss.jpg[/img]",
        "".join(f'<img src="{url}" alt=""{LOADED}>' for url in (
            f"{FILES}/mon_1/a.jpg", f"{FILES}/a.png", "http://e.com/q.png", f"{FILES}/b.gif"))),
    "pictures whose number is repeated": (
        "[img50]./b.gif[/img50][img0]./a.png[/img0]",
        "".join(f'<img src="{FILES}/{name}" alt=""{LOADED}>' for name in ("b.gif", "a.png"))),
    "host that is no more": ("[img]http://img.nga.178.com/attachments/a.jpg[/img]",
                             f'<img src="{FILES}/a.jpg" alt=""{LOADED}>'),
    "picture that was not loaded": ("[noimg]./x.jpg[/noimg]", '<span class="bb-unseen">./x.jpg</span>'),
    "address replacement": ("[urlreplace]http://e.com/p/[/urlreplace][img].1/x.png[/img][img].2/x.png[/img]",
                            f'http://e.com/p/<img src="http://e.com/p/x.png" alt=""{LOADED}>[img].2/x.png[/img]'),
    "media": ("[flash=video]./v.mp4[/flash][attach]./f.zip[/attach][iframe=100,200]http://e.com/f[/iframe]",
              link(f"{FILES}/v.mp4", "./v.mp4") + link(f"{FILES}/f.zip", "./f.zip") + link("http://e.com/f", "http://e.com/f")),
    "code": ("[code=lua]a [b]x[/b] &lt;i&gt;<br/>  b [/code[/code]c",
             '<pre class="bb-code"><code>a [b]x[/b] &lt;i&gt;\n  b [/code</code></pre>c'),
    "collapse": ("[collapse=标题 &lt;1&gt;]x[/collapse][collapse]y[/collapse]",
                 "<details><summary>标题 &lt;1&gt;</summary>x</details><details><summary>…</summary>y</details>"),
    "lists": ("[list]<br/>[*]a<br/>[*]b[/list][list=1][*]c[/list]x[*]y",
              "<ul><li>a<br></li><li>b</li></ul><ol><li>c</li></ol>x[*]y"),
    "text before the first item": ("[list]a[*]b[/list]", "<ul><li>a</li><li>b</li></ul>"),
    "headings": ("===一===<br/>x<br/>---[b]二[/b]---<br/>[h]三[/h]", "<h4>一</h4>x<br><h4><b>二</b></h4><h4>三</h4>"),
    "lines that are no headings": ("======<br/>a===b===<br/>===x---", "======<br>a===b===<br>===x---"),
    "sides": ("[align=center]a[/align][l]b[/l][r 20 40]c[/r][align=bad]d[/align]",
              '<div class="bb-center">a</div><div class="bb-left">b</div><div class="bb-right">c</div><div>d</div>'),
    "table": (
        "[table]<br/>[tr]<br/>[td33]a[/td][td colspan=2 rowspan2 width50]b[/td][/tr]<br/>"
        "[tr][td25 top]c[/td][/tr][/table]x",
        '<table><tbody><tr><td>a</td><td colspan="2" rowspan="2">b</td></tr><tr><td>c</td></tr></tbody></table>x'),
    "table that is not closed": ("[table][td]a[td]b[tr]c",
                                 "<table><tbody><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></tbody></table>"),
    "table in a cell": ("[table][tr][td][table][tr][td]a[/td][/tr][/table]b[/td][/tr][/table]",
                        "<table><tbody><tr><td><table><tbody><tr><td>a</td></tr></tbody></table>b</td></tr></tbody></table>"),
    "cells without a table": ("[tr][td]a[/td]", "[tr][td]a[/td]"),
    "other blocks": (
        "[randomblock]a[/randomblock][crypt]b[/crypt][fixsize height 1 2]c[/fixsize][headline]d[/headline]"
        "[comment x]e[/comment x][markdown]f[/markdown][album=相册]g[/album]",
        "<div>a</div><div>b</div><div>c</div><div>d</div><div>e</div><div>f</div><div><b>相册</b><br>g</div>"),
    "punished": ("[lessernuke]a[/lessernuke][lessernuke2]b[/lessernuke2]",
                 '<div class="bb-punished">a</div><div class="bb-punished">b</div>'),
}  # fmt: skip


@pytest.mark.parametrize(("source", "html"), CASES.values(), ids=CASES.keys())
def test_rendering(source, html):
    found = render(source)
    assert found == html
    Walk(found)


@pytest.mark.parametrize(
    "source",
    [
        "[url=javascript:alert(1)]x[/url]",
        "[url=JaVaScRiPt:alert(1)]x[/url]",
        "[url=java&#10;script:alert(1)]x[/url]",
        "[url= data:text/html,x]x[/url]",
        "[url=http://user:pw@e.com/]x[/url]",
        "[url=http://]x[/url]",
        "[url=http://[/url]",
        "[img]http://a:b@e.com/x.png[/img]",
        "[img]javascript:alert(1)[/img]",
        "[img]x.png[/img]",
        "[img]/logout[/img]",
        "[flash]vbscript:x[/flash]",
        "[iframe=1,1]javascript:x[/iframe]",
        "[pid=abc]x[/pid]",
        "[tid=-1]x[/tid]",
    ],
)
def test_addresses_that_lead_nowhere_safe_stay_text(source):
    html = render(source)
    assert Walk(html).text == unescape(source)
    assert "<a" not in html
    assert "<img" not in html


def test_quotes_in_addresses_do_not_leave_their_attribute():
    html = render(
        "[url=http://e.com/&quot;onmouseover=&quot;x]y[/url][img]http://e.com/&quot;&gt;&lt;script&gt;.png[/img]"
    )
    walked = Walk(html)
    assert walked.text == "y"
    assert "script>" not in html


def test_other_sites_make_their_own_links():
    place = Place(addresses=Addresses("http://127.0.0.1:9000", "127.0.0.1:9000/attachments"))
    html = render("[tid=5]a[/tid][img]./x.png[/img]", place)
    assert 'href="http://127.0.0.1:9000/read.php?tid=5"' in html
    assert 'src="https://127.0.0.1:9000/attachments/x.png"' in html


def test_dice_are_rolled_as_the_site_rolls_them():
    seed = (5 + 100 + 200) * 9301 + 49297
    first = seed % 233280
    second = (first * 9301 + 49297) % 233280
    wanted = f"d100({first * 100 // 233280 + 1})+d6({second * 6 // 233280 + 1})+7"
    place = Place(tid=100, pid=200, author_id=5)
    assert render("[dice]d100+1d6+7[/dice]", place).startswith(f'<span class="bb-dice">ROLL : d100+1d6+7={wanted}=')


def test_dice_continue_where_the_last_ones_ended():
    dice = Dice(author_id=5, tid=100, pid=200)
    assert dice.roll("d1000") != dice.roll("d1000")


def test_dice_in_a_collapsed_block_have_a_seed_of_their_own():
    old, new = (Dice(author_id=5, tid=tid, pid=200) for tid in (100, 20_000_000))
    assert old.roll("d1000", 0) == Dice(author_id=5, tid=100, pid=200).roll("d1000", 1)
    assert new.roll("d1000", 0) == Dice(author_id=4, tid=20_000_000, pid=200).roll("d1000", 1)


@pytest.mark.parametrize("author", [None, 0, -1])
def test_dice_of_anonymous_authors_are_not_invented(author):
    assert render("[dice]d100[/dice]", Place(tid=1, author_id=author)) == '<span class="bb-dice">ROLL : d100</span>'


@pytest.mark.parametrize(
    ("said", "rolled"), [("11d6", "ERROR"), ("d100001", "ERROR"), ("d0", "ERROR"), ("x", None), ("", None)]
)
def test_impossible_dice(said, rolled):
    assert Dice(author_id=5, tid=1, pid=1).roll(said) == rolled
