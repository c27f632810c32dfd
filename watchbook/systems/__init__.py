"""One folder per system that fetches. Neighbours never import each other."""
