"""What no single room owns: browser, crash, security, docs."""
