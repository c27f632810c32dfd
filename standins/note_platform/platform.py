"""The platform itself: its web endpoints, its public pages, and a crawler service in front of the same notes."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

from standins.note_platform import shapes
from standins.note_platform.ledger import ACCOUNT_MOODS, NOTE_MOODS, Account, Ledger, NoteEntry
from standins.server import Answer, Request, Site

SEARCH, FEED = "/api/sns/web/v1/search/notes", "/api/sns/web/v1/feed"
POSTED, COMMENTS = "/api/sns/web/v1/user_posted", "/api/sns/web/v2/comment/page"
REMOTE_SEARCH, REMOTE_DETAIL = "/remote/search", "/remote/detail"
REMOTE_CREATOR, REMOTE_COMMENTS, REMOTE_CAPABILITIES = "/remote/creator", "/remote/comments", "/remote/capabilities"
EXPLORE, ITEM, MEDIA = "/explore/", "/discovery/item/", "/media/"

# How the web and a crawler service name types and times.
KINDS = {0: "", 1: "video", 2: "normal", "all": "", "video": "video", "normal": "normal"}
SPANS = {
    "一天内": 86_400,
    "一周内": 604_800,
    "半年内": 15_811_200,
    "day": 86_400,
    "week": 604_800,
    "half_year": 15_811_200,
}

# What a mood says: (code, words) in the envelope.
SAYS = {
    "login": (-100, "登录已过期"),
    "restricted": (300011, "账号异常"),
    "ip_block": (300012, "网络连接异常"),
    "stale": (300031, "当前笔记暂时无法浏览"),
    "walled": (10013, "当前环境异常"),
    "gone": (-510000, "笔记不存在"),
    "private": (-510001, "仅作者可见"),
}


class NotePlatform(Site):
    """`url` is its address, `remote` that of the crawler service. Searching wants a known account, like reading."""

    def __init__(self, *, host: str = "127.0.0.1", port: int = 0) -> None:
        super().__init__(host=host, port=port)
        self.ledger = Ledger()
        self.needs_token = True
        # Off: it ignores type, time and order, as a service of the first contract does.
        self.knows_narrowing = True
        # Off: a crawler service of the first contract, which does not know the question either.
        self.knows_creators = True
        self.knows_comments = True
        self.listing_size = 30
        # Comments of a page, and answers that are listed below each.
        self.comments_size, self.answers_size = 10, 3
        # Off: a listing without the mark of pinned notes.
        self.marks_pinned = True
        self.now: Callable[[], float] = time.time
        self.sets_cookies: dict[str, str] = {}
        self._life = random.Random(7)
        self.faults.on("*", when=self._hangs).hang()

    @property
    def remote(self) -> str:
        return self.address("/remote")

    def add(self, title: str, text: str = "", **more: Any) -> NoteEntry:
        return self.ledger.add(title, text, **{"media": self.address("/media"), **more})

    def add_many(self, count: int, title: str = "Lantern") -> list[NoteEntry]:
        return [self.add(f"{title} {number}") for number in range(1, count + 1)]

    def add_account(self, session: str) -> str:
        """Gives the cookie line that a browser of this account would send."""
        self.ledger.accounts[session] = Account(session)
        return f"a1={session:0<52.52}; web_session={session}; webId={session:0<32.32}"

    def mood(self, note_id: str, mood: str) -> None:
        if mood not in NOTE_MOODS:
            raise ValueError(f"no such mood: {mood}")
        self.ledger.notes[note_id].mood = mood

    def account_mood(self, session: str, mood: str) -> None:
        if mood not in ACCOUNT_MOODS:
            raise ValueError(f"no such mood: {mood}")
        self.ledger.accounts[session].mood = mood

    def live(self, count: int = 3) -> None:
        """Users write; now and then one deletes a note."""
        for _ in range(count):
            self.add(f"Lantern walk {len(self.ledger.notes) + 1}", "Lights along the river.", tags=["lantern"])
        if self._life.random() < 0.3:
            self._life.choice(list(self.ledger.notes.values())).mood = "gone"

    def respond(self, request: Request) -> Answer:
        doors: dict[str, Callable[[Request], Answer]] = {
            SEARCH: self._search,
            REMOTE_SEARCH: self._search,
            FEED: self._feed,
            REMOTE_DETAIL: self._feed,
            POSTED: self._posted,
            COMMENTS: self._comments,
        }
        if self.knows_comments:
            doors[REMOTE_COMMENTS] = self._comments
        if self.knows_creators:
            doors |= {REMOTE_CREATOR: self._posted, REMOTE_CAPABILITIES: self._capabilities}
        if request.method == "POST" and request.path in doors:
            return self._with_cookies(doors[request.path](request))
        if request.method == "GET" and request.path.startswith((EXPLORE, ITEM)):
            return self._with_cookies(self._page(request))
        if request.method == "GET" and request.path.startswith(MEDIA):
            return self._file(request)
        return super().respond(request)

    def actions(self) -> dict[str, Callable[..., Any]]:
        return {
            "add": lambda **given: self.add(**given).note_id,
            "add_many": lambda **given: [note.note_id for note in self.add_many(**given)],
            "add_account": self.add_account,
            "mood": self.mood,
            "account_mood": self.account_mood,
            "creator_mood": self.creator_mood,
            "live": self.live,
        }

    def ledger_json(self) -> object:
        return self.ledger.as_json()

    def _search(self, request: Request) -> Answer:
        refusal = self._refuses_account(request)
        if refusal is not None:
            return refusal
        wish = request.json()
        keyword, number, size = str(wish["keyword"]), int(wish.get("page", 1)), int(wish.get("page_size", 20))
        found = self.ledger.find(keyword, **self._narrowed(wish))
        shown = found[(number - 1) * size : number * size]
        for note in shown:
            note.renew_token()
        self._wrote(request, "search", keyword, "fine", asked=sorted(set(wish) - {"keyword", "page", "page_size"}))
        items = [shapes.suggestion(keyword), *(shapes.search_item(note) for note in shown)]
        return Answer.json(shapes.good({"has_more": number * size < len(found), "items": items}))

    def _narrowed(self, wish: dict[str, Any]) -> dict[str, Any]:
        """Type, time and order of a search, as the web and as a crawler service are asked for them."""
        if not self.knows_narrowing:
            return {}
        labels = [label for one in wish.get("filters", ()) for label in one["tags"]]
        span = SPANS.get(labels[0] if labels else str(wish.get("time_range", "")), 0)
        return {
            "kind": KINDS[wish.get("note_type", 0)],
            "since": int(self.now()) - span if span else 0,
            "is_newest": wish.get("sort") == "time_descending",
        }

    def short_link(self, note: NoteEntry) -> str:
        """The address that people share: it leads to the note and its token."""
        target = f"{self.url}{ITEM}{note.note_id}?xsec_token={note.token}&xsec_source=app_share"
        self.route(f"/a/{note.note_id[-6:]}", lambda _request: Answer.redirect(target, 302))
        return self.address(f"/a/{note.note_id[-6:]}")

    def _capabilities(self, _request: Request) -> Answer:
        more = ["comments"] if self.knows_comments else []
        return Answer.json(shapes.good({"capabilities": ["search", "detail", "creator", *more]}))

    def _comments(self, request: Request) -> Answer:
        """The comments of a note, a page at a time, with the first answers to each."""
        wish = request.json()
        note, mood = self._judge(request, str(wish["note_id"]), str(wish.get("xsec_token") or ""), "comments")
        if (answer := _refusal(mood)) is not None or note is None:
            return answer or Answer.json(shapes.bad(*SAYS["gone"]))
        there = [one for one in note.thread if not one.is_gone]
        start = next((n + 1 for n, one in enumerate(there) if one.comment_id == wish.get("cursor")), 0)
        shown = there[start : start + self.comments_size]
        page = {
            "comments": [shapes.comment(one, self.answers_size) for one in shown],
            "cursor": shown[-1].comment_id if shown else "",
            "has_more": start + self.comments_size < len(there),
        }
        return Answer.json(shapes.good(page))

    def _posted(self, request: Request) -> Answer:
        """The notes of a creator, a page at a time; the cursor is the last note of the page before."""
        refusal = self._refuses_account(request)
        if refusal is not None:
            return refusal
        wish = request.json()
        user_id, cursor = str(wish["user_id"]), str(wish.get("cursor") or "")
        mood = self.ledger.creators.get(user_id, "fine")
        self._wrote(request, "creator", user_id, mood, cursor=cursor)
        if (answer := _refusal(mood)) is not None:
            return answer
        notes = self.ledger.listed(user_id)
        start = next((place + 1 for place, note in enumerate(notes) if note.note_id == cursor), 0)
        shown = notes[start : start + self.listing_size]
        for note in shown:
            note.renew_token()
        page = {
            "notes": [shapes.listed_note(note, is_marked=self.marks_pinned) for note in shown],
            "cursor": shown[-1].note_id if shown else "",
            "has_more": start + self.listing_size < len(notes),
        }
        return Answer.json(shapes.good(page))

    def creator_mood(self, user_id: str, mood: str) -> None:
        self.ledger.creators[user_id] = mood

    def _feed(self, request: Request) -> Answer:
        wish = request.json()
        note_id, token = str(wish.get("source_note_id") or wish.get("note_id")), str(wish.get("xsec_token") or "")
        note, mood = self._judge(request, note_id, token)
        answer = _refusal(mood)
        if answer is not None:
            return answer
        return Answer.json(shapes.feed(note)) if note else Answer.json(shapes.bad(*SAYS["gone"]))

    def _page(self, request: Request) -> Answer:
        note_id = request.path.removeprefix(EXPLORE).removeprefix(ITEM)
        note, mood = self._judge(request, note_id, request.params.get("xsec_token", ""))
        if mood == "captcha":
            return Answer.redirect("/website-login/captcha?verifyType=102&verifyBiz=461")
        if mood == "login":
            return Answer.redirect("/login?redirectPath=/explore")
        if mood == "stale":
            return Answer.redirect(f"/404/sec_x?error_code=300031&noteId={note_id}")
        if mood in SAYS:
            return Answer.html(shapes.page(None, *SAYS[mood]), 404 if mood in {"gone", "private"} else 200)
        answer = _refusal(mood)
        if answer is not None:
            return answer
        return Answer.html(shapes.page(note)) if note else Answer.html(shapes.page(None, *SAYS["gone"]), 404)

    def _file(self, request: Request) -> Answer:
        """A picture or video of a note; an address that has ended is refused, a note that is gone has none."""
        note_id, _, name = request.path.removeprefix(MEDIA).partition("/")
        note = self.ledger.notes.get(note_id)
        if note is None or note.mood == "gone":
            return Answer.text("no such file\n", 404)
        if note.ends and request.params.get("t") != f"{note.ends:08x}":
            return Answer.text("expired\n", 403)
        if name.endswith((".mp4", ".mov")):
            return Answer(200, shapes.video(name), content_type="video/mp4")
        return Answer(200, shapes.picture(f"{note_id}/{name}"), content_type="image/png")

    def _judge(self, request: Request, note_id: str, token: str, what: str = "detail") -> tuple[NoteEntry | None, str]:
        """The note, and how it is answered: by the account's mood, its own, or its token."""
        account = self.ledger.account(request.cookies.get("web_session", ""))
        note = self.ledger.notes.get(note_id)
        mood = "login" if account is None else account.mood
        if mood == "fine":
            mood = note.mood if note else "gone"
        if mood == "fine" and note and self.needs_token and token != note.token:
            mood = "stale"
        self._wrote(request, what, note_id, mood)
        return note, mood

    def _refuses_account(self, request: Request) -> Answer | None:
        account = self.ledger.account(request.cookies.get("web_session", ""))
        return _refusal("login" if account is None else account.mood)

    def _wrote(self, request: Request, what: str, name: str, mood: str, **more: Any) -> None:
        self.ledger.wrote(
            what=what,
            name=name,
            mood=mood,
            session=request.cookies.get("web_session", ""),
            request_id=request.headers.get("X-Request-ID"),
            **more,
        )

    def _with_cookies(self, answer: Answer) -> Answer:
        lines = tuple(("Set-Cookie", f"{name}={value}; Path=/") for name, value in self.sets_cookies.items())
        return Answer(answer.status, answer.body, (*answer.headers, *lines), content_type=answer.content_type)

    def _hangs(self, request: Request) -> bool:
        if request.path.startswith(EXPLORE):
            note = self.ledger.notes.get(request.path.removeprefix(EXPLORE))
        elif request.path in {FEED, REMOTE_DETAIL}:
            wish = request.json()
            note = self.ledger.notes.get(str(wish.get("source_note_id") or wish.get("note_id")))
        else:
            return False
        return note is not None and note.mood == "hang"


def _refusal(mood: str) -> Answer | None:
    if mood in SAYS:
        return Answer.json(shapes.bad(*SAYS[mood]))
    if mood == "captcha":
        return Answer(461, b"", (("Verifytype", "102"), ("Verifyuuid", "made-up")))
    plain = {
        "empty": Answer.json(shapes.good({})),
        "blocked": Answer.text("no\n", 403),
        "throttled": Answer(429, b"", (("Retry-After", "1"),)),
        "signature": Answer.json({"code": -1, "success": False}, 406),
        "broken": Answer.html("<html><body>Please wait</body></html>"),
        "ill": Answer.text("ill\n", 500),
    }
    return plain.get(mood)
