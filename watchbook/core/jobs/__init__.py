"""Background work: the table that is the queue, leases with fencing, the runner, and what carries runs to workers."""
