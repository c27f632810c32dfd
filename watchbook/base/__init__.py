"""Building blocks that could serve another product."""
