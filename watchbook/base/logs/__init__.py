"""Log lines: a request id in each, secrets in none."""
