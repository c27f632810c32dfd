"""For tests of every package: databases, loopback addresses, virtual time."""
