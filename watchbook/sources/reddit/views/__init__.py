"""The pages: communities, posts, metrics, the pool."""
