"""The router of the forum; the modules beside it hang their endpoints on it."""

from __future__ import annotations

from ninja import Router

router = Router()
