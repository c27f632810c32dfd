"""Tags whose body is no text: pictures, files, code, dice, plain addresses."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import escape

from watchbook.sources.nga.parse.bbcode.addresses import Addresses
from watchbook.sources.nga.parse.bbcode.dice import Dice
from watchbook.sources.nga.parse.bbcode.smilies import smiley_url
from watchbook.sources.nga.parse.bbcode.tags import REL, id_link, shown
from watchbook.sources.nga.parse.bbcode.tokens import Token
from watchbook.sources.nga.parse.entities import unescape

_REPLACED = re.compile(r"\.(\d{1,2})/(.*)", re.DOTALL | re.ASCII)
_UID = re.compile(r"(?:UID)?(\d{1,12})", re.IGNORECASE | re.ASCII)


def image(url: str, alt: str = "", name: str = "") -> str:
    """Pictures stay where they are; the reader's browser asks for them late and says not from where."""
    kind = f' class="{name}"' if name else ""
    return f'<img{kind} src="{escape(url)}" alt="{escape(alt)}" loading="lazy" referrerpolicy="no-referrer">'


def link(url: str, label: str) -> str:
    return f'<a href="{escape(url)}"{REL}>{escape(label)}</a>'


@dataclass
class Media:
    addresses: Addresses
    dice: Dice
    _bases: list[str] = field(default_factory=list)

    def smiley(self, token: Token) -> str | None:
        url = smiley_url(unescape(token.attribute))
        return image(url, unescape(token.text), "bb-smiley") if url else None

    def mention(self, token: Token) -> str | None:
        name = unescape(token.attribute).strip()
        uid = _UID.fullmatch(name)
        if uid and int(uid[1]):
            return link(self.addresses.user(int(uid[1])), f"@{name}")
        return f'<span class="bb-mention">@{shown(name)}</span>' if 2 <= len(name) <= 20 else None

    def raw(self, token: Token, *, block: int, in_link: bool) -> tuple[str, bool] | None:
        """HTML and whether it is a block; None when the tag has to stay text."""
        body = unescape(token.body).strip()
        if token.name == "code":
            code = shown(token.body).strip("\n")
            return f'<pre class="bb-code"><code>{code}</code></pre>', True
        if token.name == "img":
            url = self._media(body)
            return (image(url), False) if url else None
        if token.name == "noimg":
            # Left by a client that shows no pictures: the folder is missing, so that it leads nowhere.
            return f'<span class="bb-unseen">{shown(token.body)}</span>', False
        if token.name == "dice":
            rolled = self.dice.roll(body, block)
            return f'<span class="bb-dice">ROLL : {escape(body)}{f"={rolled}" if rolled else ""}</span>', False
        if token.name == "urlreplace":
            self._bases.append(body)
            return shown(token.body), False
        return self._link(token, body, in_link=in_link)

    def _link(self, token: Token, body: str, *, in_link: bool) -> tuple[str, bool] | None:
        if token.name in {"tid", "stid", "pid"}:
            shape = id_link(token.name, body, self.addresses)
            return (escape(body) if in_link else f"{shape.before}{escape(body)}{shape.after}", False) if shape else None
        url = self.addresses.link(self._based(body)) if token.name == "url" else self._media(body)
        if not url:
            return None
        return (escape(body) if in_link else link(url, body)), False

    def _media(self, body: str) -> str | None:
        return self.addresses.media(self._based(body))

    def _based(self, body: str) -> str:
        """`.2/picture.jpg` stands on the second address that the post gave for that purpose."""
        found = _REPLACED.fullmatch(body)
        if not found or not 0 < int(found[1]) <= len(self._bases):
            return body
        return f"{self._bases[int(found[1]) - 1].rstrip('/')}/{found[2]}"
