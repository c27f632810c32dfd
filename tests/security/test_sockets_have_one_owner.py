"""House rules that a reader of the source would miss: who may open a connection, and what nobody may do.

Every exception stands here with its reason. One that is no longer needed has to go, too.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.security import source_walk as walk
from tests.security.source_walk import Place

NETWORK = {
    "socket", "ssl", "http.client", "http.server", "urllib.request", "urllib3", "httpx", "httpcore", "requests",
    "aiohttp", "smtplib", "ftplib", "poplib", "imaplib", "nntplib", "telnetlib", "xmlrpc", "socketserver", "asyncio",
    "redis", "apprise", "kombu", "celery", "amqp", "pymysql", "psycopg", "websocket", "websockets", "paramiko",
    "pycurl", "tornado", "gevent", "waitress",
}  # fmt: skip
# The room (or the file) and what it may import, with the reason.
MAY_CONNECT = {
    "base/web/guard.py": ({"socket", "ssl", "httpcore"}, "the guarded network layer: it is the owner"),
    "base/web/transport.py": ({"ssl", "httpcore"}, "the owner's HTTP library"),
    "base/web/pace/redis.py": ({"redis"}, "the operator's own server, to keep the pace of all processes"),
    "base/testing/servers.py": ({"socket", "psycopg"}, "looks for servers of a test run"),
    "core/notify/senders/mail.py": ({"smtplib"}, "the operator's mail server"),
    "core/notify/senders/service.py": ({"apprise"}, "services whose hosts are in its own code, or trusted"),
    "core/ops/doctor.py": ({"smtplib", "kombu"}, "asks the operator's servers whether they answer"),
    "core/ops/server.py": ({"waitress"}, "listens for requests"),
    "core/ops/backup/rows.py": ({"pymysql"}, "a cursor of the database that streams"),
    "core/jobs/celery.py": ({"celery", "kombu"}, "the operator's broker"),
    "core/jobs/working.py": ({"celery"}, "the operator's broker"),
    "core/jobs/carrier.py": ({"socket"}, "the name of this machine"),
    "core/jobs/actions.py": ({"socket"}, "the name of this machine"),
    "project/database.py": ({"pymysql"}, "the operator's database"),
}
# Of the socket module these rooms use one function that connects to nobody.
ONLY_THE_NAME = ("core/jobs/carrier.py", "core/jobs/actions.py")

NEVER_IMPORTED = {
    "pickle",
    "cPickle",
    "marshal",
    "shelve",
    "dill",
    "yaml",
    "jinja2",
    "pty",
    "code",
    "codeop",
    "telnetlib",
}
MAY_START_PROCESSES = {"base/sandbox/process.py": "the child that reads hostile bytes; a fixed command, no shell"}
NEVER_CALLED = re.compile(r"(?:eval|exec|compile|__import__|os\.(?:system|popen|exec\w+|spawn\w+|fork)|.*\.extra)\Z")
# `compile` of the re module is another one.
HARMLESS_CALLS = re.compile(r"re\.compile\Z")
NEVER_GIVEN = re.compile(
    r"(?:shell=True|verify=False|fail_silently=True|check_hostname=False|autoescape=False|safe=True)\Z"
)
NEVER_READ = re.compile(r"(?:.*\.)?(?:CERT_NONE|_create_unverified_context|PROTOCOL_SSLv\w+)\Z")

MAY_MARK_SAFE = {
    "core/ui/templatetags/ui.py": "blocks that a template rendered, and constants",
    "core/ui/charts/svg.py": "the one place that writes SVG; it escapes every value itself",
    "core/ui/fields.py": "empty strings",
    "core/notify/senders/mail.py": "markup that our own templates made when the notice was told",
    "core/search/templatetags/search.py": "pieces that were escaped one by one",
    "library/views/text.py": "cleaned by the allow-list once more, right there",
    "sources/nga/clip.py": "floors, cleaned by the allow-list when they were stored",
    "sources/nga/views/content.py": "floors, cleaned when they were stored; what is added is escaped",
}
MAY_SKIP_CSRF = {
    "core/notify/views.py": "one-click unsubscribe: the signed link of a mail is the proof",
    "core/api/shell.py": "tokens come without a session; the gate checks CSRF where a session is used",
}
QUERIES = {"filter", "exclude", "annotate", "alias", "get", "order_by", "values", "update", "create", "get_or_create"}
FROM_OUTSIDE = re.compile(r"\b(?:request|GET|POST|cleaned_data|query_params|body|kwargs)\b")


def belongs(module: str, names: set[str]) -> str:
    """The name among these that an import is of, or empty."""
    return next((name for name in names if module == name or module.startswith(f"{name}.")), "")


def complain(found: list[Place], allowed: set[str], what: str) -> None:
    wrong = [f"{place} ({what})" for place in found if place.path not in allowed]
    unused = allowed - {place.path for place in found}
    if wrong or unused:
        pytest.fail(
            "\n".join([*wrong, *(f"watchbook/{path}: needs no exception any more" for path in unused)]), pytrace=False
        )


def sockets(root: Path = walk.PROGRAM) -> list[Place]:
    found = []
    for path, tree in walk.modules(root):
        for place in walk.imports(path, tree):
            name = belongs(place.what, NETWORK)
            if name and name not in MAY_CONNECT.get(path, (set(), ""))[0]:
                found.append(place)
    return found


def test_only_named_rooms_import_what_can_connect() -> None:
    complain(sockets(), set(), "only base/web opens connections")


def test_every_named_room_still_needs_it() -> None:
    used: dict[str, set[str]] = {}
    for path, tree in walk.modules():
        used[path] = {name for place in walk.imports(path, tree) if (name := belongs(place.what, NETWORK))}
    assert {path: allowed - used.get(path, set()) for path, (allowed, _why) in MAY_CONNECT.items()} == {
        path: set() for path in MAY_CONNECT
    }


def test_the_name_of_the_machine_is_all_that_is_asked_of_the_socket_module() -> None:
    for path, tree in walk.modules():
        if path in ONLY_THE_NAME:
            asked = {place.what for place in walk.names(path, tree) if place.what.startswith("socket.")}
            assert asked == {"socket.gethostname"}, path


def test_only_the_owner_of_the_socket_makes_one() -> None:
    """Also through a module that somebody else imported: `guard.socket.create_connection`."""
    # Django calls a connection to the database so as well.
    makes = re.compile(
        r"(?!connections\.)(?:.*\.)?(?:create_connection|create_server|getaddrinfo|socketpair|open_connection)\Z"
    )
    found = [place for path, tree in walk.modules() for place in walk.names(path, tree) if makes.match(place.what)]
    # waitress has a function of that name; it listens.
    complain(found, {"base/web/guard.py", "base/testing/servers.py", "core/ops/server.py"}, "makes a connection")


def test_nothing_turns_bytes_into_code() -> None:
    found = [
        place
        for path, tree in walk.modules()
        for place in walk.imports(path, tree)
        if belongs(place.what, NEVER_IMPORTED)
    ]
    complain(found, set(), "turns bytes into objects or code")
    called = [
        place
        for path, tree in walk.modules()
        for place in walk.names(path, tree)
        if NEVER_CALLED.match(place.what) and not HARMLESS_CALLS.match(place.what)
    ]
    complain(called, set(), "turns text into code")


def test_only_the_sandbox_starts_processes() -> None:
    found = [
        place
        for path, tree in walk.modules()
        for place in walk.imports(path, tree)
        if belongs(place.what, {"subprocess", "multiprocessing", "ctypes"})
    ]
    complain(found, set(MAY_START_PROCESSES), "starts processes")


def test_no_protection_is_switched_off() -> None:
    given = [
        place for path, tree in walk.modules() for place in walk.keywords(path, tree) if NEVER_GIVEN.match(place.what)
    ]
    read = [place for path, tree in walk.modules() for place in walk.names(path, tree) if NEVER_READ.match(place.what)]
    complain([*given, *read], set(), "switches a protection off")


def test_markup_is_called_safe_only_where_it_was_escaped() -> None:
    safe = re.compile(r"(?:.*\.)?(?:mark_safe|SafeString|SafeText|SafeData)\Z")
    found = [place for path, tree in walk.modules() for place in _calls(path, tree) if safe.match(place.what)]
    complain(found, set(MAY_MARK_SAFE), "calls text safe")


def _calls(path: str, tree: walk.ast.Module) -> list[Place]:
    nodes = (node for node in walk.ast.walk(tree) if isinstance(node, walk.ast.Call))
    return [Place(path, node.lineno, walk.dotted(node.func)) for node in nodes]


def test_templates_escape_everything() -> None:
    """Mails in plain text are no markup; nothing else may switch escaping off."""
    off = re.compile(r"\|\s*(?:safe|safeseq)\b|autoescape\s+off|escapejs")
    found = [path for path, text in walk.templates() if off.search(text) and not path.endswith(".txt")]
    assert found == []
    scripts = re.compile(r"""<script(?![^>]*\b(?:src=|type="application/json"))|\son\w+=|javascript:|<style|\sstyle=""")
    assert [path for path, text in walk.templates() if path.endswith(".html") and scripts.search(text)] == []


def test_forms_without_a_token_are_the_named_ones() -> None:
    found = [
        place
        for path, tree in walk.modules()
        for place in walk.names(path, tree)
        if place.what.rpartition(".")[2] == "csrf_exempt"
    ]
    complain(found, set(MAY_SKIP_CSRF), "takes a form without its token")


def test_no_query_is_made_of_names_from_outside() -> None:
    found = [
        place
        for path, tree in walk.modules()
        for place, source in walk.spread(path, tree)
        if place.what in QUERIES and FROM_OUTSIDE.search(source)
    ]
    complain(found, set(), "spreads what came from outside into a query")


BAD = {
    "a.py": "import socket\nsocket.create_connection(('x', 1))\n",
    "b.py": "def f():\n    from urllib.request import urlopen\n",
    "c.py": "import requests.sessions\n",
    "sources/d.py": "import http.client as h\n",
}


def test_the_walk_finds_what_it_is_looking_for(tmp_path: Path) -> None:
    for name, text in BAD.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert {place.path for place in sockets(tmp_path)} == set(BAD)
    tree = walk.ast.parse("import os\nos.system('x')\neval('1')\nrows.filter(**request.GET)\nrun(x, shell=True)\n")
    assert {place.what for place in walk.names("x", tree) if NEVER_CALLED.match(place.what)} == {"os.system", "eval"}
    assert [source for _place, source in walk.spread("x", tree) if FROM_OUTSIDE.search(source)] == ["request.GET"]
    assert [place.what for place in walk.keywords("x", tree) if NEVER_GIVEN.match(place.what)] == ["shell=True"]
