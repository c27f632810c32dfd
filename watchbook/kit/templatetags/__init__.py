"""Template tags of the house, known to every template without a load."""
