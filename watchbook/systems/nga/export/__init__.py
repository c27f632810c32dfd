"""Topics as files: one HTML file, Markdown with pictures, EPUB 3, JSON Lines; many topics as one zip."""
