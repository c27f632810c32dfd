"""The stories: a check, what is due, what is forgotten."""
