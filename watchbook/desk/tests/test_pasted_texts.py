"""The table of pasted texts: what each is recognised as, or the sentence that refuses it. No request is sent."""

from __future__ import annotations

import pytest

from watchbook.core.sources.recognise import recognise

pytestmark = pytest.mark.django_db

SITE, BOARD, TOPIC = "sitemaps:website", "nga:board", "nga:topic"
SUB, POST, NOTE = "reddit:subreddit", "reddit:post", "notes:note"
PROFILE = "https://www.xiaohongshu.com/user/profile/5f00aa"
SHARE = "【夏日灯笼教程 - 小灯 | 小红书】 😆 abCd12 😆 https://www.xiaohongshu.com/discovery/item/66f0c1d2?source=x&xsec_token=AB12"
SHORT = "12 小灯发布了一篇小红书笔记，快来看吧！😆 http://xhslink.com/a/Abc123，复制本条信息，打开【小红书】App查看精彩内容！"

# pasted text, system and kind, canonical value
RECOGNISED = [
    ("example.com", SITE, "https://example.com/"),
    ("  https://www.example.com  ", SITE, "https://www.example.com/"),
    ("HTTPS://WWW.EXAMPLE.COM/Shop", SITE, "https://www.example.com/Shop"),
    ("www.example.com/shop?utm_source=mail&id=7", SITE, "https://www.example.com/shop?utm_source=mail&id=7"),
    ("<https://example.com/a>", SITE, "https://example.com/a"),
    ("“https://example.com/a”", SITE, "https://example.com/a"),
    ("look at https://example.com/a, please.", SITE, "https://example.com/a"),
    ("这个网站不错：https://example.com/新闻。", SITE, "https://example.com/%E6%96%B0%E9%97%BB"),
    ("https://例子.中国/", SITE, "https://xn--fsqu00a.xn--fiqs8s/"),
    ("http://m.example.com/x#part", SITE, "http://m.example.com/x"),
    ("https//example.com", SITE, "https://example.com/"),
    ("http:/example.com/a", SITE, "http://example.com/a"),
    ("htps://example.com", SITE, "https://example.com/"),
    ("ttps://example.com", SITE, "https://example.com/"),
    ("https：//example.com", SITE, "https://example.com/"),
    ("www.example。com", SITE, "https://www.example.com/"),
    ("//example.com/a", SITE, "https://example.com/a"),
    ("hxxps://example[.]com/a", SITE, "https://example.com/a"),
    ("example,com", SITE, "https://example.com/"),
    ("www.example .com/shop", SITE, "https://www.example.com/shop"),
    ("feed://example.com/rss", "sitemaps:feed", "http://example.com/rss"),
    ("feed:https://example.com/rss", "sitemaps:feed", "https://example.com/rss"),
    ("https://example.com/sitemap.xml", "sitemaps:sitemap", "https://example.com/sitemap.xml"),
    ("example.com/sitemap_index.xml.gz", "sitemaps:sitemap", "https://example.com/sitemap_index.xml.gz"),
    ("example.com/urls.txt", "sitemaps:sitemap", "https://example.com/urls.txt"),
    ("https://example.com/feed/", "sitemaps:feed", "https://example.com/feed/"),
    ("https://example.com/blog/atom.xml", "sitemaps:feed", "https://example.com/blog/atom.xml"),
    ("https://example.com/news.rss", "sitemaps:feed", "https://example.com/news.rss"),
    ("https://bbs.nga.cn/thread.php?fid=7", BOARD, "7"),
    ("bbs.nga.cn/thread.php?fid=-7955747&page=3", BOARD, "-7955747"),
    ("https://ngabbs.com/thread.php?fid=7&order_by=postdatedesc", BOARD, "7"),
    ("http://nga.178.com/thread.php?fid=7", BOARD, "7"),
    ("https://bbs.ngacn.cc/thread.php?fid=7", BOARD, "7"),
    ("https://m.nga.cn/thread.php?fid=7&rand=1", BOARD, "7"),
    ("https://g.nga.cn/thread.php?FID=7", BOARD, "7"),
    ("fid=7", BOARD, "7"),
    ("https://bbs.nga.cn/read.php?tid=40000123&page=65", TOPIC, "40000123"),
    ("[NGA] 新手渔夫从零到满级 https://nga.178.com/read.php?tid=40000123&_ff=7", TOPIC, "40000123"),
    ("https://ngabbs.com/read.php?tid=40000123#pid1Anchor", TOPIC, "40000123"),
    ("tid: 40000123", TOPIC, "40000123"),
    ("https://bbs.nga.cn/nuke.php?func=ucp&uid=12345", "nga:author", "12345"),
    ("http://nga.178.com/thread.php?authorid=12345&fid=7", "nga:author", "12345"),
    ("in:nga/7 type:topic", "search:keyword", "in:nga/7 type:topic"),
    ("r/gardening", SUB, "r/gardening"),
    ("/r/Gardening/", SUB, "r/Gardening"),
    ("R/gardening", SUB, "r/gardening"),
    ("https://www.reddit.com/r/gardening/", SUB, "r/gardening"),
    ("old.reddit.com/r/gardening/top?t=week", SUB, "r/gardening"),
    ("https://new.reddit.com/r/gardening", SUB, "r/gardening"),
    ("https://m.reddit.com/r/gardening/?utm_medium=android_app", SUB, "r/gardening"),
    ("https://np.reddit.com/r/gardening/wiki/index", SUB, "r/gardening"),
    ("https://www.reddit.com/r/gardening/s/AbCdEf12", POST, "s/AbCdEf12 r/gardening"),
    ("https://www.reddit.com/r/gardening/comments/1abcd2/my_roses/?utm_source=share", POST, "1abcd2 r/gardening"),
    ("https://www.reddit.com/comments/1abcd2", POST, "1abcd2"),
    ("https://redd.it/1abcd2", POST, "1abcd2"),
    ("https://www.reddit.com/gallery/1abcd2", POST, "1abcd2"),
    ("https://www.reddit.com/r/gardening.rss", SUB, "r/gardening"),
    ("https://amp.reddit.com/r/gardening/.json", SUB, "r/gardening"),
    ("Check this: https://old.reddit.com/r/gardening/comments/1ABCD2/", POST, "1abcd2 r/gardening"),
    ("https://www.xiaohongshu.com/explore/66f0c1d2?xsec_token=AB12=&xsec_source=pc_feed", NOTE, "66f0c1d2"),
    ("https://www.xiaohongshu.com/search_result/66f0c1d2?xsec_token=AB12", NOTE, "66f0c1d2"),
    ("https://www.xiaohongshu.com/user/profile/5f00/66f0c1d2?xsec_token=AB12", NOTE, "66f0c1d2"),
    (PROFILE, "notes:creator", PROFILE),
    (SHARE, NOTE, "66f0c1d2"),
    (SHORT, "notes:short_link", "http://xhslink.com/a/Abc123"),
    ("xhslink.com/o/9ZzYy", "notes:short_link", "https://xhslink.com/o/9ZzYy"),
    ("paper lantern", "search:keyword", "paper lantern"),
    ("纸灯笼", "search:keyword", "纸灯笼"),
    ('"last ferry" 22:40', "search:keyword", '"last ferry" 22:40'),
    ("report.pdf", "search:keyword", "report.pdf"),
    ("gardening", "search:keyword", "gardening"),
    ("lantern,paper", "search:keyword", "lantern,paper"),
]

# pasted text, code, words of the sentence
REFUSED = [
    ("", "empty", "Paste an address"),
    ("   \t\n ", "empty", "Paste an address"),
    ("!!! ???", "empty", "no words"),
    ("lantern " * 700, "too_long", "too long"),
    ("ftp://example.com/file", "bad_scheme", "http://"),
    ("javascript:alert(1)", "bad_scheme", "javascript"),
    ("file:///etc/passwd", "bad_scheme", "file"),
    ("data:text/html,<b>x</b>", "bad_scheme", "data"),
    ("mailto:mina@example.com", "bad_scheme", "mailto"),
    ("http://127.0.0.1/admin", "private_address", "Paste a public address"),
    ("localhost:8000", "bad_port", ""),
    ("localhost", "private_address", ""),
    ("192.168.1.1", "private_address", ""),
    ("http://[::1]/", "private_address", ""),
    ("http://169.254.169.254/latest/meta-data", "private_address", ""),
    ("http://2130706433/", "bad_host", "such as www.example.com"),
    ("http://0x7f.1/", "bad_host", ""),
    ("https://user:secret@example.com/", "userinfo", ""),
    ("https://example.com:22/", "bad_port", ""),
    ("https://exa mple.com", "bad_host", "whole address"),
    ("http://" + "a" * 3000 + ".com", "bad_host", ""),
    ("https://bbs.nga.cn/", "no_board", "fid="),
    ("https://ngabbs.com/read.php?pid=12345&opt=128", "post", "tid="),
    ("https://bbs.nga.cn/thread.php?stid=12345", "collection", "fid="),
    ("https://bbs.nga.cn/thread.php?fid=7;drop", "no_board", "fid="),
    ("u/some_person", "user", "communities"),
    ("https://www.reddit.com/user/some_person/", "user", "communities"),
    ("https://www.reddit.com/r/gardening+roses/", "several", "one community"),
    ("https://www.reddit.com/r/all/", "several", "one community"),
    ("r/popular", "several", "one community"),
    ("https://reddit.app.link/AbCd", "app", "browser"),
    ("https://i.redd.it/abcdef.jpg", "media", "post"),
    ("https://www.reddit.com/", "no_community", "r/gardening"),
    ("https://www.xiaohongshu.com/explore", "no_note", "note"),
    ("https://xhslink.com/", "no_note", "note"),
]


@pytest.mark.parametrize(("text", "what", "key"), RECOGNISED, ids=lambda value: str(value)[:40])
def test_pasted_text_is_recognised(text: str, what: str, key: str) -> None:
    found = recognise(text).found
    assert found is not None, recognise(text).refusal
    assert f"{found.system}:{found.kind}" == what
    # A note keeps the address with its token, which the platform requires.
    assert key in found.key if what == NOTE else found.key == key


@pytest.mark.parametrize(("text", "code", "words"), REFUSED, ids=lambda value: str(value)[:40])
def test_pasted_text_is_refused_with_a_sentence(text: str, code: str, words: str) -> None:
    refusal = recognise(text).refusal
    assert refusal is not None, recognise(text).found
    assert (refusal.code, words in refusal.message, refusal.message[-1]) == (code, True, ".")


def test_table_has_sixty_texts_and_each_once() -> None:
    texts = [row[0] for row in (*RECOGNISED, *REFUSED)]
    assert len(set(texts)) == len(texts) >= 60


def test_other_readings_are_offered_and_can_be_chosen() -> None:
    both = recognise("https://bbs.nga.cn/thread.php?fid=7")
    assert [other.system for other in both.others] == ["sitemaps", "pages", "search"]
    chosen = recognise("https://bbs.nga.cn/thread.php?fid=7", "sitemaps").found
    assert chosen is not None
    assert (chosen.system, chosen.kind) == ("sitemaps", "website")


def test_repaired_address_is_named() -> None:
    found = recognise("htps://example.com").found
    assert found is not None
    assert found.hints == ("Read as https://example.com/",)
