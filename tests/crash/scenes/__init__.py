"""What is done to a engine, one kind of harm a file."""
