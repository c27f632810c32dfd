"""What the platform truly holds: its notes, its accounts, and who read what."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import asdict, dataclass, field
from typing import Any

# How a note answers: as it is, or with one of the platform's refusals.
NOTE_MOODS = (
    "fine", "gone", "private", "stale", "walled", "empty", "blocked", "captcha", "login", "restricted", "ip_block",
    "signature", "throttled", "hang", "broken", "ill",
)  # fmt: skip
# How an account is treated whatever it asks.
ACCOUNT_MOODS = ("fine", "login", "restricted", "captcha", "blocked", "throttled", "ip_block", "signature")
FIRST_SECOND = 0x68000000  # in April 2025


@dataclass
class CommentEntry:
    comment_id: str
    text: str
    author_id: str
    author_name: str
    published_ms: int
    liked: str = "3"
    is_gone: bool = False
    answers: list[CommentEntry] = field(default_factory=list)


@dataclass
class NoteEntry:
    note_id: str
    title: str
    text: str
    author_id: str
    author_name: str
    kind: str = "normal"
    liked: str = "45"
    collected: str = "1.2万"
    comments: str = "10+"
    shared: str = ""
    tags: list[str] = field(default_factory=list)
    mood: str = "fine"
    token: str = ""
    token_number: int = 0
    # Where its files are, how many pictures it has, and until which second the addresses work (0: for ever).
    media: str = "https://media.example.com"
    pictures: int = 1
    ends: int = 0
    is_live: bool = False
    thread: list[CommentEntry] = field(default_factory=list)
    # Stands above newer notes on the page of its author.
    is_pinned: bool = False

    def file(self, name: str) -> str:
        """The address of one of its files, signed and with its end where it has one."""
        address = f"{self.media}/{self.note_id}/{name}"
        return f"{address}?sign=made-up&t={self.ends:08x}" if self.ends else address

    @property
    def published_ms(self) -> int:
        return int(self.note_id[:8], 16) * 1000

    def renew_token(self) -> None:
        """Each search hands out a new one; the old one is stale from then on."""
        self.token_number += 1
        self.token = "AB" + hashlib.sha256(f"{self.note_id}/{self.token_number}".encode()).hexdigest()[:40] + "="


@dataclass
class Account:
    """Known by its `web_session` cookie."""

    session: str
    mood: str = "fine"
    requests: int = 0


def author_id(number: int) -> str:
    return f"5f{number:022x}"


class Ledger:
    """Thread-safe: many connections ask in parallel."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.notes: dict[str, NoteEntry] = {}
        self.accounts: dict[str, Account] = {}
        self.reads: list[dict[str, Any]] = []
        self.comment_count = 0
        # How the page of a creator answers, by the creator's ID.
        self.creators: dict[str, str] = {}

    def add(self, title: str, text: str = "", **more: Any) -> NoteEntry:
        with self.lock:
            number = len(self.notes) + 1
            note_id = more.pop("note_id", "") or f"{FIRST_SECOND + number * 60:08x}{0:08x}{number:08x}"
            author = more.pop("author", number % 7)
            note = NoteEntry(
                note_id, title, text or f"{title}: a made-up note.", author_id(author), f"Reader {author}", **more
            )
            note.renew_token()
            self.notes[note_id] = note
            return note

    def find(self, keyword: str, *, kind: str = "", since: int = 0, is_newest: bool = False) -> list[NoteEntry]:
        with self.lock:
            found = [note for note in self.notes.values() if keyword in note.title or keyword in note.text]
        found = [note for note in found if kind in ("", note.kind) and note.published_ms >= since * 1000]
        return sorted(found, key=lambda note: -note.published_ms) if is_newest else found

    def comment(self, note: NoteEntry, text: str, answers: CommentEntry | None = None) -> CommentEntry:
        with self.lock:
            self.comment_count += 1
            number = self.comment_count
            made = CommentEntry(
                f"{FIRST_SECOND:08x}{0:08x}{number:08x}", text, author_id(number % 5), f"Voice {number % 5}",
                note.published_ms + number * 60_000,
            )  # fmt: skip
            (answers.answers if answers else note.thread).append(made)
            return made

    def listed(self, user_id: str) -> list[NoteEntry]:
        """The notes on the page of a creator: pinned ones first, then newest first. What is gone is not listed."""
        with self.lock:
            own = [note for note in self.notes.values() if note.author_id == user_id and note.mood != "gone"]
        return sorted(own, key=lambda note: (not note.is_pinned, -note.published_ms))

    def account(self, session: str) -> Account | None:
        with self.lock:
            account = self.accounts.get(session)
            if account is not None:
                account.requests += 1
            return account

    def wrote(self, **what: Any) -> None:
        with self.lock:
            self.reads.append(what)

    def as_json(self) -> dict[str, Any]:
        with self.lock:
            return {
                "notes": [asdict(note) for note in self.notes.values()],
                "accounts": [asdict(account) for account in self.accounts.values()],
                "reads": list(self.reads),
            }
