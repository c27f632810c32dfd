"""The outbox: `notify` writes a notification in the caller's transaction, `deliver_due` sends what is due."""

from watchbook.core.notify.message import Named, Notification
from watchbook.core.notify.outbox.deliver import deliver_due
from watchbook.core.notify.outbox.enqueue import notify, notify_owner

__all__ = ["Named", "Notification", "deliver_due", "notify", "notify_owner"]
