"""The stories of a migration: forward, back, and how a person steers them."""
