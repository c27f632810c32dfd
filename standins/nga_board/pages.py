"""The same answers as pages of HTML: elements with stable ids, and the calls of the site's scripts between them."""

from __future__ import annotations

from typing import Any

from standins.nga_board.answers import People, RowWriter, files_data, hot_posts
from standins.nga_board.dialect import Dialect, in_script
from standins.nga_board.layout import page_count
from standins.nga_board.records import OPENING, Post, Row, Topic
from standins.nga_board.wording import minute
from standins.nga_board.world import World

SUFFIX = "NGA玩家社区"
_ELEMENTS = ("postcontainer", "postsubject", "postcontent", "postsign", "posterinfo", "postInfo", "postBtnPos")
_ROW_ELEMENTS = ("t_rc1", "t_tt1", "t_pc1", "t_ta1", "t_pt1", "t_rt1", "t_tr1")
PLAIN = Dialect.plain()


def topic_page(world: World, topic: Topic, page: int, dialect: Dialect) -> bytes:
    people = People(PLAIN)
    opening = people.id_of(topic.opening)
    floors = "".join(_floor(topic, post, people) for post in topic.shown_on(page))
    pager = f"var __PAGE = {{0:'/read.php?tid={topic.tid}',1:{topic.pages},2:{page},3:20}};" if topic.pages > 1 else ""
    name = world.names.get(topic.fid, "")
    return (
        f"<!DOCTYPE html><html><head><meta http-equiv='Content-Type' content='text/html; charset=GBK'>"
        f"<title>{topic.title} {SUFFIX}</title><script>var __CURRENT_UID=parseInt('0',10),"
        f"__CURRENT_FID=parseInt('{topic.fid}',10),__CURRENT_TID=parseInt('{topic.tid}',10);\n"
        f"var __NOW={world.now};var __CHARSET='GBK';var __ATTACH_BASE_VIEW='img.nga.cn';\n{pager}</script></head>"
        f"<body><h2 id='currentForumName'>{name}</h2><h1 id='currentTopicName'>{topic.title}</h1>"
        f"<script>commonui.userInfo.setAll( {in_script(people.data(topic.fid), dialect)} )\n"
        f"commonui.postArg.setDefault({topic.fid},0,{topic.tid},{opening},{topic.display},'','','',"
        f"'{topic.poll}','',{topic.type},{topic.replies},{topic.last_post_at},20)</script>"
        f"<div id='m_posts'><!--postliststart-->{floors}<!--postlistend--></div></body></html>"
    ).encode("gbk")


def _floor(topic: Topic, post: Post, people: People) -> str:
    n, tag = post.lou, "p" if post.lou == 0 else "span"
    edited = post.content.edited_at
    stamp = (
        f"<span id='alertc{n}'></span><script>"
        f"commonui.loadAlertInfo('[E{edited} {post.content.edited_by}]\t','alertc{n}')</script>"
        if edited
        else ""
    )
    # Notes and copies of liked replies are printed before the floor's own call, and again as floors.
    notes = "".join(
        f"<span class='comment_for_{post.pid}'><span id='postcontent_{note.pid}'>{note.source}</span>"
        f"{_proc(topic, note, people, repr('_' + str(note.pid)))}</span>"
        for note in topic.notes_of(post.pid)
        if not note.is_absent
    )
    hot = "".join(
        f"<span class='hightlight_for_{n}'><span id='postcontent__{one.pid}'>{one.source}</span>"
        f"{_proc(topic, one, people, repr('__' + str(one.pid)))}</span>"
        for one in (hot_posts(topic) if n == 0 else [])
    )
    uid = -1 if post.token else post.uid
    return (
        f"<table class='forumbox postbox'><tr id='post1strow{n}' class='postrow row{n % 2 + 1}'><td>"
        f"<span id='posterinfo{n}'><a href='nuke.php?func=ucp&uid={uid}' id='postauthor{n}' class='author'></a></span>"
        f"</td><td id='postcontainer{n}'><a id='pid{post.pid}Anchor'></a><a name='l{n}'></a><span id='postInfo{n}'>"
        f"<span id='postdate{n}' title='reply time'>{minute(post.posted_at)}</span></span>"
        f"<span id='postcontentandsubject{n}'><h3 id='postsubject{n}'>{post.subject}</h3><br/>"
        f"<{tag} id='postcontent{n}' class='postcontent ubbcode'>{post.source}</{tag}></span>{notes}{hot}{stamp}"
        f"<div id='postsign{n}'></div></td></tr></table>{_files(topic, post)}{_proc(topic, post, people, str(n))}"
    )


def _files(topic: Topic, post: Post) -> str:
    if not post.attachments:
        return ""
    rows = [
        {"aid": number, "url": row.pop("attachurl"), **row}
        for number, row in enumerate(files_data(post.attachments).values())
    ]
    return (
        f"<script>ubbcode.attach.load('postattach{post.lou}','postcontent{post.lou}',"
        f"{in_script(rows, PLAIN)},{post.pid},{topic.tid},{post.uid},{post.posted_at},0)</script>"
    )


def _proc(topic: Topic, post: Post, people: People, first: str) -> str:
    elements = ",".join(f"$('{name}{post.lou}')" for name in _ELEMENTS)
    bits = post.type | (topic.type | OPENING if post.lou == 0 else 0)
    return (
        f"<script>commonui.postArg.proc( {first},\n{elements},\n{topic.fid},{topic.tid},{post.pid},{bits},"
        f"{topic.opening.uid},'{people.id_of(post)}',{post.posted_at},'0,{post.score},0',{len(post.source)},'','',"
        f"'8 Android','','',null,0 )</script>"
    )


def list_page(world: World, fid: int, rows: list[Row], page: int) -> bytes:
    pages = page_count(world, fid)
    pager = f"var __PAGE = {{0:'/thread.php?fid={fid}',1:{pages},2:{page},3:35}};" if pages > 1 else ""
    writer = RowWriter(world, PLAIN)
    listed = "".join(_row(n, writer.row(row, is_marked=False)) for n, row in enumerate(rows))
    name = world.names.get(fid, "")
    return (
        f"<!DOCTYPE html><html><head><meta http-equiv='Content-Type' content='text/html; charset=GBK'>"
        f"<title>{name} {SUFFIX}</title><script>var __CURRENT_UID=parseInt('0',10),__CURRENT_FID=parseInt('{fid}',10);"
        f"var __CHARSET='GBK';{pager}</script></head><body><h2 id='currentForumName'>{name}</h2>"
        f"<div id='toppedtopic'>[b]版规[/b]</div><table id='topicrows'><tbody>{listed}</tbody></table></body></html>"
    ).encode("gbk")


def _row(n: int, row: dict[str, Any]) -> str:
    elements = ",".join(f"'{name}_{n}'" for name in _ROW_ELEMENTS)
    uid = row["authorid"] if isinstance(row["authorid"], int) else -1
    name = row.get("parent", {}).get("2", "")
    added = f"<span class='titleadd2'><a href='/thread.php?stid=1' class='silver'>[{name}]</a></span>" if name else ""
    return (
        f"<tr class='row{n % 2 + 1} topicrow'><td class='c1'><a id='t_rc1_{n}' href='/read.php?tid={row['tid']}'"
        f" class='replies'>{row['replies']}</a></td><td class='c2'><a href='/read.php?tid={row['tid']}' id='t_tt1_{n}'"
        f" class='topic'>{row['subject']}</a><span id='t_pc1_{n}'></span>{added}</td><td class='c3'>"
        f"<a href='/nuke.php?func=ucp&uid={uid}' id='t_ta1_{n}' class='author' title='用户ID {uid}'>{row['author']}</a>"
        f"<span id='t_pt1_{n}' class='silver postdate'>{row['postdate']}</span></td><td class='c4'>"
        f"<a id='t_rt1_{n}' href='/read.php?tid={row['tid']}&page=e#a' class='replydate'>{row['lastpost']}</a>"
        f"<span id='t_tr1_{n}' class='replyer'>{row['lastposter']}</span></td></tr>"
        f"<script>commonui.topicArg.add({elements},'{row['fid']}',{row['tid']},'','','{row['quote_from']}',"
        f"{row['postdate']},{row['lastpost']},{row['replies']},{row['type']},'{row['topic_misc']}','',null,'',null,'',"
        f"'')</script>"
    )


def message_page(said: str, code: int, *, script: str = "") -> bytes:
    """An error as a page: the title lacks the site's name, and the encoding is the larger one."""
    return (
        f"<html><head><meta http-equiv='Content-Type' content='text/html; charset=GB18030'><title>{said}</title>"
        f"{script}</head><body>(ERROR:<!--msgcodestart-->{code}<!--msgcodeend-->)<!--msginfostart-->{said}<br/>"
        f"<a href='/'>[返回]</a><!--msginfoend--></body></html>"
    ).encode("gb18030")
