"""What parent and child agree on: a length, then JSON; and which tasks there are."""

from __future__ import annotations

import re
import struct

HEADER = struct.Struct(">I")
TASK = re.compile(r"(watchbook(?:\.[a-z_][a-z0-9_]*)+):([a-z_][a-z0-9_]*)")
