"""Databases of earlier states, one folder for each release: loaded, upgraded and compared by test_upgrades."""
