"""The notes API under /api/v1/notes, in the envelope of the specification."""

from watchbook.systems.notes.api import managed as managed  # its endpoints
from watchbook.systems.notes.api.envelope import STATUSES as statuses
from watchbook.systems.notes.api.envelope import envelope
from watchbook.systems.notes.api.routes import router
from watchbook.systems.notes.api.schemas import NoteRefusal as refusal

__all__ = ["envelope", "refusal", "router", "statuses"]
