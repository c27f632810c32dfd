"""The ground floor: could serve another product; no product nouns."""
