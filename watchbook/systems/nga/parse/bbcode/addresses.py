"""Addresses that a post names: absolute, http or https, without a login in them; attachments under their own host."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from watchbook.systems.nga.parse.records import SITE

ATTACHMENTS = "img.nga.cn/attachments"

_BASE = re.compile(r"[A-Za-z0-9.-]{1,200}(?::\d{1,5})?(?:/[\w./-]{0,200})?", re.ASCII)
# Images come in up to four sizes beside the original: 640, 320, 130 and 60 pixels.
_SIZE = re.compile(r"(\.\w{2,5})?\.(?:medium|thumb|thumb_s|thumb_ss)\.jpg\Z", re.IGNORECASE)
# These hosts no longer resolve; the same path is served by their successors.
# A path of the site itself is media only by its name: `/logout` as a picture would be a request with our cookie.
_MEDIA_FILE = re.compile(r"\.(?:jpe?g|png|gif|webp|bmp|mp3|mp4)\Z", re.IGNORECASE)
_MOVED = {"img.nga.178.com": "img.nga.cn", "img4.nga.178.com": "img4.nga.cn"}
_UNFIT = re.compile(r"[\x00-\x20\x7f-\xa0\"<>\\^`{|}\ufffd\u200b-\u200f\u2028-\u202e\u2066-\u2069]")
LONGEST = 2000


@dataclass(frozen=True)
class Addresses:
    """Origin of a response and host of its attachments."""

    site: str = SITE
    attachments: str = ATTACHMENTS

    @classmethod
    def of_answer(cls, site: str, base: Any) -> Addresses:
        """JSON names the attachments' host with a folder, pages name the host alone."""
        named = base.strip().rstrip("/") if isinstance(base, str) else ""
        named = re.sub(r"\A(?:https?:)?//", "", named)
        if not _BASE.fullmatch(named):
            named = ATTACHMENTS
        return cls(site.rstrip("/"), named if "/" in named else f"{named}/attachments")

    def link(self, given: str) -> str | None:
        """The address behind a link, or None when it leads nowhere safe."""
        given = given.strip()
        if given.startswith("//"):
            given = f"https:{given}"
        elif given.startswith("/"):
            given = f"{self.site}{given}"
        elif given.startswith(("read.php", "thread.php", "nuke.php")):
            given = f"{self.site}/{given}"
        elif given.startswith("./"):
            return self.media(given)
        elif re.match(r"(?:www\.|(?:bbs|g)\.nga\.cn|ngabbs\.com)", given):
            given = f"https://{given}"
        return _checked(given)

    def media(self, given: str) -> str | None:
        given = given.strip()
        if given.startswith("./"):
            return _checked(original(f"https://{self.attachments}/{given[2:].lstrip('/')}"))
        if given.startswith("//"):
            given = f"https:{given}"
        elif given.startswith("/") and _MEDIA_FILE.search(given):
            given = f"{self.site}{given}"
        return _checked(original(given)) if "://" in given else None

    def topic(self, tid: int) -> str:
        return f"{self.site}/read.php?tid={tid}"

    def post(self, pid: int, tid: int) -> str:
        if not tid:
            return f"{self.site}/read.php?pid={pid}&opt=128"
        return f"{self.site}/read.php?tid={tid}&pid={pid}&to=1" if pid else self.topic(tid)

    def collection(self, stid: int) -> str:
        return f"{self.site}/thread.php?stid={stid}"

    def user(self, uid: int) -> str:
        return f"{self.site}/nuke.php?func=ucp&uid={uid}"


def original(path: str) -> str:
    """Without the mark of a smaller size: the picture as it was uploaded."""
    return _SIZE.sub(lambda hit: hit[1] or ".jpg", path)


def _checked(url: str) -> str | None:
    if len(url) > LONGEST:
        return None
    url = _UNFIT.sub(lambda hit: quote(hit[0]), url)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in {"http", "https"} or not host or "@" in parts.netloc or "%" in parts.netloc or port == 0:
        return None
    if host in _MOVED:
        return f"https://{_MOVED[host]}{url[len(parts.scheme) + 3 + len(parts.netloc) :]}"
    return url
