"""Conditions that open once, are told once and close by themselves."""
