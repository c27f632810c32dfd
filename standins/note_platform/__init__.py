"""A platform of notes: search, detail, public pages, and every way in which it says no."""

from standins.note_platform.ledger import Account, NoteEntry
from standins.note_platform.platform import NotePlatform

__all__ = ["Account", "NoteEntry", "NotePlatform"]
