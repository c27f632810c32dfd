"""What every system stands on. Knows no source by name."""
