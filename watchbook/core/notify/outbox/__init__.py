"""The outbox: `tell` writes a notice into the caller's transaction, `deliver_due` sends what is due."""

from watchbook.core.notify.outbox.deliver import deliver_due
from watchbook.core.notify.outbox.notice import Notice
from watchbook.core.notify.outbox.tell import tell, tell_owner

__all__ = ["Notice", "deliver_due", "tell", "tell_owner"]
