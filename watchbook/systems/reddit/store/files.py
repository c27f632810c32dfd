"""Pictures of posts: recorded with the post, kept by core.media, deleted when the post is erased."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.utils.translation import pgettext_lazy

from watchbook.core.accounts.models import User
from watchbook.core.media import store as media
from watchbook.core.media.models import FileState, KeptFile
from watchbook.core.media.store import Wanted
from watchbook.systems.reddit.models import FoundBy, PostRaw
from watchbook.systems.reddit.models.posts import SOURCE
from watchbook.systems.reddit.store.decide import Decision, Reading, Step

# Its addresses carry sizes and signatures in the query; the path alone names the picture.
OWN_HOST = "redd.it"
STATES = {
    FileState.WAITING: pgettext_lazy("file", "waiting to be saved"),
    FileState.OFF: pgettext_lazy("file", "not saved: saving is off"),
    FileState.TOO_LARGE: pgettext_lazy("file", "not saved: too large"),
    FileState.GONE: pgettext_lazy("file", "not saved: no longer on Reddit"),
    FileState.FAILED: pgettext_lazy("file", "not saved"),
}
WITH_PICTURES = (Step.NEW, Step.CHANGED, Step.RETURNED, Step.REVEALED)


@dataclass(frozen=True)
class Picture:
    """A picture of a post: its address at the source, its caption, and its file where it is known."""

    url: str
    caption: str = ""
    is_video: bool = False
    file: KeptFile | None = None

    @property
    def state(self) -> str:
        """Say why there is only a link; nothing where the picture is kept or never was wanted."""
        return str(STATES[FileState(self.file.state)]) if self.file and not self.file.is_kept else ""


def want_pictures(decisions: Sequence[Decision], reading: Reading) -> None:
    """Record the pictures of new and changed posts. Those of a dump are years old and stay links."""
    if reading.found_by == FoundBy.IMPORT:
        return
    records = (one.record for one in decisions if one.step in WITH_PICTURES)
    wanted = [each for post in records if not post.is_gone for each in _wanted(post.post_id, post.extra_data)]
    if wanted:
        media.want(SOURCE, wanted)


def release(post_ids: Iterable[str]) -> int:
    """Delete the pictures of erased posts."""
    return media.release(SOURCE, post_ids)


def pictures(row: PostRaw) -> list[Picture]:
    """Return the pictures of a post in their order, those of its parent last."""
    kept = media.files_of(SOURCE, [row.source_post_id]).get(row.source_post_id, ())
    files = {each.position: each.file for each in kept}
    found = enumerate(_addresses(row.extra_data))
    return [Picture(one["url"], one["caption"], one["is_video"], files.get(place)) for place, one in found]


def visible_posts(user: User, post_ids: Collection[str]) -> list[str]:
    """Return which of these posts a user may see: posts are for every member, erased ones for no one."""
    if not user.is_active:
        return []
    rows = PostRaw.objects.current().of(post_ids).filter(blanked_at=None)
    return list(rows.values_list("source_post_id", flat=True))


def _wanted(post_id: str, extra: Mapping[str, Any]) -> list[Wanted]:
    if extra.get("over_18"):
        return []
    return [
        Wanted(
            one["url"], post_id, place, key=_key(one["url"]), others=one["others"], width=one["width"],
            height=one["height"],
        )
        for place, one in enumerate(_addresses(extra))
        if one["url"]
    ]  # fmt: skip


def _addresses(extra: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the pictures of a post and of its parent, each once; one without address keeps its place and caption."""
    parent = extra.get("crosspost")
    found: dict[str, dict[str, Any]] = {}
    for part in (extra, parent if isinstance(parent, dict) else {}):
        single = part.get("picture")
        for one in [*([single] if isinstance(single, dict) else []), *part.get("gallery", [])]:
            url = str(one.get("url") or "")
            found.setdefault(_key(url) or f"#{len(found)}", {
                "url": url, "caption": str(one.get("caption") or ""), "is_video": bool(one.get("is_video")),
                "others": (str(one["other"]),) if one.get("other") else (),
                "width": one.get("width"), "height": one.get("height"),
            })  # fmt: skip
    return list(found.values())


def _key(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    is_own = f".{parts.hostname}".endswith(f".{OWN_HOST}")
    return f"{parts.netloc}{parts.path}" if is_own else url
