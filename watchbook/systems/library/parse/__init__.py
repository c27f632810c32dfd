"""Texts and archives: HTML made safe, Markdown in both directions, zips read within bounds. No Django, no database."""
