"""The stories: crawling, collecting, searching, recovering, watching, auditing."""
