"""Killing everything at every point: real processes, real signals, and a ledger that says what was lost or doubled."""
