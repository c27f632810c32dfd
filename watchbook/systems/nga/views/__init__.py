"""Pages of the forum. Everybody who is signed in reads all of it; operators start work."""
