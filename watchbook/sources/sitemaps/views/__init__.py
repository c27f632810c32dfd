"""Pages of the sitemaps system. Everybody sees his own monitors; anything else is not there."""
