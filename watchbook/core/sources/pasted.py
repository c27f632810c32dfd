"""Reads a pasted text: finds the address in a share text, repairs common typing errors, splits host, path and query."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import parse_qs, unquote, urlsplit

from watchbook.base.text import clean_text

LONGEST = 5000
LONGEST_URL = 2048
# Characters that end an address inside a Chinese or English sentence.
_STOP = r"\s<>\"'`“”‘’「」『』【】（）《》，。；！？、|^{}"
_INSIDE = re.compile(rf"https?://[^{_STOP}]+", re.IGNORECASE)
# https//x, http:/x, htps://x, ttp://x, https：//x, http;//x
_BROKEN = re.compile(r"\A(?:h?t{1,3}p(s?)|hxxp(s?)|http(s?))\s?[:：;.]?\s?[/／\\]{1,4}(?=[\w\[])", re.IGNORECASE)
_SCHEME = re.compile(r"\A([a-z][a-z0-9+.-]{1,30}):(//)?(?=\S)", re.IGNORECASE)
_OTHER_SCHEMES = {
    "about", "blob", "chrome", "data", "feed", "file", "ftp", "ftps", "gopher", "irc", "javascript", "magnet", "mailto",
    "news", "sftp", "sms", "ssh", "tel", "vbscript", "view-source", "ws", "wss",
}  # fmt: skip
_DOMAIN = re.compile(
    r"\A(?:[\w-]{1,63}\.){1,10}(?:[a-z]{2,24}|xn--[a-z0-9-]{1,59}|[\u4e00-\u9fff]{2,10})\.?(?::\d{1,5})?(?:[/?#]\S*)?\Z",
    re.IGNORECASE,
)
_NUMERIC = re.compile(
    r"\A(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]+\]|localhost)(?::\d{1,5})?(?:[/?#]\S*)?\Z", re.IGNORECASE
)
_QUOTES = " \t\r\n\"'`<>“”‘’「」『』【】（）()《》"
_TRAILING = ".,;:!?…·~*"
# Endings of file names that look like domains.
_FILES = {
    "css", "csv", "doc", "docx", "gif", "htm", "html", "jpeg", "jpg", "js", "json", "md", "pdf", "php", "png", "py",
    "txt", "xls", "xlsx", "xml", "zip",
}  # fmt: skip


@dataclass(frozen=True)
class Pasted:
    """`text` is the whole text in one line, `url` the address in it or empty, `scheme` a scheme that is not http(s)."""

    text: str
    url: str = ""
    is_repaired: bool = False
    is_inside: bool = False
    scheme: str = ""

    @cached_property
    def host(self) -> str:
        """The host in lower case without port."""
        try:
            return (urlsplit(self.url).hostname or "").rstrip(".") if self.url else ""
        except ValueError:
            return ""

    @cached_property
    def path(self) -> str:
        try:
            return unquote(urlsplit(self.url).path) if self.url else ""
        except ValueError:
            return ""

    @cached_property
    def query(self) -> dict[str, str]:
        """The first value of each parameter, names in lower case."""
        if not self.url:
            return {}
        try:
            parts = urlsplit(self.url)
            given = parse_qs(parts.query, max_num_fields=100)
        except ValueError:
            return {}
        return {name.lower(): values[0].strip() for name, values in given.items()}

    def is_on(self, *domains: str) -> bool:
        """Tell whether the host is one of these domains or below one of them."""
        return any(self.host == domain or self.host.endswith(f".{domain}") for domain in domains)


def read(text: str) -> Pasted:
    """Return what was pasted. Never raises: an unreadable address is refused later, with its reason."""
    line = " ".join(clean_text(text[:LONGEST]).split())
    whole = line.strip(_QUOTES)
    inside = _INSIDE.search(line)
    if inside:
        url = inside.group().rstrip(_TRAILING)[:LONGEST_URL]
        return Pasted(line, url, is_inside=url != whole.rstrip(_TRAILING))
    if broken := _BROKEN.match(whole):
        scheme = "https" if any(broken.groups()) else "http"
        rest = whole[broken.end() :].split(" ")[0].rstrip(_TRAILING)
        return Pasted(line, f"{scheme}://{rest}"[:LONGEST_URL], is_repaired=True)
    bare = whole.replace("。", ".").replace("．", ".").replace("：", ":").replace("／", "/").rstrip(_TRAILING)
    if bare.startswith("//"):
        bare = bare.lstrip("/")
    if is_address(bare):
        return Pasted(line, f"https://{bare}"[:LONGEST_URL], is_repaired=bare != whole)
    return Pasted(line, scheme=_other_scheme(whole))


def is_address(text: str) -> bool:
    """Tell whether a text without a scheme is an address: a domain with a path, a number, localhost."""
    if _NUMERIC.match(text):
        return True
    if not _DOMAIN.match(text):
        return False
    host = re.split(r"[/?#:]", text, maxsplit=1)[0].rstrip(".")
    # notes.txt and report.pdf are files, not sites.
    return host.count(".") > 1 or host.rpartition(".")[2].lower() not in _FILES


def _other_scheme(text: str) -> str:
    found = _SCHEME.match(text)
    if found is None:
        return ""
    name = found[1].lower()
    return name if found[2] or name in _OTHER_SCHEMES else ""
