"""Rules for the source: which modules may open connections, and what no module may do.

Every exception stands here with its reason. One that is no longer needed has to go, too.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.security import source_walk as walk
from tests.security.source_walk import Place

pytestmark = pytest.mark.xdist_group("source rules")  # the source is parsed once

NETWORK = {
    "socket", "ssl", "http.client", "http.server", "urllib.request", "urllib3", "httpx", "httpcore", "requests",
    "aiohttp", "smtplib", "ftplib", "poplib", "imaplib", "nntplib", "telnetlib", "xmlrpc", "socketserver", "asyncio",
    "redis", "apprise", "kombu", "celery", "amqp", "pymysql", "psycopg", "websocket", "websockets", "paramiko",
    "pycurl", "tornado", "gevent", "waitress",
}  # fmt: skip
# The room (or the file) and what it may import, with the reason.
MAY_CONNECT = {
    "base/web/transport.py": (
        {"socket", "ssl", "httpcore", "urllib3"},
        "the network layer: it owns the sockets, and checks the connections that Apprise opens",
    ),
    "base/web/proxy.py": (
        {"socket"},
        "listens on loopback for a browser of ours; connections to the web are opened and checked by the transport",
    ),
    "base/web/rate_limit.py": ({"redis"}, "the operator's own server, to keep the pace of all processes"),
    "base/testing/servers.py": (
        {"socket", "psycopg", "pymysql"},
        "looks for servers of a test run and makes databases there",
    ),
    "core/notify/channels/email.py": ({"smtplib"}, "the operator's mail server"),
    "core/notify/channels/apprise.py": ({"apprise"}, "services whose hosts are in its own code, or trusted"),
    "core/ops/doctor.py": ({"smtplib", "kombu"}, "asks the operator's servers whether they answer"),
    "core/ops/server.py": ({"waitress"}, "listens for requests"),
    "core/ops/processes.py": ({"socket"}, "asks its own port whether the web processes listen"),
    "core/ops/settings_tests.py": ({"smtplib"}, "names the errors of a test e-mail"),
    "core/api/mcp/server.py": ({"asyncio"}, "runs one request of the SDK; opens no connection"),
    "core/ops/backup/rows.py": ({"pymysql"}, "a cursor of the database that streams"),
    "core/jobs/celery.py": ({"celery", "kombu"}, "the operator's broker"),
    "core/jobs/queue.py": ({"socket"}, "the name of this machine"),
    "core/ops/keys.py": ({"socket"}, "the name of this machine"),
    "core/jobs/actions.py": ({"socket"}, "the name of this machine"),
    "project/database.py": ({"pymysql"}, "the operator's database"),
}
# Of the socket module these rooms use one function that connects to nobody.
ONLY_THE_NAME = ("core/jobs/queue.py", "core/jobs/actions.py", "core/ops/keys.py")

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
MAY_START_PROCESSES = {
    "base/sandbox/__init__.py": "the child that reads hostile bytes; a fixed command, no shell",
    "base/testing/migrated.py": "makes the migrated file of a test run; a fixed command, no shell",
    "base/testing/pages.py": "asks epubcheck about a book of a test; a fixed command, no shell",
    "core/ops/first_database.py": "makes the first database of a package; a fixed command, no shell",
    "core/ops/processes.py": "chooses how the web processes start",
    "systems/library/jobs/books.py": "the operator's Chromium prints a PDF; no shell, no network",
    "systems/pages/jobs/shots.py": "the operator's Chromium takes a screenshot; no shell, network through the proxy",
    "systems/library/jobs/nightly.py": "git in the operator's folder; a fixed command, no shell",
}
NEVER_CALLED = re.compile(r"(?:eval|exec|compile|__import__|os\.(?:system|popen|exec\w+|spawn\w+|fork)|.*\.extra)\Z")
# `compile` of the re module and `extra` of an entry of a zip file are others.
HARMLESS_CALLS = re.compile(r"(?:re\.compile|first\.extra)\Z")
NEVER_GIVEN = re.compile(
    r"(?:shell=True|verify=False|fail_silently=True|check_hostname=False|autoescape=False|safe=True)\Z"
)
NEVER_READ = re.compile(r"(?:.*\.)?(?:CERT_NONE|_create_unverified_context|PROTOCOL_SSLv\w+)\Z")

MAY_MARK_SAFE = {
    "kit/templatetags/kit.py": "blocks that a template rendered, and constants",
    "kit/charts/svg.py": "the one place that writes SVG; it escapes every value itself",
    "kit/badges.py": "empty strings",
    "core/notify/channels/email.py": "markup that our own templates made when the notice was told",
    "core/search/highlight.py": "pieces that were escaped one by one",
    "systems/library/views/links.py": "cleaned before; the marks of broken links are ours",
    "systems/library/views/page.py": "cleaned by the allow-list once more, right there",
    "systems/nga/clip.py": "floors, cleaned by the allow-list when they were stored",
    "systems/reddit/clip.py": "Markdown that nh3 cleaned right there",
    "systems/reddit/views/posts.py": "Markdown that nh3 cleaned right there",
    "systems/reddit/views/comments.py": "Markdown that nh3 cleaned right there",
    "systems/nga/views/posts.py": "floors, cleaned when they were stored; what is added is escaped",
}
MAY_SKIP_CSRF = {
    "core/notify/views.py": "one-click unsubscribe: the signed link of a mail is the proof",
    "core/api/mcp/views.py": "only a token counts there, a session does not",
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


def test_network_imports_are_listed() -> None:
    complain(sockets(), set(), "only base/web opens connections")


def test_every_listed_import_is_still_used() -> None:
    used: dict[str, set[str]] = {}
    for path, tree in walk.modules():
        used[path] = {name for place in walk.imports(path, tree) if (name := belongs(place.what, NETWORK))}
    assert {path: allowed - used.get(path, set()) for path, (allowed, _why) in MAY_CONNECT.items()} == {
        path: set() for path in MAY_CONNECT
    }


def test_socket_module_is_used_for_the_host_name_only() -> None:
    for path, tree in walk.modules():
        if path in ONLY_THE_NAME:
            asked = {place.what for place in walk.names(path, tree) if place.what.startswith("socket.")}
            assert asked == {"socket.gethostname"}, path


def test_only_the_network_layer_opens_connections() -> None:
    """Also through a module that another one imported: `transport.socket.create_connection`."""
    # Django calls a connection to the database so as well.
    makes = re.compile(
        r"(?!connections\.)(?:.*\.)?(?:create_connection|create_server|getaddrinfo|socketpair|open_connection)\Z"
    )
    found = [place for path, tree in walk.modules() for place in walk.names(path, tree) if makes.match(place.what)]
    # waitress has a function of that name; it listens. The web processes are asked at their own port.
    # The proxy of a browser listens on loopback.
    allowed = {
        "base/web/transport.py",
        "base/web/proxy.py",
        "base/testing/servers.py",
        "core/ops/server.py",
        "core/ops/processes.py",
    }
    complain(found, allowed, "makes a connection")


def test_no_module_executes_data() -> None:
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


def test_no_protection_is_disabled() -> None:
    given = [
        place for path, tree in walk.modules() for place in walk.keywords(path, tree) if NEVER_GIVEN.match(place.what)
    ]
    read = [place for path, tree in walk.modules() for place in walk.names(path, tree) if NEVER_READ.match(place.what)]
    complain([*given, *read], set(), "switches a protection off")


def test_safe_markup_is_listed() -> None:
    safe = re.compile(r"(?:.*\.)?(?:mark_safe|SafeString|SafeText|SafeData)\Z")
    found = [place for path, tree in walk.modules() for place in _calls(path, tree) if safe.match(place.what)]
    complain(found, set(MAY_MARK_SAFE), "calls text safe")


def _calls(path: str, tree: walk.ast.Module) -> list[Place]:
    nodes = (node for node in walk.nodes(tree) if isinstance(node, walk.ast.Call))
    return [Place(path, node.lineno, walk.dotted(node.func)) for node in nodes]


def test_templates_escape_everything() -> None:
    """Mails in plain text are no markup; nothing else may switch escaping off."""
    off = re.compile(r"\|\s*(?:safe|safeseq)\b|autoescape\s+off|escapejs")
    found = [path for path, text in walk.templates() if off.search(text) and not path.endswith(".txt")]
    assert found == []
    scripts = re.compile(r"""<script(?![^>]*\b(?:src=|type="application/json"))|\son\w+=|javascript:|<style|\sstyle=""")
    assert [path for path, text in walk.templates() if path.endswith(".html") and scripts.search(text)] == []


def test_forms_without_csrf_token_are_listed() -> None:
    found = [
        place
        for path, tree in walk.modules()
        for place in walk.names(path, tree)
        if place.what.rpartition(".")[2] == "csrf_exempt"
    ]
    complain(found, set(MAY_SKIP_CSRF), "takes a form without its token")


def test_no_query_uses_field_names_of_a_request() -> None:
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


def test_walk_finds_planted_imports(tmp_path: Path) -> None:
    for name, text in BAD.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert {place.path for place in sockets(tmp_path)} == set(BAD)
    tree = walk.ast.parse("import os\nos.system('x')\neval('1')\nrows.filter(**request.GET)\nrun(x, shell=True)\n")
    assert {place.what for place in walk.names("x", tree) if NEVER_CALLED.match(place.what)} == {"os.system", "eval"}
    assert [source for _place, source in walk.spread("x", tree) if FROM_OUTSIDE.search(source)] == ["request.GET"]
    assert [place.what for place in walk.keywords("x", tree) if NEVER_GIVEN.match(place.what)] == ["shell=True"]
