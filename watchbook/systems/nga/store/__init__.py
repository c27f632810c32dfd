"""The only writer of the archive: rows, versions, search and stream, always in the caller's transaction."""
