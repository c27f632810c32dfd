"""Notes for programs, under /api/v1/notes, in the document's own envelope."""

from watchbook.sources.notes.api.envelope import envelope
from watchbook.sources.notes.api.routes import router

__all__ = ["envelope", "router"]
