"""Pages: candidates, notes, keywords, the cookie pool, executions, alerts."""
