"""The jobs of the Reddit system."""
