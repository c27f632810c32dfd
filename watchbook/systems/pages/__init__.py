"""Pages: versions of the pages of websites, and what became of URLs that left a list."""
