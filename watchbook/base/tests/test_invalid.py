"""Invalid input in a form and in a command; the tests of the API show its answers."""

from __future__ import annotations

import json

import click
from click.testing import CliRunner
from django import forms

from watchbook.base.invalid import InvalidInput
from watchbook.base.terminal import failing_as, with_json


class NameForm(forms.Form):
    name = forms.CharField()


@click.command()
@with_json
def refused(as_json: bool) -> None:
    with failing_as(as_json):
        raise InvalidInput("name", "Enter a name.", "no_name")


def test_form_shows_the_message_at_its_field_or_above_the_form() -> None:
    form = NameForm({"name": "x"})
    InvalidInput("name", "Enter a name.").add_to(form)
    InvalidInput("other", "Too many.").add_to(form)
    assert form.errors == {"name": ["Enter a name."], "__all__": ["Too many."]}


def test_command_prints_the_message_and_ends_with_exit_code_1() -> None:
    found = CliRunner().invoke(refused)
    assert (found.exit_code, found.stderr.strip()) == (1, "Error: Enter a name.")
    found = CliRunner().invoke(refused, ["--json"])
    assert (found.exit_code, json.loads(found.stdout)) == (
        1,
        {"error": {"code": "no_name", "message": "Enter a name."}},
    )
