"""Writes posts with versions, hot copies, communities, metrics, search and activity in one transaction."""
