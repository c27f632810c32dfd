"""What a channel needs to know to reach somebody: checked, sealed at rest, masked when shown.

A configuration is one JSON document per channel. `read` opens it, `write` seals it and leaves in the `config` column
only what may be seen. Values equal to the mask mean "keep what is there".
"""

from watchbook.core.notify.config.check import MASK, check
from watchbook.core.notify.config.keep import masked, read, write

__all__ = ["MASK", "check", "masked", "read", "write"]
