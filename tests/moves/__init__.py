"""A demo grown to a million rows, moved between all databases and killed on the way: `make test-move`."""
