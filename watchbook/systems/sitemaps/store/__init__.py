"""The only writer of the sitemaps tables. Callers hold a transaction that checks the run's lease."""
