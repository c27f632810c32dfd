from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from django.utils import translation

from tests.docs import generate

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    with translation.override("en"):
        return generate.pages()


@pytest.mark.parametrize("name", ["options.md", "commands.md", "jobs.md", "api.md"])
def test_reference_is_up_to_date(made, name):
    written = (generate.REFERENCE / name).read_text(encoding="utf-8")
    assert written == made[name], f"docs/reference/{name} is old: run `make docs`"


def test_every_option_has_a_description():
    from watchbook.base import env

    generate.import_options()
    for option in env.declared().values():
        if not option.name.startswith("TEST_ONLY"):
            assert str(option.help).endswith("."), option.name


def test_every_endpoint_has_a_description():
    found = dict(generate.operations())
    assert found
    assert [name for name, words in found.items() if not words.strip()] == []


def test_every_runtime_dependency_has_a_reason():
    text = (ROOT / "pyproject.toml").read_text()
    block = text.split("dependencies = [", 1)[1].split("\n]", 1)[0]
    lines = [line for line in block.splitlines() if line.strip().startswith('"')]
    assert lines
    assert [line for line in lines if "#" not in line] == []


def test_pins_have_names_versions_and_hashes_only():
    for path in (ROOT / "requirements").glob("*.txt"):
        text = path.read_text()
        assert "--hash=sha256:" in text
        assert not re.search(r"://|--(extra-)?index-url|--find-links|--trusted-host", text), path.name


def test_every_link_in_the_docs_leads_to_a_page():
    broken = []
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text(encoding="utf-8")):
            if not (page.parent / target).exists():
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert broken == []


def test_no_file_names_a_path_outside_the_project():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    words = ["../" + "shared", "/wor" + "k/", "/roo" + "t/"]
    found = []
    for name in tracked:
        path = ROOT / name
        if path.suffix in {".png", ".mo", ".svg"} or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="ignore")
        found += [f"{name}: {word}" for word in words if word in text]
    assert found == []
