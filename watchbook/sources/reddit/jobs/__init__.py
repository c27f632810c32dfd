"""The stories: visits, batch, rechecks, deep walks, monitors, keeping."""
