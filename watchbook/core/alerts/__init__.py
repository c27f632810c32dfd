"""Alerts: a condition opens one alert, sends one notification, and resolves automatically."""
