"""Notes for programs, under /api/v1/notes, in the document's own envelope."""

from watchbook.sources.notes.api.envelope import envelope
from watchbook.sources.notes.api.routes import router
from watchbook.sources.notes.api.shapes import NoteRefusal as refusal

__all__ = ["envelope", "refusal", "router"]
