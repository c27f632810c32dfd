"""The board as a site: lists, topics, refusals, the gate, and a script of troubles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from standins.faults import Faults, Rule
from standins.faults.treatment import Treatment
from standins.nga_board import answers, dialect, pages
from standins.nga_board.gate import Gate
from standins.nga_board.layout import page_count, page_rows, row_of
from standins.nga_board.ledger import Archive, expected_archive
from standins.nga_board.life import Life
from standins.nga_board.plan import Known, Plan, plan_run
from standins.nga_board.records import TOPICS_PER_PAGE, Topic
from standins.nga_board.served import Served, served_topic
from standins.nga_board.world import GONE, World
from standins.server import Answer, Exchange, Request, Site

BUSY = "服务器忙,请稍后重试"
PAST_END = "没有更多页了 或 无此页"
NO_RESULTS = "没有符合条件的结果"
SCRIPT, PAGE, NAMELESS = "text/javascript; charset=GBK", "text/html; charset=GBK", "text/html"
REPLIES_PER_PAGE = 20
WORLD_ACTIONS = (
    "add_topic rename move refuse mark misplace fill mirror deny board_row collection reply note edit punish remove"
    " restore delete fold lock_post vote advance set_time"
)


class NotedFaults(Faults):
    """Remembers when each request came, by the world's clock, and which met a fault: their answers prove nothing."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world
        self.came_at: dict[int, int] = {}
        self.met: set[int] = set()

    def pick(self, request: Request) -> Treatment | None:
        self.came_at[request.number] = self.world.now
        treatment = super().pick(request)
        if treatment is not None:
            self.met.add(request.number)
        return treatment


class NgaBoard(Site):
    """`world` is what is true, `dialect` how ugly the answers are, `gate` who is let in."""

    def __init__(self, *, fid: int = 7, host: str = "127.0.0.1", port: int = 0) -> None:
        super().__init__(host=host, port=port)
        self.world = World(fid)
        self.faults: NotedFaults = NotedFaults(self.world)
        self.life = Life(self.world)
        self.gate = Gate()
        self.dialect = dialect.Dialect()
        self.refusal_status = 200
        self.past_end = "message"
        self.run = 0
        self._given: list[Served] = []

    def begin_run(self) -> int:
        """The reader starts again; two absences in one run count once."""
        self.run += 1
        return self.run

    def given(self) -> list[Served]:
        """Every list and topic page that left in good order."""
        with self.world.lock:
            return [one for one in self._given if one.number not in self.faults.met]

    def expected_archive(self) -> Archive:
        """What a perfect archive would hold after what was given out."""
        return expected_archive(self.given())

    def minimal_requests(self, known: Mapping[int, Known], *, moment: datetime | None = None) -> Plan:
        """What a run has to ask for when nothing disturbs it and this much is known."""
        with self.world.lock:
            return plan_run(self.world, known, moment=moment)

    def requests_since(self, moment: datetime) -> list[Request]:
        """By the world's own clock, faulty answers included."""
        since = int(moment.timestamp())
        return [request for request in self.log.all() if self.faults.came_at.get(request.number, 0) >= since]

    # Troubles. Each is a rule that can be lifted, or used with `with`.

    def outage(self, status: int = 503) -> Rule:
        return self.faults.on("*").fail(status)

    def burst(self, count: int, status: int = 403) -> Rule:
        return self.faults.on("*", first=count).answer(status)

    def busy(self, count: int | None = None, *, tid: int | None = None) -> Rule:
        return self.faults.on("*", first=count, when=_about(tid)).treat(self._saying(BUSY))

    def cut_json(self, *, tid: int | None = None, forms: tuple[str, ...] = ("8", "11"), keep: float = 0.6) -> Rule:
        """The body breaks off inside of a text, and the length fits."""
        return self.faults.on("*", when=_about(tid, forms)).treat(_cutting(keep))

    def block_form(self, *forms: str, status: int = 403) -> Rule:
        return self.faults.on("*", when=_about(None, forms)).answer(status)

    def respond(self, request: Request) -> Answer:
        handlers = {"/thread.php": self._list, "/read.php": self._topic}
        handler = handlers.get(request.path)
        if handler is None:
            return super().respond(request)
        with self.world.lock:
            return self.gate.stop(request, self.world.now) or handler(request)

    def actions(self) -> dict[str, Callable[..., Any]]:
        world = {name: getattr(self.world, name) for name in WORLD_ACTIONS.split()}
        return world | {"live": self.life.live, "begin_run": self.begin_run, "set_gate": self.set_gate}

    def set_gate(self, state: str, **more: Any) -> None:
        for name, value in {"state": state, **more}.items():
            setattr(self.gate, name, value)

    def ledger_json(self) -> object:
        with self.world.lock:
            return {
                "now": datetime.fromtimestamp(self.world.now).astimezone().isoformat(),
                "topics": {
                    tid: {"title": topic.title, "fid": topic.fid, "floors": topic.total}
                    for tid, topic in self.world.topics.items()
                },
                "given": [
                    {"number": one.number, "at": one.at, "kind": one.kind, "id": one.ident, "page": one.page}
                    | {"form": one.form}
                    for one in self.given()
                ],
            }

    def _list(self, request: Request) -> Answer:
        if "authorid" in request.params:
            uid = int(request.params["authorid"])
            return self._replies(request, uid) if "searchpost" in request.params else self._author_list(request, uid)
        fid, page = int(request.params.get("fid", "0")), _page_number(request)
        order = request.params.get("order_by", "lastpostdesc")
        rows = page_rows(self.world, fid, page, order)
        if not rows or page > page_count(self.world, fid):
            return self._say(request, NO_RESULTS)
        form = form_of(request)
        self._given.append(Served(request.number, self.world.now, self.run, "list", fid, page, form))
        if form == "html":
            return Answer(200, pages.list_page(self.world, fid, rows, page), content_type=PAGE)
        data = answers.list_data(self.world, fid, rows, self.dialect)
        return self._json(data, form, content_type=NAMELESS if form == "8" else SCRIPT)

    def _author_list(self, request: Request, uid: int) -> Answer:
        """Topics of one author in all boards; such a list has no board of its own."""
        mine = [topic for topic in self.world.topics.values() if topic.is_listed and topic.opening.uid == uid]
        first = (_page_number(request) - 1) * TOPICS_PER_PAGE
        rows = [row_of(topic) for topic in sorted(mine, key=lambda topic: -topic.posted_at)][first:][:TOPICS_PER_PAGE]
        if not rows:
            return self._say(request, NO_RESULTS)
        form = form_of(request)
        if form == "html":
            return Answer(200, pages.list_page(self.world, self.world.fid, rows, 1), content_type=PAGE)
        data = answers.list_data(self.world, self.world.fid, rows, self.dialect) | {"__F": {}, "__ROWS": len(mine)}
        return self._json(data, form, content_type=NAMELESS if form == "8" else SCRIPT)

    def _replies(self, request: Request, uid: int) -> Answer:
        """Replies of one author in all boards, each as a row of its topic with the reply inside."""
        found = [
            (topic, post)
            for topic in self.world.topics.values()
            if topic.is_listed
            for post in topic.posts.values()
            if post.lou and post.uid == uid and not post.token and not post.is_absent
        ]
        newest = sorted(found, key=lambda each: (-each[1].posted_at, -each[1].pid))[:REPLIES_PER_PAGE]
        if not newest:
            return self._say(request, NO_RESULTS)
        data = answers.list_data(self.world, self.world.fid, [row_of(topic) for topic, _post in newest], self.dialect)
        for row, (topic, post) in zip(data["__T"].values(), newest, strict=True):
            row["__P"] = answers.found_post(topic, post)
        # Such a list does not count what it has.
        return self._json(data | {"__F": {}, "__ROWS": ""}, form_of(request), content_type=SCRIPT)

    def _topic(self, request: Request) -> Answer:
        topic = self.world.topics.get(int(request.params.get("tid", "0")))
        if topic is None or topic.refusal:
            return self._say(request, topic.refusal if topic else GONE)
        if "pid" in request.params:
            return self._one_post(request, topic, int(request.params["pid"]))
        asked = request.params.get("page", "1")
        page = topic.pages if asked == "e" else _page_number(request)
        if page > topic.pages and self.past_end == "message":
            return self._say(request, PAST_END)
        page, form = min(page, topic.pages), form_of(request)
        self._given.append(served_topic(request.number, self.world.now, self.run, topic, page, form))
        if form == "html":
            return Answer(200, pages.topic_page(self.world, topic, page, self.dialect), content_type=PAGE)
        return self._json(answers.topic_data(self.world, topic, page, self.dialect), form, content_type=SCRIPT)

    def _one_post(self, request: Request, topic: Topic, pid: int) -> Answer:
        """The view of a single post: it has its number, and the counts are those of the view."""
        post = next((each for each in topic.posts.values() if each.pid == pid and not each.is_absent), None)
        if post is None:
            return self._say(request, GONE)
        return self._json(
            answers.post_data(self.world, topic, post, self.dialect), form_of(request), content_type=SCRIPT
        )

    def _json(self, data: dict[str, Any], form: str, *, content_type: str) -> Answer:
        document = {"data": data, "encode": "gbk", "time": self.world.now}
        body = dialect.as_11(document) if form == "11" else dialect.as_8(document, self.dialect, prefixed=form == "js")
        return Answer(200, body, content_type=content_type)

    def _say(self, request: Request, said: str) -> Answer:
        """The site's words in the form that was asked for; the number alone means nothing."""
        if form_of(request) == "html":
            page = pages.message_page(said, 2048)
            headers = (("X-NGA-CONTENT-TYPE", "short-message"),)
            return Answer(self.refusal_status, page, headers, content_type="text/html; charset=GB18030")
        document = {
            "error": {"0": f"2048:{said}"},
            "data": {"__MESSAGE": {"0": 2048, "1": said, "2": "", "3": 200}},
            "encode": "gbk",
            "time": self.world.now,
        }
        return Answer(self.refusal_status, dialect.as_8(document, self.dialect), content_type=SCRIPT)

    def _saying(self, said: str) -> Treatment:
        return lambda exchange: exchange.send(self._say(exchange.request, said))


def form_of(request: Request) -> str:
    if request.params.get("lite") == "js" or request.params.get("__output") == "1":
        return "js"
    return request.params.get("__output", "html")


def _page_number(request: Request) -> int:
    asked = request.params.get("page", "1")
    return max(1, int(asked)) if asked.isdigit() else 1


def _about(tid: int | None, forms: tuple[str, ...] = ()) -> Callable[[Request], bool]:
    def fits(request: Request) -> bool:
        is_topic = tid is None or request.params.get("tid") == str(tid)
        return is_topic and (not forms or form_of(request) in forms)

    return fits


def _cutting(keep: float) -> Treatment:
    def treatment(exchange: Exchange) -> None:
        answer = exchange.ordinary()
        body = answer.whole_body()
        exchange.send(
            Answer(answer.status, body[: int(len(body) * keep)], answer.headers, content_type=answer.content_type)
        )

    return treatment
