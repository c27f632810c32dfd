"""Chinese and English are complete: every string has a translation, every catalogue is compiled, placeholders agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.utils import translation

import watchbook
from tests.i18n.strings import Found, _in_python, _in_template, strings_of
from watchbook.base.text import po

PACKAGE = Path(watchbook.__file__).parent
LANGUAGE = "zh_Hans"
CATALOGUES = [path for path in po.catalogues(PACKAGE) if path.parent.parent.name == LANGUAGE]
_PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%[sd]|{\w*}")


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE).parts[:-4])


def known() -> dict[str, po.Message]:
    """Translations of the whole package by key."""
    found: dict[str, po.Message] = {}
    for path in CATALOGUES:
        found |= {
            message.key: message for message in po.parse(path.read_text("utf-8"), str(path)) if message.is_translated
        }
    return found


def test_every_string_has_a_chinese_translation():
    translated = known()
    missing: dict[str, Found] = {}
    for found in strings_of(PACKAGE):
        message = translated.get(found.key)
        if message is None or (found.plural is not None) != (message.plural is not None):
            missing.setdefault(found.key, found)
    listed = "\n".join(f"  {found.place}: {key!r}" for key, found in missing.items())
    assert not missing, f"{len(missing)} strings have no translation in any locale/{LANGUAGE} of the package:\n{listed}"


@pytest.mark.parametrize("path", CATALOGUES, ids=name_of)
def test_compiled_catalogue_is_up_to_date(path):
    assert path.with_suffix(".mo").read_bytes() == po.compile_file(path), "run: make messages"


@pytest.mark.parametrize("path", CATALOGUES, ids=name_of)
def test_translations_keep_their_placeholders(path):
    for message in po.parse(path.read_text("utf-8")):
        if not message.id or not message.is_translated:
            continue
        wanted = set(_PLACEHOLDER.findall(message.plural or message.id))
        for text in message.strings.values():
            assert set(_PLACEHOLDER.findall(text)) == wanted, message.id


@pytest.mark.parametrize("path", CATALOGUES, ids=name_of)
def test_catalogue_names_nothing_twice(path):
    keys = [message.key for message in po.parse(path.read_text("utf-8"))]
    assert sorted(keys) == sorted(set(keys))


def test_django_reads_the_compiled_catalogue():
    with translation.override("zh-hans"):
        assert translation.gettext("What changed lately") == "最近变化"


def test_extractor_sees_every_way_of_marking(tmp_path):
    code = tmp_path / "page.py"
    code.write_text(
        "from django.utils.translation import gettext_lazy as _, ngettext as many, pgettext\n"
        'a = _("one " "two")\nb = many("%d gap", "%d gaps", 3)\nc = pgettext("duration", "%(n)s s")\n'
        'd = Job(name="x", title="Deliver notices")\ne = _(dynamic)\n'
    )
    assert {(found.key, found.plural) for found in _in_python(code)} == {
        ("one two", None),
        ("%d gap", "%d gaps"),
        ("duration\x04%(n)s s", None),
        ("Deliver notices", None),
    }


def test_extractor_reads_templates_as_django_does(tmp_path):
    page = tmp_path / "page.html"
    page.write_text(
        '{% translate "Plain" %}{% translate \'Quoted\' context "place" %}{% nothing "x" _("Empty here") %}'
        '{% comment %}{% translate "Not shown" %}{% endcomment %}'
        "{% blocktranslate count n=items %}{{ n }} item, 5%{% plural %}{{ n }} items{% endblocktranslate %}"
        "{% blocktranslate trimmed with a=b %}\n  Two\n  lines {{ a }}\n{% endblocktranslate %}"
    )
    assert {(found.key, found.plural) for found in _in_template(page)} == {
        ("Plain", None),
        ("place\x04Quoted", None),
        ("Empty here", None),
        ("%(n)s item, 5%%", "%(n)s items"),
        ("Two lines %(a)s", None),
    }
