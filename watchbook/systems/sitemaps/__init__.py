"""Sitemaps: monitors of sitemaps, their snapshots, changes and notifications."""
