"""The roof: settings, URLs, Celery, command line. Wiring only; nothing imports it."""
