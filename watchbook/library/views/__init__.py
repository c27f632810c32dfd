"""Pages of the library. They ask `actions`, which refuses by itself; `ways` turns a refusal into an answer."""
