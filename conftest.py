"""Fixtures of all tests. The environment of a test run is made in watchbook.base.testing.environment."""

pytest_plugins = [
    "watchbook.base.testing.fixtures",
    "watchbook.base.testing.people",
]
