"""The only writer of the sitemaps tables. Every function is called inside a transaction that checks the run's lease."""
