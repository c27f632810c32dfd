"""The pages of the Reddit system."""
