"""Tables of channels and of what is told through them."""

from watchbook.core.notify.models.channel import ChannelType, Digest, Level, NotificationChannel
from watchbook.core.notify.models.delivery import Attempt, Delivery, State

__all__ = ["Attempt", "ChannelType", "Delivery", "Digest", "Level", "NotificationChannel", "State"]
