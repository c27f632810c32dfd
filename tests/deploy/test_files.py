"""Containerfile, compose file and systemd units name only files, commands and settings that exist."""

from __future__ import annotations

import configparser
import re
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from tests.docs.generate import import_options
from watchbook.base import env
from watchbook.project.cli import program

ROOT = Path(__file__).parents[2]
CONTAINERFILE = (ROOT / "Containerfile").read_text()
COMPOSE_FILE = (ROOT / "compose.yaml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(COMPOSE_FILE)
UNITS = sorted((ROOT / "deploy" / "systemd").glob("*.service"))
OWN = {"watchbook", "worker", "beat", "migrate"}
# Names that only compose itself reads.
OF_COMPOSE = {"COMPOSE_PROFILES", "POSTGRES_PASSWORD", "WATCHBOOK_COMMAND", "WATCHBOOK_IMAGE", "WATCHBOOK_PORT"}


def options() -> set[str]:
    import_options()
    return set(env.declared())


def commands() -> set[str]:
    return set(program.list_commands(click.Context(program)))


def test_container_copies_files_that_exist_and_are_sent_to_the_builder() -> None:
    kept = set(re.findall(r"^!(\S+)$", (ROOT / ".containerignore").read_text(), re.MULTILINE))
    lines = re.findall(r"^COPY (?!--from)(.+) \S+$", CONTAINERFILE, re.MULTILINE)
    copied = [name for line in lines for name in line.split()]
    assert set(copied) == kept
    assert all((ROOT / name).exists() for name in copied)
    assert (ROOT / ".dockerignore").read_text() == (ROOT / ".containerignore").read_text()


def test_container_runs_as_an_unprivileged_user_and_names_no_package_index() -> None:
    last = CONTAINERFILE.rpartition("FROM ")[2]
    assert re.search(r"^USER watchbook$", last, re.MULTILINE)
    assert re.search(r"^VOLUME /data$", last, re.MULTILINE)
    assert "WATCHBOOK_BIND" in last.partition("HEALTHCHECK")[2]
    assert "index" not in CONTAINERFILE


def test_compose_starts_one_service_unless_scaled() -> None:
    services = COMPOSE["services"]
    assert [name for name, service in services.items() if "profiles" not in service] == ["watchbook"]
    assert {name for name, service in services.items() if service.get("profiles") == ["scaled"]} == {
        "worker", "beat", "migrate", "postgres", "valkey",
    }  # fmt: skip


@pytest.mark.parametrize("name", sorted(OWN))
def test_every_setting_reaches_a_service_through_one_file(name: str) -> None:
    assert COMPOSE["services"][name]["env_file"] == [{"path": "watchbook.env", "required": False}]


@pytest.mark.parametrize("name", sorted(OWN))
def test_service_is_confined_and_uses_known_settings_and_commands(name: str) -> None:
    service = COMPOSE["services"][name]
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert set(service["environment"]) <= options()
    command = service["command"][0]
    assert re.sub(r"\$\{WATCHBOOK_COMMAND:-(\w+)\}", r"\1", command) in commands()


def test_settings_of_the_scaled_profile_are_known() -> None:
    names = re.findall(r"^(\w+)=", (ROOT / "deploy" / "scaled.env").read_text(), re.MULTILINE)
    assert set(names) <= options() | OF_COMPOSE
    used = set(re.findall(r"\$\{(\w+)", (ROOT / "compose.yaml").read_text()))
    assert used <= options() | OF_COMPOSE


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_unit_starts_a_command_that_exists(unit: Path) -> None:
    read = configparser.ConfigParser(interpolation=None)
    read.optionxform = str  # type: ignore[assignment,method-assign]
    read.read_string(unit.read_text())
    program_file, command, *_rest = read["Service"]["ExecStart"].split()
    assert program_file.endswith("/watchbook")
    assert command in commands()
    assert read["Service"]["NoNewPrivileges"] == "yes"


def test_all_units_differ_only_in_name_and_command() -> None:
    lines = [
        {line for line in unit.read_text().splitlines() if not line.startswith(("Description=", "ExecStart="))}
        for unit in UNITS
    ]
    assert len(UNITS) == 4
    assert all(each == lines[0] for each in lines)


def test_scaled_profile_is_chosen_once_for_every_command_of_compose() -> None:
    """A command without these settings would start the workers on SQLite, without a broker."""
    names = re.findall(r"^(\w+)=(.+)$", (ROOT / "deploy" / "scaled.env").read_text(), re.MULTILINE)
    assert dict(names)["COMPOSE_PROFILES"] == "scaled"
    pages = [COMPOSE_FILE, *(path.read_text() for path in (ROOT / "docs" / "how-to").glob("*.md"))]
    assert not [found for page in pages for found in re.findall(r"compose .*--(?:profile|env-file).*", page)]
