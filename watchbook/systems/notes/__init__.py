"""Notes: candidates become notes through locks, leases and an encrypted cookie pool."""
