"""A sixth source is one new folder: written into a copy of the package, it is found by everything."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.i18n import catalogues
from watchbook.base.testing import migrated

ROOT = Path(__file__).resolve().parents[2]

FILES = {
    "__init__.py": '"""Tides: a made-up source."""\n',
    "source.py": """
from django.utils.translation import pgettext_lazy as _p

from watchbook.core.registry import Colour, Job, SearchKind, Source, TokenScope
from watchbook.core.watching import every
from watchbook.kit.badges import info, warn

SOURCE = Source(
    slug="tides",
    title="Tides",
    icon="tides/icons.svg#wave",
    order=60,
    colour=Colour("#0a5a6f", "#7fd1e6"),
    badges={"tide": {"high": warn(_p("tide", "High water")), "low": info(_p("tide", "Low water"))}},
    figures={"harbours_read": _p("figure", "harbours read")},
    stream_kinds=(("flood", "Flood warning"),),
    token_scopes=(TokenScope("tides", "Tides API (tides)"),),
    examples="tides/_examples.html",
    home_url="tides:list",
    jobs=(
        Job(
            name="tides.read",
            title="Read tides",
            run="watchbook.systems.tides.jobs:read_tides",
            schedule=every(hours=6),
        ),
    ),
    search_kinds=(SearchKind("tide", "Tides"),),
)
""",
    "models.py": """
from django.db import models


class Tide(models.Model):
    harbour = models.CharField(max_length=50)

    class Meta:
        db_table = "tides"
""",
    "jobs.py": """
from watchbook.core.jobs.runner import Outcome
from watchbook.systems.tides.models import Tide


def read_tides(ctx):
    with ctx.writing():
        Tide.objects.create(harbour="Example Harbour")
    return Outcome("done", {"harbours_read": Tide.objects.count()})
""",
    "urls.py": """
from django.http import HttpResponse
from django.urls import path

app_name = "tides"
urlpatterns = [path("", lambda request: HttpResponse("tides"), name="list")]
""",
    "api.py": """
from ninja import Router

router = Router()


@router.get("/harbours")
def harbours(request):
    return {"items": [], "next": None}
""",
    "cli.py": '''
import click


@click.group("tides")
def group():
    """Tides."""


@group.command()
def ebb():
    click.echo("low water")
''',
    "migrations/__init__.py": "",
    "static/tides/icons.svg": '<svg xmlns="http://www.w3.org/2000/svg"><symbol id="wave"/></svg>',
    "templates/tides/_examples.html": '<li class="log-mark sys-tides">{% state_badge "tide" "high" %}</li>',
    "locale/zh_Hans/LC_MESSAGES/django.po": """
msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\n"

msgctxt "tide"
msgid "High water"
msgstr "高潮"

msgctxt "figure"
msgid "harbours read"
msgstr "已读港口"

msgid "Flood warning"
msgstr "洪水警报"
""",
}

LOOK = """
import json
from django.test import Client
from django.urls import reverse
from django.utils import translation
from watchbook.core import registry
from watchbook.core.accounts import tokens
from watchbook.core.accounts.models import User
from watchbook.core.jobs.models import JobRun
from watchbook.core.jobs.overview import figures
from watchbook.core.notify.message import title_of
from watchbook.kit import badges
from watchbook.core.jobs import scheduler
from watchbook.core.jobs.models import JobSchedule
from watchbook.base import clock

user = User.objects.create_user(email="a@example.com", password="correct horse battery")
client = Client(headers={"host": "127.0.0.1"})
anonymous = client.get(reverse("tides:list")).status_code
client.force_login(user)
run = JobRun.objects.get(name="tides.read")
scheduler.make_due_runs(clock.now())
with translation.override("zh-hans"):
    chinese = [str(badges.find("tide", "HIGH").text), [what for what, _ in figures(run)], title_of("tides", "flood")]
print(json.dumps({
    "menu": "Tides" in client.get("/").content.decode(),
    "menu_page": client.get("/").content.decode(),
    "page": client.get(reverse("tides:list")).content.decode(),
    "anonymous": anonymous,
    "api": client.get("/api/v1/tides/harbours").json(),
    "scheduled": JobSchedule.objects.filter(name="tides.read").exists(),
    "kinds": [kind.name for source in registry.sources() for kind in source.search_kinds],
    "sign_in": Client(headers={"host": "127.0.0.1"}).get(reverse("account_login")).content.decode(),
    "colours": client.get("/sources.css").content.decode(),
    "figures": [what for what, _ in figures(run)],
    "channel_words": title_of("tides", "flood"),
    "scopes": list(tokens.scopes()),
    "chinese": chinese,
    "kind_offered": "tide" in client.get("/search/").content.decode(),
}))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("copy")
    # With the bytecode: it stays valid, and to compile the tree again takes long.
    shutil.copytree(ROOT / "watchbook", root / "watchbook", ignore=shutil.ignore_patterns("tests"))
    migrated.copy_to(root / "home" / "watchbook.sqlite3")
    shutil.copy(ROOT / "pyproject.toml", root)
    (root / "standins").mkdir()
    (root / "standins" / "__init__.py").touch()
    for name, text in FILES.items():
        path = root / "watchbook" / "systems" / "tides" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.lstrip())
    return root


def run(copy: Path, *words: str, given: str = "") -> str:
    env = {
        **os.environ,
        "WATCHBOOK_HOME": str(copy / "home"),
        "WATCHBOOK_ENV_FILE": str(copy / "none"),
        "DATABASE_URL": "",
        "PYTHONPATH": str(copy),
        "WATCHBOOK_LOG_LEVEL": "ERROR",
    }
    env.pop("DJANGO_SETTINGS_MODULE", None)
    done = subprocess.run(
        [sys.executable, "-m", "watchbook", *words],
        cwd=copy, env=env, input=given, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def test_new_folder_is_found_by_every_part_of_the_platform(copy):
    assert "tides" in run(copy, "--help")
    run(copy, "makemigrations", "tides", "--verbosity", "0")
    run(copy, "migrate", "--verbosity", "0")
    assert "low water" in run(copy, "tides", "ebb")
    listed = json.loads(run(copy, "jobs", "list", "--json"))["jobs"]
    assert "tides.read" in [job["name"] for job in listed]
    assert json.loads(run(copy, "jobs", "run", "tides.read", "--json"))["progress"] == {"harbours_read": 1}
    # What `make messages` does: the folder brings its own catalogue.
    assert len(catalogues.compile_all(copy / "watchbook/systems/tides")) == 1
    seen = json.loads(run(copy, "shell", "-v", "0", "-c", LOOK).strip().splitlines()[-1])
    assert seen["menu"] is True
    assert seen["page"] == "tides"
    assert seen["anonymous"] == 302
    assert seen["api"] == {"items": [], "next": None}
    assert seen["scheduled"] is True
    assert "tide" in seen["kinds"]
    assert seen["kind_offered"] is True
    assert 'class="log-mark sys-tides"><span class="badge badge--warn">' in seen["sign_in"]
    assert "tides/icons.svg" in seen["menu_page"]
    assert "--sys-tides: light-dark(#0a5a6f, #7fd1e6)" in seen["colours"]
    assert ".sys-tides { color: var(--sys-tides); }" in seen["colours"]
    assert seen["figures"] == ["harbours read"]
    assert seen["channel_words"] == "Flood warning"
    assert seen["scopes"] == ["read", "write", "notes", "tides", "staff"]
    assert seen["chinese"] == ["高潮", ["已读港口"], "洪水警报"]


def test_new_folder_keeps_the_import_contracts(copy):
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [str(linter), "--no-cache"],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout
    (copy / "watchbook/systems/tides/store.py").write_text("import watchbook.systems.sitemaps.models\n")
    done = subprocess.run(
        [str(linter), "--no-cache"],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "Systems never import each other BROKEN" in done.stdout
