"""Chinese and English are complete: every string has a translation, every catalogue is compiled, placeholders agree."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest
from babel.messages.catalog import Message
from django.utils import translation

from tests.i18n import catalogues
from tests.i18n.catalogues import PACKAGE, is_translated, key_of, messages, plural_of, texts_of
from tests.i18n.strings import Found, _in_python, _in_template, strings_of

CATALOGUES = catalogues.paths()
_PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%[sd]|{\w*}")
# English words with two Chinese ones, where the same English string means two things. Give such strings a context.
TWO_MEANINGS: set[str] = set()


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE).parts[:-4])


def known() -> dict[str, Message]:
    """Return the translations of the whole package by key."""
    return {key_of(found): found for path in CATALOGUES for found in messages(path) if is_translated(found)}


def test_every_string_has_a_chinese_translation():
    translated = known()
    missing: dict[str, Found] = {}
    for found in strings_of(PACKAGE):
        message = translated.get(found.key)
        if message is None or (found.plural is not None) != (plural_of(message) is not None):
            missing.setdefault(found.key, found)
    listed = "\n".join(f"  {found.place}: {key!r}" for key, found in missing.items())
    assert not missing, f"{len(missing)} strings have no translation in any catalogue of the package:\n{listed}"


@pytest.mark.parametrize("path", CATALOGUES, ids=name_of)
def test_compiled_catalogue_is_up_to_date(path):
    assert path.with_suffix(".mo").read_bytes() == catalogues.compiled(path), "run: make messages"


@pytest.mark.parametrize("path", CATALOGUES, ids=name_of)
def test_translations_keep_their_placeholders(path):
    for message in filter(is_translated, messages(path)):
        wanted = set(_PLACEHOLDER.findall(plural_of(message) or key_of(message)))
        for text in texts_of(message):
            assert set(_PLACEHOLDER.findall(text)) == wanted, message.id


@pytest.mark.parametrize("path", CATALOGUES, ids=name_of)
def test_catalogue_has_each_entry_once(path):
    lines = [line for line in path.read_text("utf-8").splitlines() if line.startswith("msgid ")]
    assert len(lines) - 1 == len({key_of(message) for message in messages(path)}), "one of the lines is the header"


def test_same_english_has_one_chinese_in_all_catalogues():
    found: dict[str, dict[tuple[str, ...], str]] = defaultdict(dict)
    for path in CATALOGUES:
        for message in filter(is_translated, messages(path)):
            found[key_of(message)].setdefault(texts_of(message), name_of(path))
    differing = {key: texts for key, texts in found.items() if len(texts) > 1 and key not in TWO_MEANINGS}
    assert not differing, "\n".join(f"{key!r}: {texts}" for key, texts in differing.items())


def test_catalogues_have_no_entry_that_is_not_used():
    used = {found.key for found in strings_of(PACKAGE)}
    unused = [f"{name_of(path)}: {key_of(m)}" for path in CATALOGUES for m in messages(path) if key_of(m) not in used]
    assert not unused, "run: make messages\n" + "\n".join(unused)


def test_completing_appends_missing_and_removes_unused_entries(tmp_path):
    folder = tmp_path / "tides" / "locale" / "zh_Hans" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    (tmp_path / "tides" / "page.py").write_text(
        "from django.utils.translation import gettext as _, ngettext\n"
        'a = _("High \\"water\\"")\nb = ngettext("%(n)s tide", "%(n)s tides", 2)\nc = _("Known")\n'
    )
    header = (
        'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Plural-Forms: nplurals=1; plural=0;\\n"\n'
    )
    path = folder / "django.po"
    path.write_text(header + '\nmsgid "Known"\nmsgstr "已知"\n\nmsgid "Old"\nmsgstr "旧"\n', "utf-8")
    assert catalogues.complete(tmp_path) == (2, 2, 1)
    assert {key_of(message) for message in messages(path)} == {"Known", 'High "water"', "%(n)s tide"}
    assert catalogues.complete(tmp_path) == (0, 0, 0)
    assert [target.name for target in catalogues.compile_all(tmp_path)] == ["django.mo"]


def said(message: Message) -> str:
    """What Django says in Chinese, whoever else has the same English string."""
    context, _mark, single = key_of(message).rpartition("\x04")
    plural = plural_of(message)
    if plural is None:
        return translation.pgettext(context, single) if context else translation.gettext(single)
    return translation.npgettext(context, single, plural, 2) if context else translation.ngettext(single, plural, 2)


def test_no_other_app_replaces_our_words():
    with translation.override("zh-hans"):
        found = [(key, said(message), texts_of(message)) for key, message in known().items()]
    assert not [(key, shown, ours) for key, shown, ours in found if shown not in ours]


def test_django_reads_the_compiled_catalogue():
    with translation.override("zh-hans"):
        assert translation.gettext("Recent changes") == "最近变化"


def test_extractor_sees_every_way_of_marking(tmp_path):
    code = tmp_path / "page.py"
    code.write_text(
        "from django.utils.translation import gettext_lazy as _, ngettext as many, pgettext\n"
        'a = _("one " "two")\nb = many("%d gap", "%d gaps", 3)\nc = pgettext("duration", "%(n)s s")\n'
        'd = Job(name="x", title="Send notifications")\ne = _(dynamic)\n'
    )
    assert {(found.key, found.plural) for found in _in_python(code)} == {
        ("one two", None),
        ("%d gap", "%d gaps"),
        ("duration\x04%(n)s s", None),
        ("Send notifications", None),
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
