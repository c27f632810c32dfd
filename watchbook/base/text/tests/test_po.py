from __future__ import annotations

import gettext
import io

import pytest

from watchbook.base.text import po

CATALOGUE = """
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=1; plural=0;\\n"

# a comment
#: somewhere.py:3
msgid "Home"
msgstr "首页"

msgctxt "duration"
msgid "%(n)s s"
msgstr "%(n)s 秒"

msgid "%d gap"
msgid_plural "%d gaps"
msgstr[0] "%d 处缺口"

msgid ""
"Two "
"lines \\"quoted\\"\\n"
msgstr "两行“引号”\\n"

#, fuzzy
msgid "Guess"
msgstr "猜测"

msgid "Open"
msgstr ""
"""


def compiled() -> gettext.GNUTranslations:
    return gettext.GNUTranslations(io.BytesIO(po.compile_messages(po.parse(CATALOGUE))))


def test_compiled_catalogue_is_read_by_the_standard_library():
    found = compiled()
    assert found.gettext("Home") == "首页"
    assert found.pgettext("duration", "%(n)s s") == "%(n)s 秒"
    assert found.ngettext("%d gap", "%d gaps", 5) == "%d 处缺口"
    assert found.gettext('Two lines "quoted"\n') == "两行“引号”\n"


def test_fuzzy_and_empty_entries_are_not_translations():
    assert compiled().gettext("Guess") == "Guess"
    assert [message.id for message in po.parse(CATALOGUE) if not message.is_translated] == ["Guess", "Open"]


@pytest.mark.parametrize("line", ["msgid Home", 'msgid "Home', "nonsense", '"text before any keyword"'])
def test_broken_line_is_named(line):
    with pytest.raises(po.UnreadableCatalogue, match="zh, line 2"):
        po.parse(f"# first\n{line}\n", "zh")


def test_compiling_again_writes_nothing(tmp_path):
    folder = tmp_path / "app" / "locale" / "zh_Hans" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    (folder / "django.po").write_text(CATALOGUE, encoding="utf-8")
    assert po.compile_all(tmp_path) == [folder / "django.mo"]
    assert po.compile_all(tmp_path) == []
