"""The library for programs, under /api/v1/library. Refusals: 404 not a member, 403 role too low, 409, 423 channel."""

from __future__ import annotations

from ninja import Router

from watchbook.library.api import migrations, pages, places, shelving

router = Router()
for part in (places, shelving, pages, migrations):
    router.add_router("", part.router)
