from __future__ import annotations

import pytest

from watchbook.base.env import InvalidSetting, Option, integer, load_dotenv, switch, words

COUNT = Option("TEST_ONLY_COUNT", integer, default=3, minimum=1, maximum=9, help="For tests.")
SECRET = Option("TEST_ONLY_SECRET", integer, default=0, secret=True, help="For tests.")
FLAG = Option("TEST_ONLY_FLAG", switch, default=False, help="For tests.")


def test_unset_or_empty_variable_is_the_default(monkeypatch):
    assert COUNT.value == 3
    monkeypatch.setenv("TEST_ONLY_COUNT", " ")
    assert COUNT.value == 3


@pytest.mark.parametrize(
    ("raw", "said"), [("x", "expected a whole number"), ("0", "the least is 1"), ("10", "the most is 9")]
)
def test_wrong_value_is_one_clear_line(monkeypatch, raw, said):
    monkeypatch.setenv("TEST_ONLY_COUNT", raw)
    with pytest.raises(InvalidSetting, match=said) as caught:
        COUNT.value  # noqa: B018
    assert "TEST_ONLY_COUNT" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_wrong_secret_is_not_shown(monkeypatch):
    monkeypatch.setenv("TEST_ONLY_SECRET", "hunter2")
    with pytest.raises(InvalidSetting) as caught:
        SECRET.value  # noqa: B018
    assert "is a value" in str(caught.value)


def test_on_and_off_are_words(monkeypatch):
    for word, meant in (("on", True), ("OFF", False), ("1", True), ("no", False)):
        monkeypatch.setenv("TEST_ONLY_FLAG", word)
        assert FLAG.value is meant


def test_words_are_split_at_commas():
    assert words(" a, b ,,c") == ("a", "b", "c")


def test_dotenv_file_never_overrides_what_is_set(tmp_path, monkeypatch):
    monkeypatch.setenv("TEST_ONLY_COUNT", "5")
    monkeypatch.delenv("TEST_ONLY_FLAG", raising=False)
    file = tmp_path / ".env"
    file.write_text("# a comment\nTEST_ONLY_COUNT=7\nexport TEST_ONLY_FLAG='on'\n")
    load_dotenv(file)
    assert COUNT.value == 5
    assert FLAG.value is True
    monkeypatch.delenv("TEST_ONLY_FLAG")


def test_broken_dotenv_line_is_named(tmp_path):
    file = tmp_path / ".env"
    file.write_text("FINE=1\nnot a setting\n")
    with pytest.raises(InvalidSetting, match="line 2"):
        load_dotenv(file)
