"""What is done to a carrier, one kind of harm a file."""
