"""Users of this server: invitations, groups with roles, and what a leaving user owned."""
