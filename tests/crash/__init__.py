"""Kills real processes at every crash point and compares ledgers: nothing may be lost or duplicated."""
