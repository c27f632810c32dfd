"""The stories: a crawl, one topic, an audit with repair, pictures."""
