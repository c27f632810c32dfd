"""The only writer of the tables: candidates, executions, claims, notes, and the cookie pool."""
