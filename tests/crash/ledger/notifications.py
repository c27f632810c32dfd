"""Checks notifications: every change on every channel, with one id and one body however often it was sent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from tests.crash.installation import Installation
from tests.crash.ledger.archive import Archive
from tests.crash.report import Findings
from watchbook.core.notify.message import message_id
from watchbook.core.notify.models import Delivery

Body = bytes | str | tuple[str, ...]


class Notices:
    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self.bodies: dict[str, Body] = {}
        self.duplicates = 0
        # (added or removed, page) -> ids of the webhooks that told of it
        self.pages: dict[tuple[str, str], set[str]] = defaultdict(set)
        self._hooks_read = self._mails_read = 0

    @property
    def told(self) -> int:
        return len(self.bodies)

    def read_on(self, findings: Findings) -> None:
        """The logs of the receivers; what was not answered was not received."""
        hooks = [
            one for one in self.installation.world.hooks.deliveries()[self._hooks_read :] if one.status is not None
        ]
        for one in hooks:
            if one.status == 200:
                self._take(one.id, one.body, findings)
                self._note_pages(one.id, one.json())
        self._hooks_read += len(hooks)
        mails = self.installation.world.mail.messages()[self._mails_read :]
        for mail in mails:
            name = mail.message_id.strip("<>").partition("@")[0]
            self._take(name, (*mail.recipients, mail.subject, mail.text, mail.html), findings)
        self._mails_read += len(mails)

    def _take(self, name: str, body: Body, findings: Findings) -> None:
        if name not in self.bodies:
            self.bodies[name] = body
            return
        self.duplicates += 1
        if self.bodies[name] != body:
            words = _difference(str(self.bodies[name]), str(body))
            findings.wrong.append(f"notice {name} was sent twice with different words: {words}")

    def _note_pages(self, name: str, content: dict) -> None:
        change = content["data"].get("change", {})
        for kind in ("added", "removed"):
            for item in change.get(kind, []):
                self.pages[kind, item["url"]].add(name)

    def compare(self, archives: Sequence[Archive], findings: Findings) -> None:
        """Expected against received: by id from our rows, and by page from the sites' own ledgers."""
        expected = {
            message_id(f"sitemaps.change:{record}", channel.pk): f"change {record} on {channel.name}"
            for archive in archives
            for record in archive.changed
            for channel in self.installation.channels
        }
        findings.lost += [f"{what} was not told" for name, what in expected.items() if name not in self.bodies]
        known = {
            message_id(event, channel) for event, channel in Delivery.objects.values_list("event_id", "channel_id")
        }
        findings.wrong += [
            f"notice {name} tells of nothing that is in the outbox" for name in self.bodies.keys() - known
        ]
        for archive in archives:
            self._compare_pages(archive, findings)
        findings.doubled += [
            f"{kind} {page} was told under {len(names)} ids"
            for (kind, page), names in self.pages.items()
            if len(names) > 1
        ]

    def _compare_pages(self, archive: Archive, findings: Findings) -> None:
        now = archive.place.now()
        came, went = now.keys() - archive.first.keys(), archive.first.keys() - now.keys()
        for kind, pages in (("added", came), ("removed", went)):
            findings.lost += [
                f"nobody was told that {page} was {kind}" for page in pages if (kind, page) not in self.pages
            ]


def _difference(before: str, after: str) -> str:
    """The first place where two texts differ."""
    at = next((n for n, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), len(after))
    return f"{before[max(at - 60, 0) : at + 40]!r} and {after[max(at - 60, 0) : at + 40]!r}"
