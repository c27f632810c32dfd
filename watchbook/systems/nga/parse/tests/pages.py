"""Made-up HTML pages of the forum: the same rows as the JSON answers, as a browser gets them."""

from __future__ import annotations

from typing import Any

from watchbook.systems.nga.parse.tests.answers import USERS, dumped


def topic_html(*posts: dict[str, Any], pages: tuple[int, int] | None = None, **options: Any) -> bytes:
    """`pages` is (all, this one); a topic of one page has no pager."""
    total = options.get("total", max((one["lou"] for one in posts), default=0) + 1)
    pager = f"var __PAGE = {{0:'/read.php?tid=500',1:{pages[0]},2:{pages[1]},3:20}};" if pages else ""
    vote = options.get("vote", "")
    return (
        "<html><head><title>[讨论]标题 NGA玩家社区</title><script>"
        "var __CURRENT_TID=500,__CURRENT_FID=7;\nvar __CHARSET='GBK';\n__ATTACH_BASE_VIEW = 'img.nga.cn';\n"
        f"{pager}</script></head><body><h1 id='currentTopicName'>[讨论]标题</h1>"
        f"<script>commonui.userInfo.setAll( {dumped(USERS)} )\n"
        f"commonui.postArg.setDefault(7,0,500,4001,{options.get('bits', 0)},'','','','{vote}','',0,{total - 1},"
        "1782533400,20)</script><!--postliststart-->"
        + options.get("before", "")
        + "".join(_floor(one) for one in posts)
        + options.get("ending", "</body></html>")
    ).encode("gb18030")


def _floor(one: dict[str, Any]) -> str:
    n, pid = one["lou"], one["pid"]
    holder = "p" if n == 0 else "span"
    edited = (
        f"<span id='alertc{n}'></span><script>commonui.loadAlertInfo('{one['alterinfo']}','alertc{n}')</script>"
        if one["alterinfo"]
        else ""
    )
    files = [
        {"aid": 1, "url": file["attachurl"], **{k: v for k, v in file.items() if k != "attachurl"}}
        for file in (one["attachs"] or {}).values()
    ]
    attached = (
        f"<script>ubbcode.attach.load('postattach{n}','postcontent{n}',{dumped(files)},{pid},500,4001,1)</script>"
        if files
        else ""
    )
    return (
        f"<table class='forumbox postbox'><tr id='post1strow{n}' class='postrow row1'><td><span id='posterinfo{n}'>"
        f"<a href='nuke.php?func=ucp&uid={one['authorid']}' id='postauthor{n}'></a></span></td>"
        f"<td id='postcontainer{n}'><a id='pid{pid}Anchor'></a><a name='l{n}'></a><span id='postInfo{n}'>"
        f"<span id='postdate{n}' title='reply time'>{one['postdate']}</span></span>"
        f"<span id='postcontentandsubject{n}'><h3 id='postsubject{n}'>{one['subject']}</h3>"
        f"<{holder} id='postcontent{n}' class='postcontent ubbcode'>{one['content']}</{holder}></span>"
        f"{edited}{attached}<div id='postsign{n}'></div></td></tr></table>{proc(n, one)}"
    )


def proc(first: Any, one: dict[str, Any]) -> str:
    n = one["lou"]
    shown = first if isinstance(first, int) else f"'{first}'"
    names = ("postcontainer", "postsubject", "postcontent", "postsign", "posterinfo", "postInfo", "postBtnPos")
    elements = ",".join(f"$('{name}{n}')" for name in names)
    return (
        f"<script>commonui.postArg.proc( {shown},\n{elements},\n7,500,{one['pid']},{one['type']},4001,"
        f"'{one['authorid']}',{one['postdatetimestamp']},'0,{one['score']},{one['score_2']}',"
        f"{one['content_length']},'','','{one['from_client']}','','',null,0 )</script>"
    )


def list_html(*rows: dict[str, Any], pages: int = 3) -> bytes:
    listed = "".join(_row(number, one) for number, one in enumerate(rows))
    return (
        "<html><head><title>艾泽拉斯议事厅 NGA玩家社区</title><script>var __CURRENT_FID = 7;"
        f"var __PAGE = {{0:'/thread.php?fid=7',1:{pages},2:1,3:35}};</script></head><body>"
        f"<table id='topicrows'><tbody>{listed}</tbody></table></body></html>"
    ).encode("gb18030")


def _row(n: int, one: dict[str, Any]) -> str:
    names = ("t_rc1", "t_tt1", "t_pc1", "t_ta1", "t_pt1", "t_rt1", "t_tr1")
    elements = ",".join(f"'{name}_{n}'" for name in names)
    added = (
        f"<span class='titleadd2'><a href='/thread.php?stid=1'>[{one['added']}]</a></span>" if "added" in one else ""
    )
    return (
        f"<tr class='row1 topicrow'><td class='c1'><a id='t_rc1_{n}' class='replies'>{one['replies']}</a></td>"
        f"<td class='c2'><a href='/read.php?tid={one['tid']}' id='t_tt1_{n}' class='topic'>{one['subject']}</a>"
        f"<span id='t_pc1_{n}'></span>{added}</td><td class='c3'>"
        f"<a href='/nuke.php?func=ucp&uid={one['authorid']}' id='t_ta1_{n}' class='author'"
        f" title='用户ID {one['authorid']}'>{one['author']}</a>"
        f"<span id='t_pt1_{n}' class='silver postdate'>{one['postdate']}</span></td><td class='c4'>"
        f"<a id='t_rt1_{n}' class='replydate'></a><span id='t_tr1_{n}' class='replyer'>{one['lastposter']}</span>"
        "</td></tr>"
        f"<script>commonui.topicArg.add({elements},'{one['fid']}',{one['tid']},'','','{one['quote_from']}',"
        f"{one['postdate']},{one['lastpost']},{one['replies']},{one['type']},'{one['topic_misc']}',"
        "'',null,'',null,'','')</script>"
    )
