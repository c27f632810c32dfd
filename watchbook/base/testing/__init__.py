"""For tests of every floor: databases, loopback addresses, virtual time."""
