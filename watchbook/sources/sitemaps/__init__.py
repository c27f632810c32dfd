"""Sitemaps: people watch sitemaps; snapshots, differences, notices."""
