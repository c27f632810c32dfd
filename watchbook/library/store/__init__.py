"""The only writer of the library. Everything here runs inside `lock.writing` or `guard.writing_workspace`."""
