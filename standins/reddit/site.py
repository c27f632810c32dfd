"""The server: sign-in, listings with paging, look-up by id, refusals, rate headers, and mishaps on order."""

from __future__ import annotations

import base64
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from standins.note_platform.shapes import picture
from standins.reddit.render import Printer, community_t5
from standins.reddit.world import BANNED, FORBIDDEN, LIVE, PRIVATE, QUARANTINED, Comment, Community, Post, Thing, World
from standins.server import Answer, Request, Site

SORTS = ("new", "hot", "top", "rising", "controversial")
COMMENTS = "comments"
PICTURES = "/pictures/"
SPANS = {"hour": 1 / 24, "day": 1, "week": 7, "month": 31, "year": 366}
USUAL_LIMIT, MOST = 25, 100
WINDOW_SECONDS = 600
LAZY_AGENTS = ("python-requests", "python-httpx", "python-urllib", "curl", "watchbook/")
WALL = "<html><body><h1>whoa there, pardner!</h1><p>You've been blocked by network security.</p></body></html>"


@dataclass
class Mishaps:
    """Every n-th answer of a listing goes wrong in this way; 0 is never."""

    throttle: int = 0
    wall: int = 0
    wall_200: int = 0
    fail: int = 0
    empty: int = 0
    repeat: int = 0
    vanish: int = 0
    # A "more" entry at the end of a page of comments.
    stub: int = 0
    # What a 429 asks for. Real seconds: the other side does not know a test's clock.
    retry_after: int = 1


class RedditSite(Site):
    """Any client id and secret pair in `clients` may sign in. Rates are judged by this server's own, real clock."""

    def __init__(self, *, host: str = "127.0.0.1", port: int = 0, slim: bool = False) -> None:
        super().__init__(host=host, port=port)
        self.world = World()
        self.printer = Printer(self.world, slim=slim)
        self.clients = {"made-up-client": "made-up-secret"}
        self.tokens: set[str] = set()
        self.token_seconds = 3600
        self.rate_budget = 996
        self.has_rate_headers = True
        self.mishaps = Mishaps()
        # Share links of the website: path to path.
        self.shared: dict[str, str] = {}
        self.lost_pictures: set[str] = set()
        self._slice = (0, 0)
        self._listings = 0

    @property
    def token_url(self) -> str:
        return self.address("/api/v1/access_token")

    def environment(self) -> dict[str, str]:
        """What a program needs to know in order to use this Reddit instead of the real one."""
        client_id, secret = next(iter(self.clients.items()))
        return {
            "REDDIT_CLIENT_ID": client_id,
            "REDDIT_CLIENT_SECRET": secret,
            "REDDIT_OAUTH_URL": self.url,
            "REDDIT_TOKEN_URL": self.token_url,
        }

    def expire_tokens(self) -> None:
        """Every token is dead from now on, whatever was said when it was given out."""
        self.tokens.clear()

    def busiest(self, seconds: float) -> int:
        """Most requests that arrived within any window of this length, by this server's clock."""
        times = sorted(request.monotonic for request in self.log.all())
        most = first = 0
        for last, moment in enumerate(times):
            while moment - times[first] >= seconds:
                first += 1
            most = max(most, last - first + 1)
        return most

    def picture(self, name: str) -> str:
        """The address of a picture, as on the hosts of pictures: open to everybody, signed in the query."""
        return self.address(f"{PICTURES}{name}?width=360&s=made-up")

    def picture_post(self, community: str, title: str, *names: str, is_video: bool = False, **more: Any) -> str:
        """A post with one picture, with the still of a video, or with a gallery. Gives its id."""
        if len(names) > 1:
            items = [{"media_id": name, "caption": f"Caption of {name}"} for name in names]
            shown = {name: {"s": {"u": self.picture(name)}} for name in names}
            extra = {"is_gallery": True, "gallery_data": {"items": items}, "media_metadata": shown}
            return self.world.post(community, title, extra={**extra, **more})
        source = {"url": self.picture(names[0]), "width": 360, "height": 450}
        extra = {"preview": {"images": [{"source": source}]}, "post_hint": "hosted:video" if is_video else "image"}
        link = f"https://v.redd.it/{names[0]}" if is_video else self.address(f"{PICTURES}{names[0]}")
        return self.world.post(community, title, link=link, extra={**extra, "is_video": is_video, **more})

    def respond(self, request: Request) -> Answer:
        if request.path.startswith(PICTURES):
            name = request.path.removeprefix(PICTURES)
            if name in self.lost_pictures:
                return Answer(404)
            return Answer(200, picture(name), content_type="image/png")
        with self.world.lock:
            if request.path == "/api/v1/access_token":
                return self._sign_in(request)
            if request.path in self.shared:
                return Answer.redirect(f"https://www.reddit.com/{self.shared[request.path]}?share_id=x")
            refusal = self._refuse(request)
            answer = refusal or self._data(request)
            # A 429 on order says itself how long; the headers of this slice would ask for minutes.
            is_ordered = answer.status == 429 and refusal is None
            return answer.with_headers(self._rate_headers()) if self.has_rate_headers and not is_ordered else answer

    def actions(self) -> dict[str, Callable[..., Any]]:
        names = "post comment approve edit remove delete vote sticky set_status hold_time"
        return {
            **{name: getattr(self.world, name) for name in names.split()},
            "add_community": lambda name, **given: self.world.add_community(name, **given).name,
            "picture_post": self.picture_post,
            "expire_tokens": self.expire_tokens,
            "mishap": lambda **given: vars(self.mishaps).update(given),
        }

    def ledger_json(self) -> object:
        return self.world.as_json()

    def _sign_in(self, request: Request) -> Answer:
        scheme, _, pair = request.headers.get("Authorization").partition(" ")
        client, _, secret = base64.b64decode(pair or "").decode("utf-8", "replace").partition(":")
        if scheme.lower() != "basic" or self.clients.get(client) != secret:
            return Answer.json({"message": "Unauthorized", "error": 401}, 401)
        if request.form().get("grant_type") not in {"client_credentials", "password"}:
            return Answer.json({"error": "unsupported_grant_type"})
        token = secrets.token_urlsafe(24)
        self.tokens.add(token)
        given = {"access_token": token, "token_type": "bearer", "expires_in": self.token_seconds, "scope": "*"}
        return Answer.json(given)

    def _refuse(self, request: Request) -> Answer | None:
        agent = request.headers.get("User-Agent").lower()
        if not agent or agent.startswith(LAZY_AGENTS):
            return Answer.html("<html><body>Too Many Requests</body></html>", 429)
        scheme, _, token = request.headers.get("Authorization").partition(" ")
        if scheme.lower() != "bearer" or token not in self.tokens:
            challenge = 'Bearer realm="reddit", error="invalid_token"'
            return Answer.json({"message": "Unauthorized", "error": 401}, 401).with_headers(
                {"www-authenticate": challenge}
            )
        used, reset = self._spend()
        if used > self.rate_budget:
            return Answer.html("<html><body>Too Many Requests</body></html>", 429).with_headers(
                {"Retry-After": str(reset)}
            )
        return None

    def _data(self, request: Request) -> Answer:
        parts = request.path.strip("/").split("/")
        if parts == ["api", "info"]:
            return self._info(request)
        if len(parts) == 3 and parts[0] == "r" and parts[2].removesuffix(".json") in (*SORTS, COMMENTS):
            return self._mishap() or self._community(request, parts[1], parts[2].removesuffix(".json"))
        if request.path == "/subreddits/search":
            children = [community_t5(home) for home in self.world.communities.values()][:25]
            return Answer.json({"kind": "Listing", "data": {"after": None, "before": None, "children": children}})
        return Answer.json({"message": "Not Found", "error": 404}, 404)

    def _community(self, request: Request, name: str, sort: str) -> Answer:
        home = self.world.community(name)
        if home is None:
            return Answer.redirect(self.address(f"/subreddits/search?q={name}"))
        refusals = {
            PRIVATE: ({"reason": "private", "message": "Forbidden", "error": 403}, 403),
            QUARANTINED: ({"reason": "quarantined", "quarantine_message": "…", "message": "Forbidden"}, 403),
            FORBIDDEN: ({"message": "Forbidden", "error": 403}, 403),
            BANNED: ({"reason": "banned", "message": "Not Found", "error": 404}, 404),
        }
        if home.status in refusals:
            return Answer.json(*refusals[home.status])
        return self._listing(request, home, sort)

    def _listing(self, request: Request, home: Community, sort: str) -> Answer:
        params = request.params
        asked = params.get("limit", "")
        limit = min(max(int(asked), 1), MOST) if asked.lstrip("-").isdigit() else USUAL_LIMIT
        span = SPANS.get(params.get("t", "day" if sort == "top" else ""))
        since = self.world.now() - timedelta(days=span) if span and sort == "top" else None
        posts = self._things(home, sort, since)
        stickies = [made for made in posts if isinstance(made, Post) and made.is_stickied] if sort == "hot" else []
        posts = [made for made in posts if made not in stickies] if stickies else posts
        place = self._place(posts, params)
        page = posts[place : place + limit] if place is not None else []
        after = page[-1].name if page and place is not None and place + limit < len(posts) else None
        before = page[0].name if page and place and params.get("count", "0") not in ("", "0") else None
        shown: list[Thing] = [*(stickies if place == 0 else []), *page]
        if shown and self._nth(self.mishaps.repeat):
            shown = [*shown, shown[0]]
        has_stub = bool(shown) and sort == COMMENTS and self._nth(self.mishaps.stub)
        body = self.printer.listing(shown, after=after, before=before, has_stub=has_stub)
        answer = Answer(200, body, content_type="application/json")
        if after and self._nth(self.mishaps.vanish):
            self.world.remove(page[-1].id)
        return answer

    def _things(self, home: Community, sort: str, since: datetime | None) -> Sequence[Thing]:
        return self.world.newest_comments(home) if sort == COMMENTS else self.world.listing(home, sort, since)

    def _place(self, posts: Sequence[Thing], params: dict[str, str]) -> int | None:
        """Where the page begins. None: the anchor has left the list, and the page is empty.

        A name that is no post at all is ignored, and the first page comes again.
        """
        anchor = (params.get("after") or params.get("before") or "").removeprefix("t3_").removeprefix("t1_")
        if not anchor or not (anchor in self.world.posts or anchor in self.world.comments):
            return 0
        places = [number for number, made in enumerate(posts) if made.id == anchor]
        if not places:
            return None
        if params.get("after"):
            return places[0] + 1
        asked = params.get("limit", "")
        return max(0, places[0] - (min(int(asked), MOST) if asked.isdigit() else USUAL_LIMIT))

    def _info(self, request: Request) -> Answer:
        asked = request.params.get("id", "").split(",")[:MOST]
        found = [self._named(name) for name in asked]
        seen = [made for made in found if made is not None and self._may_see(made)]
        return Answer(200, self.printer.listing(seen, after=None, before=None), content_type="application/json")

    def _named(self, name: str) -> Post | Comment | None:
        if name.startswith(Comment.prefix):
            return self.world.comments.get(name.removeprefix(Comment.prefix))
        return self.world.posts.get(name.removeprefix(Post.prefix))

    def _may_see(self, made: Thing) -> bool:
        home = self.world.communities[made.community.lower()]
        return home.status == "open" and (made.state == LIVE or made.listed_at is not None)

    def _nth(self, every: int) -> bool:
        return bool(every) and self._listings % every == 0

    def _mishap(self) -> Answer | None:
        self._listings += 1
        ordered = self.mishaps
        if self._nth(ordered.throttle):
            return Answer.html("<html><body>Too Many Requests</body></html>", 429).with_headers(
                {"Retry-After": str(ordered.retry_after)}
            )
        if self._nth(ordered.wall):
            return Answer.html(WALL, 403)
        if self._nth(ordered.wall_200):
            return Answer.html("<html><body>Our servers are busy.</body></html>", 200)
        if self._nth(ordered.fail):
            return Answer(503)
        if self._nth(ordered.empty):
            return Answer.json({"kind": "Listing", "data": {"after": None, "before": None, "children": []}})
        return None

    def _spend(self) -> tuple[int, int]:
        """Used in this slice of ten minutes, and seconds until the next. Slices are fixed, not sliding."""
        now = int(time.time())
        number, used = self._slice
        used = used + 1 if number == now // WINDOW_SECONDS else 1
        self._slice = (now // WINDOW_SECONDS, used)
        return used, WINDOW_SECONDS - now % WINDOW_SECONDS

    def _rate_headers(self) -> list[tuple[str, str]]:
        reset = WINDOW_SECONDS - int(time.time()) % WINDOW_SECONDS
        left = max(self.rate_budget - self._slice[1], 0)
        return [
            ("x-ratelimit-used", str(self._slice[1])),
            ("x-ratelimit-remaining", f"{left}.0"),
            ("x-ratelimit-reset", str(reset)),
        ]
