"""People: users, roles, sign-in, API tokens, the audit log."""
