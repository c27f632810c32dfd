"""A sixth source is one new folder: written into a copy of the package, it is found by everything."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

FILES = {
    "__init__.py": '"""Tides: a made-up source."""\n',
    "source.py": """
from watchbook.core.registry import Job, SearchKind, Source
from watchbook.core.schedule import every

SOURCE = Source(
    slug="tides",
    title="Tides",
    icon="stream",
    order=60,
    home_url="tides:list",
    jobs=(Job(name="tides.read", run="watchbook.sources.tides.jobs:read_tides", schedule=every(hours=6)),),
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
from watchbook.core.jobs.context import Outcome
from watchbook.sources.tides.models import Tide


def read_tides(ctx):
    with ctx.writing():
        Tide.objects.create(harbour="Example Harbour")
    return Outcome("done", {"tides": Tide.objects.count()})
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
}

LOOK = """
import json
from django.test import Client
from django.urls import reverse
from watchbook.core import registry
from watchbook.core.accounts.models import User
from watchbook.core.jobs import scheduler
from watchbook.core.jobs.models import JobSchedule
from watchbook.base import clock

user = User.objects.create_user(email="a@example.com", password="correct horse battery")
client = Client(headers={"host": "127.0.0.1"})
anonymous = client.get(reverse("tides:list")).status_code
client.force_login(user)
scheduler.make_due_runs(clock.now())
print(json.dumps({
    "menu": "Tides" in client.get("/").content.decode(),
    "page": client.get(reverse("tides:list")).content.decode(),
    "anonymous": anonymous,
    "api": client.get("/api/v1/tides/harbours").json(),
    "scheduled": JobSchedule.objects.filter(name="tides.read").exists(),
    "kinds": [kind.name for source in registry.sources() for kind in source.search_kinds],
    "kind_offered": "tide" in client.get("/search/").content.decode(),
}))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("copy")
    ignored = shutil.ignore_patterns("__pycache__", "tests", "*.pyc")
    shutil.copytree(ROOT / "watchbook", root / "watchbook", ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", root)
    (root / "standins").mkdir()
    (root / "standins" / "__init__.py").touch()
    for name, text in FILES.items():
        path = root / "watchbook" / "sources" / "tides" / name
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


def test_a_new_folder_is_found_by_menu_addresses_jobs_search_api_and_commands(copy):
    assert "tides" in run(copy, "--help")
    run(copy, "makemigrations", "tides", "--verbosity", "0")
    run(copy, "migrate", "--verbosity", "0")
    assert "low water" in run(copy, "tides", "ebb")
    listed = json.loads(run(copy, "jobs", "list", "--json"))["jobs"]
    assert "tides.read" in [job["name"] for job in listed]
    assert json.loads(run(copy, "jobs", "run", "tides.read", "--json"))["progress"] == {"tides": 1}
    seen = json.loads(run(copy, "shell", "-v", "0", "-c", LOOK).strip().splitlines()[-1])
    assert seen["menu"] is True
    assert seen["page"] == "tides"
    assert seen["anonymous"] == 302
    assert seen["api"] == {"items": [], "next": None}
    assert seen["scheduled"] is True
    assert "tide" in seen["kinds"]
    assert seen["kind_offered"] is True


def test_the_import_contracts_hold_for_it_without_an_edit(copy):
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
    (copy / "watchbook/sources/tides/store.py").write_text("import watchbook.sources.sitemaps.models\n")
    done = subprocess.run(
        [str(linter), "--no-cache"],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "Neighbours never import each other BROKEN" in done.stdout
