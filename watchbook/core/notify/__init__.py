"""Channels, the outbox and deliveries: each notification is written once, sent at least once, and has a stable ID."""
