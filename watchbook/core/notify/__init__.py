"""Channels, the outbox and delivery: every notice is decided once, told at least once, and carries a stable id."""
