"""`make test-n8n`: a real n8n imports and executes our workflows against a running Watchbook. Needs about 2 GB."""
