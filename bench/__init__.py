"""Measured side by side: each module is one comparison, run as `python -m bench NAME`."""
