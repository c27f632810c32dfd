"""Finds every string of the package that a reader may meet: in Python by syntax tree, in templates by their tags."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SINGULAR = {"gettext", "gettext_lazy", "gettext_noop"}
PLURAL = {"ngettext", "ngettext_lazy"}
WITH_CONTEXT = {"pgettext", "pgettext_lazy"}
PLURAL_WITH_CONTEXT = {"npgettext", "npgettext_lazy"}
# Records whose title is shown through gettext wherever a page lists them.
TITLED = {"Job", "Source", "SearchKind"}
# And pairs of a name and its title.
PAIRED = {"stream_kinds", "audit_kinds"}


@dataclass(frozen=True)
class Found:
    """A string and where it stands; `key` is how a catalogue names it."""

    key: str
    place: str
    plural: str | None = None


def strings_of(package: Path) -> list[Found]:
    found: list[Found] = []
    for path in sorted(package.rglob("*.py")):
        if not {"tests", "migrations", "testing"} & set(path.parts):
            found += _in_python(path)
    for suffix in ("*.html", "*.txt"):
        for path in sorted(package.rglob(f"templates/**/{suffix}")):
            found += _in_template(path)
    return found


def _in_python(path: Path) -> Iterator[Found]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {name: name for name in SINGULAR | PLURAL | WITH_CONTEXT | PLURAL_WITH_CONTEXT}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("translation"):
            names |= {alias.asname or alias.name: alias.name for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from _in_call(node, names, path)


def _in_call(node: ast.Call, names: dict[str, str], path: Path) -> Iterator[Found]:
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    name, place = names.get(called, ""), f"{path}:{node.lineno}"
    texts = [arg.value if isinstance(arg, ast.Constant) and isinstance(arg.value, str) else None for arg in node.args]
    if called in TITLED:
        for keyword in node.keywords:
            if keyword.arg == "title" and isinstance(keyword.value, ast.Constant) and keyword.value.value:
                yield Found(keyword.value.value, place)
            if keyword.arg in PAIRED:
                yield from (Found(title, place) for _, title in ast.literal_eval(keyword.value))
    elif name in SINGULAR and texts and texts[0]:
        yield Found(texts[0], place)
    elif name in PLURAL and len(texts) > 1 and texts[0]:
        yield Found(texts[0], place, texts[1])
    elif name in WITH_CONTEXT and len(texts) > 1 and texts[1]:
        yield Found(f"{texts[0]}\x04{texts[1]}", place)
    elif name in PLURAL_WITH_CONTEXT and len(texts) > 2 and texts[1]:
        yield Found(f"{texts[0]}\x04{texts[1]}", place, texts[2])


_QUOTED = r"""(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')"""
_COMMENT = re.compile(r"{%\s*comment\b.*?%}.*?{%\s*endcomment\s*%}|{#.*?#}", re.DOTALL)
_TRANSLATE = re.compile(rf"{{%\s*(?:translate|trans)\s+{_QUOTED}([^%]*)%}}")
_CONTEXT = re.compile(rf"\bcontext\s+{_QUOTED}")
_INLINE = re.compile(rf"\b_\({_QUOTED}\)")
_TAG = re.compile(r"{[%{].*?[%}]}", re.DOTALL)
_BLOCK = re.compile(
    r"{%\s*(?:blocktranslate|blocktrans)\b(.*?)%}(.*?)(?:{%\s*plural\s*%}(.*?))?{%\s*end(?:blocktranslate|blocktrans)\s*%}",
    re.DOTALL,
)
_VARIABLE = re.compile(r"{{\s*([\w.|:\"']+?)\s*}}")


def _in_template(path: Path) -> Iterator[Found]:
    text = _COMMENT.sub(lambda hit: "\n" * hit[0].count("\n"), path.read_text(encoding="utf-8"))

    def place(hit: re.Match[str]) -> str:
        return f"{path}:{text.count(chr(10), 0, hit.start()) + 1}"

    for hit in _TRANSLATE.finditer(text):
        yield Found(_with_context(hit[1] or hit[2], hit[3]), place(hit))
    for tag in _TAG.finditer(text):
        for hit in _INLINE.finditer(tag[0]):
            yield Found(hit[1] or hit[2], place(tag))
    for hit in _BLOCK.finditer(text):
        is_trimmed = re.search(r"\btrimmed\b", hit[1])
        body, plural = (_body(part, bool(is_trimmed)) if part is not None else None for part in (hit[2], hit[3]))
        assert body is not None
        yield Found(_with_context(body, hit[1]), place(hit), plural)


def _with_context(key: str, arguments: str) -> str:
    hit = _CONTEXT.search(arguments)
    return f"{hit[1] or hit[2]}\x04{key}" if hit else key


def _body(text: str, is_trimmed: bool) -> str:
    if is_trimmed:
        text = " ".join(line.strip() for line in text.strip().splitlines())
    pieces, last = [], 0
    for hit in _VARIABLE.finditer(text):
        pieces += [text[last : hit.start()].replace("%", "%%"), f"%({hit[1]})s"]
        last = hit.end()
    return "".join(pieces) + text[last:].replace("%", "%%")
