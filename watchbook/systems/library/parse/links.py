"""Links between pages: paths and [[wikilinks]] of imported files to page addresses, and back for an export.

Pure: texts are cleaned HTML, in which every attribute is in double quotes and every `<` of a text is escaped.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from html import escape, unescape
from urllib.parse import quote, unquote

from watchbook.systems.library.parse.reading import anchor_of

PAGE_PATH = "/library/pages/"
FILE_PATH = "/library/files/"
PICTURE_SUFFIXES = (".avif", ".bmp", ".gif", ".jpeg", ".jpg", ".png", ".svg", ".webp")
SUFFIXES = (".md", ".markdown", ".mdx")
# A link to a folder can mean the page that describes it.
INDEXES = ("", *SUFFIXES, "/index.md", "/README.md")
_TARGET = re.compile(r'(<(?:a|img)(?: [a-z-]+="[^"]*")*? (?:href|src)=")([^"]*)(")')
# A picture alone in its paragraph is a figure.
_ALONE = re.compile(r"<p>(<img(?: [a-z-]+=\"[^\"]*\")*>)</p>")
_ANCHOR = re.compile(r'<a((?: [a-z-]+="[^"]*")*)>')
_ADDRESS = re.compile(r'<(?:a|img)(?: [a-z-]+="[^"]*")*? (?:href|src)="([^"]*)"')
_ATTRIBUTE = re.compile(r' ([a-z-]+)="([^"]*)"')
_TOKEN = re.compile(r'<(/?)([a-z][a-z0-9]*)(?: [a-z-]+(?:="[^"]*")?)*\s*/?>|([^<]+)')
_WIKI = re.compile(r"!?\[\[([^\[\]|#]{0,300})(#[^\[\]|]{0,300})?(?:\|([^\[\]]{1,300}))?\]\]")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_PAGE = re.compile(rf"{PAGE_PATH}({_UUID})/(#.*)?\Z", re.DOTALL)
_VERSION = re.compile(rf"{PAGE_PATH}({_UUID})/history/\?(?:[^#]*&)?new=(\d{{1,9}})(?:[&#]|\Z)")
_FILE = re.compile(rf"{FILE_PATH}({_UUID})/([^/]*)\Z", re.DOTALL)
VERBATIM = {"a", "code", "pre"}


def with_ids(html: str, own: str = "") -> str:
    """Return the text with the id of its target in every link to a page or attachment.

    The address decides, not the id that was sent with it. Addresses that name this server (`own`) lose its name,
    so that they are the same after a change of it.
    """

    def rewritten(hit: re.Match[str]) -> str:
        given = dict(_ATTRIBUTE.findall(hit[1]))
        given.pop("data-page", None)
        given.pop("data-file", None)
        href = unescape(given.get("href", ""))
        if own and href.startswith(f"{own}/"):
            href = href.removeprefix(own)
            given["href"] = escape(href)
        rel = given.pop("rel", None)
        for name, pattern in (("data-page", _PAGE), ("data-file", _FILE)):
            if found := pattern.match(href.partition("?")[0] if name == "data-file" else href):
                given[name] = found[1]
        if rel is not None:
            given["rel"] = rel
        return "<a" + "".join(f' {name}="{value}"' for name, value in given.items()) + ">"

    return _ANCHOR.sub(rewritten, html) if "<a " in html else html


def without_ids(html: str) -> str:
    """Return the text as `with_ids` found it; files of an export need no ids."""
    if "data-" not in html:
        return html
    return _ANCHOR.sub(lambda hit: re.sub(r' data-(?:page|file)="[^"]*"', "", hit[0]), html)


def addresses(html: str) -> set[str]:
    """Return the addresses of all links and pictures."""
    return {unescape(found) for found in _ADDRESS.findall(html)}


def attachment_ids(found: Iterable[str]) -> set[str]:
    """Return the ids of attachments among these addresses."""
    hits = (_FILE.match(address.partition("?")[0].partition("#")[0]) for address in found)
    return {hit[1] for hit in hits if hit}


def page_ids(found: Iterable[str]) -> set[str]:
    hits = (_PAGE.match(address) for address in found)
    return {hit[1] for hit in hits if hit}


def version_keys(found: Iterable[str]) -> set[str]:
    """Return "page id:number" of every version of a page among these addresses."""
    hits = (_VERSION.match(address) for address in found)
    return {f"{hit[1]}:{int(hit[2])}" for hit in hits if hit}


def mark_broken(html: str, broken: Collection[str], title: str) -> str:
    """Return the text with a class and a title on every link to one of these pages."""
    if not broken:
        return html
    extra = f' class="broken-link" title="{escape(title)}"'

    def marked(hit: re.Match[str]) -> str:
        found = dict(_ATTRIBUTE.findall(hit[1])).get("data-page")
        return f"<a{hit[1]}{extra}>" if found in broken else hit[0]

    return _ANCHOR.sub(marked, html)


class Resolver:
    """Finds the page or attachment that a link of an imported file means, by path and by name."""

    def __init__(
        self,
        ids: Mapping[str, str],
        files: Mapping[str, str] | None = None,
        aliases: Mapping[str, str] | None = None,
        *,
        folders: Collection[str] = (),
    ) -> None:
        """`ids` are page ids by path of file or folder, `files` addresses of attachments by path.

        A name alone never means one of the `folders`: [[Vault]] is a page that is missing, as in Obsidian.
        """
        self._paths = {path: f"{PAGE_PATH}{pk}/" for path, pk in ids.items()} | dict(files or {})
        self._folders = {f"{PAGE_PATH}{ids[path]}/" for path in folders}
        self._folded: dict[str, str] = {}
        self._ends: dict[str, str] = {}
        self.found = 0
        # Of equal names the one with the shortest path is meant, as in Obsidian.
        for path in sorted(self._paths, key=lambda path: (path.count("/"), path)):
            self._folded.setdefault(_fold(path), self._paths[path])
            if self._paths[path] in self._folders:
                continue
            steps = _without_suffix(path).split("/")
            for n in range(len(steps)):
                self._ends.setdefault(_fold("/".join(steps[n:])), self._paths[path])
        for name, pk in (aliases or {}).items():
            self._ends.setdefault(_fold(name), f"{PAGE_PATH}{pk}/")

    def resolve(self, path: str, html: str) -> tuple[str, list[str]]:
        """Return the text with addresses of pages and attachments, and the targets that no file of the import has."""
        missing: list[str] = []

        def address_of(target: str, find: Callable[[str, str], str | None]) -> str | None:
            found = find(path, target)
            if found is None:
                missing.append(target)
            self.found += found is not None
            return found

        html = _replace_hrefs(html, lambda href: self._href(href, address_of))
        html = "".join(_with_wikilinks(html, lambda target: address_of(target, self._by_name), self._is_known))
        return _ALONE.sub(r"<figure>\1</figure>", html), missing

    def _is_known(self, target: str) -> bool:
        return self._by_name("", target) is not None

    def _href(self, href: str, address_of: Callable[[str, Callable[[str, str], str | None]], str | None]) -> str:
        target, _mark, anchor = href.partition("#")
        if not target or _SCHEME.match(target) or target.startswith((PAGE_PATH, FILE_PATH)):
            return f"#{anchor_of(unquote(anchor))}" if anchor and not target else href
        found = address_of(unquote(target.partition("?")[0]), self._by_path)
        return href if found is None else _with_anchor(found, unquote(anchor))

    def _by_path(self, path: str, target: str) -> str | None:
        folder = "" if target.startswith("/") else path.rpartition("/")[0]
        place = posixpath.normpath(posixpath.join(folder, target.strip("/") if target.startswith("/") else target))
        for suffix in INDEXES:
            if found := self._paths.get(place + suffix) or self._folded.get(_fold(place + suffix)):
                return found
        # A wiki links to the name of a page, wherever it is; some programs write paths from the top.
        if "/" not in target:
            return self._ends.get(_fold(_without_suffix(target)))
        return self._paths.get(posixpath.normpath(target).strip("/"))

    def _by_name(self, path: str, target: str) -> str | None:
        if not target:
            return self._paths.get(path)
        for found in (self._by_path(path, target), self._by_path("", target)):
            if found and found not in self._folders:
                return found
        return self._ends.get(_fold(_without_suffix(target)))


def _with_anchor(address: str, anchor: str) -> str:
    """Return the address of a place in a page; a block of Obsidian (^x) has none, and an attachment neither."""
    if not anchor or anchor.startswith("^") or address.startswith(FILE_PATH):
        return address
    return f"{address}#{quote(anchor_of(anchor.rpartition('#')[2]))}"


def relative_links(html: str, path: str, paths: Mapping[str, str]) -> str:
    """Return the text with links to pages and attachments of the export as paths relative to `path`.

    `paths` are by id. Anchors lose the mark that keeps them apart from other ids of a page.
    """

    def relative(href: str) -> str:
        if href.startswith("#h-"):
            return "#" + href[3:]
        found = _PAGE.match(href) or _FILE.match(href)
        target = paths.get(found[1]) if found else None
        if found is None or target is None:
            return href
        anchor = (found[2] or "").replace("#h-", "#", 1) if found.re is _PAGE else ""
        return quote(posixpath.relpath(target, path.rpartition("/")[0] or ".")) + anchor

    return _replace_hrefs(html, relative)


def with_targets(html: str, targets: Mapping[str, str]) -> str:
    """Return the text with other addresses for pages and attachments, by id; anchors inside pages are dropped."""

    def other(href: str) -> str:
        found = _PAGE.match(href) or _FILE.match(href)
        return targets.get(found[1], href) if found else href

    return _replace_hrefs(html, other)


def with_addresses(html: str, others: Mapping[str, str]) -> str:
    """Return the text with other addresses for these."""
    return _replace_hrefs(html, lambda address: others.get(address, address))


def _replace_hrefs(html: str, replace: Callable[[str], str]) -> str:
    return _TARGET.sub(lambda hit: hit[1] + escape(replace(unescape(hit[2]))) + hit[3], html)


def _with_wikilinks(
    html: str, address_of: Callable[[str], str | None], is_known: Callable[[str], bool]
) -> Iterator[str]:
    """Yield the text with [[wikilinks]] as links, except in code and inside other links."""
    verbatim = 0
    for token in _TOKEN.finditer(html):
        closing, tag, text = token.groups()
        if tag in VERBATIM:
            verbatim += -1 if closing else 1
        if text is None or verbatim or "[[" not in text:
            yield token[0]
        else:
            yield _WIKI.sub(lambda hit: _wikilink(hit, address_of, is_known), text)


def _wikilink(hit: re.Match[str], address_of: Callable[[str], str | None], is_known: Callable[[str], bool]) -> str:
    target, anchor, words = unescape(hit[1]).strip().removesuffix("\\"), unescape(hit[2] or ""), hit[3] or ""
    if not target and not anchor:
        return hit[0]
    # GitHub writes the words first.
    if words and target and not is_known(target) and is_known(unescape(words).strip()):
        target, words = unescape(words).strip(), hit[1]
    found = address_of(target)
    if found is None:
        return hit[0]
    if hit[0][0] == "!" and found.startswith(FILE_PATH) and target.lower().endswith(PICTURE_SUFFIXES):
        # `|300` is a width, everything else a description.
        return f'<img src="{found}" alt="{"" if words.replace("x", "").isdigit() else words}">'
    heading = "" if anchor.startswith("#^") else (hit[2] or "").lstrip("#").replace("#", " &gt; ")
    shown = words or " &gt; ".join(part for part in (hit[1].strip(), heading) if part) or anchor.lstrip("#")
    return f'<a href="{escape(_with_anchor(found, anchor.lstrip("#")))}" rel="noopener noreferrer">{shown}</a>'


def _fold(path: str) -> str:
    """Return a path for comparing: wikis write spaces as dashes or underscores and ignore upper and lower case."""
    return re.sub(r"[\s_-]+", " ", path).strip().casefold()


def _without_suffix(path: str) -> str:
    return next((path[: -len(suffix)] for suffix in SUFFIXES if path.lower().endswith(suffix)), path)
