"""Forum: an archive of NGA boards: topic lists, every floor, revisions, gaps."""

from __future__ import annotations

from watchbook.core.registry import Source

SOURCE = Source(slug="nga", title="Forum", icon="forum", order=10)
