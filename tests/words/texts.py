"""Collects every text that people read: catalogues, templates, output and help of commands, options, the API document,
comments, docs, names of tests.

`python -m tests.words.texts [PART OF A PATH]` prints the texts that contain a refused word.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import watchbook
from tests.i18n.strings import strings_of

PACKAGE = Path(watchbook.__file__).parent
DOCS = PACKAGE.parent / "docs"

# Words that the product does not use, with the reason they were replaced: a plain word exists, or no subject is named.
ENGLISH = (
    r"\b(told|tells?|telling)\b",
    r"\b(nobody|somebody|anybody|whoever)\b",
    r"\b(he|his|him)\b",
    r"\bnotices?\b",
    r"\b(anew|nought|lately|meanwhile|graver|rhythm|mend)\b",
    r"\b(seal(s|ed|ing)?|unseal(ed)?)\b",
    r"\bwish(es|ed)?\b",
    r"\bforget(s|ting)?\b|\bforgotten\b",
    r"\bfil(e|ed) (it|an item|in the library|before)\b|\bfile in library\b",
    r"\b(go|goes|going|went) on\b",
    r"\b(by|of) itself\b",
    r"\bfor good\b",
    r"\btaken? (for|back|out)\b",
    r"\bleft (alone|out)\b",
    r"\bbr(ing|ought) back\b",
    r"\bhand(ed)? over\b",
    r"\b(out of|into|in) turn\b",
    r"\bsigns? of life\b",
    r"\bsecond step\b",
    r"\bswitch(ed|es)? (on|off)\b",
    r"\b(deep walk|visit(s|ed)?|re-stamped|oddities|honesty|remarks?)\b",
    r"\bhonou?r(s|ed|ing)?\b",
    r"\bin trouble\b|\bis ill\b|\bat work\b",
    r"\bthis (desk|installation|house)\b",
    r"\blook(s|ed)? (at|into|further)\b|\b(needs?) a look\b",
    r"\bsilence\b|\bthe books\b",
    r"\bstands? (here|there|side|in|for)\b",
    r"\bat once\b",
)
CHINESE = (
    "您|帐号|版面|运维人员|本站管理员",
    "吊销|摘录|存入|遗忘|记过|收盘|栅栏号|对账|水位线|通读",
    "无声息|没有动静|书架|二次验证|安装码|根层|彻底删除|恢复使用|已回收|修补",
    "应答|答复|略去|略过|抢先",
)
# Texts that need such a word, each with its reason.
ALLOWED: dict[str, str] = {}

_ENGLISH = re.compile("|".join(f"(?:{pattern})" for pattern in ENGLISH), re.IGNORECASE)
_CHINESE = re.compile("|".join(CHINESE))
_MARKUP = re.compile(r"{%.*?%}|{{.*?}}|{#.*?#}|<[^>]*>", re.DOTALL)
_COMMENT = re.compile(r"{%\s*comment\b.*?{%\s*endcomment\s*%}", re.DOTALL)
# JSON keys, option names and code in a text are not words of a sentence.
_CODE = re.compile(r"`[^`]*`|\b[a-z]+(?:_[a-z]+)+\b|\b[A-Z]+(?:_[A-Z]+)+\b")
_TEST = re.compile(r"\s*(?:async )?def test_(\w+)\(")


@dataclass(frozen=True)
class Text:
    """A text and the place where it is written."""

    place: str
    words: str

    def refused(self) -> str:
        """Return the first refused word, or an empty string."""
        if self.words in ALLOWED:
            return ""
        plain = _CODE.sub(" ", self.words)
        hit = _ENGLISH.search(plain) or _CHINESE.search(plain)
        return hit[0] if hit else ""


def marked() -> Iterator[Text]:
    """Every string of the package that is marked for translation."""
    for found in strings_of(PACKAGE):
        for words in filter(None, (found.key.rpartition("\x04")[2], found.plural)):
            yield Text(str(Path(found.place).relative_to(PACKAGE.parent)), words)


def catalogues() -> Iterator[Text]:
    """Both sides of every catalogue, line by line."""
    for path in sorted(PACKAGE.rglob("locale/*/LC_MESSAGES/*.po")):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
            if not line.startswith("#") and (words := line.partition('"')[2].rpartition('"')[0]):
                yield Text(f"{path.relative_to(PACKAGE.parent)}:{number}", words)


def templates() -> Iterator[Text]:
    """What templates of pages and mails write without a translation mark."""
    for path in sorted([*PACKAGE.rglob("templates/**/*.html"), *PACKAGE.rglob("templates/**/*.txt")]):
        text = _COMMENT.sub("", path.read_text("utf-8"))
        words = " ".join(_MARKUP.sub(" ", text).split())
        yield Text(str(path.relative_to(PACKAGE.parent)), words)


def options() -> Iterator[Text]:
    from tests.docs.generate import import_options
    from watchbook.base import env

    import_options()
    for name, option in env.declared().items():
        yield Text(f"option {name}", str(option.help))


def commands() -> Iterator[Text]:
    import click

    from watchbook.project.cli import program

    def walk(command: click.Command, name: str) -> Iterator[Text]:
        yield Text(f"command {name}", " ".join((command.help or "").split()))
        for param in command.params:
            yield Text(f"command {name} {param.name}", getattr(param, "help", None) or "")
        for sub, inner in getattr(command, "commands", {}).items():
            yield from walk(inner, f"{name} {sub}")

    context = click.Context(program)
    for name in program.list_commands(context):
        if (command := program.get_command(context, name)) is not None:
            yield from walk(command, name)


def api() -> Iterator[Text]:
    from watchbook.core.api.shell import build_api

    yield from _descriptions(build_api().get_openapi_schema(), "API")


def _descriptions(node: Any, place: str) -> Iterator[Text]:
    if isinstance(node, dict):
        for key, value in node.items():
            # The title of a field is made of its name, which stays as it is.
            if key in ("description", "summary") and isinstance(value, str):
                yield Text(place, " ".join(value.split()))
            else:
                yield from _descriptions(value, f"{place} {key}")
    elif isinstance(node, list):
        for value in node:
            yield from _descriptions(value, place)


def spoken() -> Iterator[Text]:
    """Sentences in the code that are not translated: output of commands, `doctor`, logs, refusals of settings."""
    for path in sorted(PACKAGE.rglob("*.py")):
        # Parsers quote other sites; the comments of columns are those of the tables' own definition.
        if not {"tests", "testing", "migrations", "parse", "models", "models.py"} & set(path.parts):
            for number, words in _sentences(ast.parse(path.read_text("utf-8"))):
                yield Text(f"{path.relative_to(PACKAGE.parent)}:{number}", _MARKUP.sub(" ", words))


def _sentences(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield every string with a space that is no docstring; what an f-string puts in is written as X."""
    known = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            known |= {id(part) for part in node.values}
            words = "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
            yield node.lineno, words
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in known:
            yield node.lineno, node.value if " " in node.value else ""


def comments() -> Iterator[Text]:
    """Docstrings and comments of the package, of the stand-ins, benches and scripts."""
    root = PACKAGE.parent
    folders = (PACKAGE, *(root / name for name in ("standins", "bench", "scripts")))
    for path in (path for folder in folders for path in sorted(folder.rglob("*.py"))):
        if not {"tests", "migrations"} & set(path.parts):
            source = path.read_text("utf-8")
            for number, words in (*_docstrings(ast.parse(source)), *_comments(source)):
                yield Text(f"{path.relative_to(root)}:{number}", " ".join(words.split()))


def _docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        is_owner = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if is_owner and (text := ast.get_docstring(node)):
            yield node.body[0].lineno, text


def _comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield comments; lines that follow each other are one."""
    number, words = 0, ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if words and token.start[0] != number + words.count("\n") + 1:
                yield number, words
                words = ""
            number = number if words else token.start[0]
            words = f"{words}\n{token.string.lstrip('# ')}" if words else token.string.lstrip("# ")
    yield number, words


def docs() -> Iterator[Text]:
    """The pages for users, operators and contributors; the changelog is history and keeps its words."""
    root = PACKAGE.parent
    pages = [*DOCS.rglob("*.md"), *root.glob("README*.md"), *PACKAGE.rglob("README.md"), root / "CONTRIBUTING.md"]
    # The comments of columns in the list of tables are those of the tables' own definition.
    for path in sorted(path for path in pages if path.name != "tables.md"):
        inside_code = False
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
            if line.startswith("```"):
                inside_code = not inside_code
            elif not inside_code:
                yield Text(f"{path.relative_to(root)}:{number}", line)


def tests() -> Iterator[Text]:
    """Names of test functions, read as sentences."""
    root = PACKAGE.parent
    for path in (path for top in (PACKAGE, root / "tests", root / "standins") for path in sorted(top.rglob("*.py"))):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
            if name := _TEST.match(line):
                yield Text(f"{path.relative_to(root)}:{number}", name[1].replace("_", " "))


PARTS = {
    "marked": marked,
    "catalogues": catalogues,
    "templates": templates,
    "options": options,
    "commands": commands,
    "api": api,
    "spoken": spoken,
    "comments": comments,
    "docs": docs,
    "tests": tests,
}


def main(wanted: str) -> int:
    import django

    django.setup()
    count = 0
    for part in PARTS.values():
        for text in part():
            if wanted in text.place and (word := text.refused()):
                count += 1
                sys.stdout.write(f"{text.place}: [{word}] {text.words[:140]}\n")
    sys.stdout.write(f"{count} texts contain a refused word\n")
    return 1 if count else 0


if __name__ == "__main__":
    import os

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "watchbook.project.settings")
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
