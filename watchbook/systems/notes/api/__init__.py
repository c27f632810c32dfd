"""The notes API under /api/v1/notes, in the envelope of the specification."""

from watchbook.systems.notes.api import creators, managed, routes
from watchbook.systems.notes.api.envelope import STATUSES as statuses
from watchbook.systems.notes.api.envelope import envelope, router
from watchbook.systems.notes.api.schemas import NoteRefusal as refusal

# The modules of the endpoints add them to the router.
__all__ = ["comments", "creators", "envelope", "managed", "refusal", "router", "routes", "statuses"]
