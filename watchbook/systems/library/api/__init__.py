"""Library API under /api/v1/library. Errors: 404 not a member, 403 role too low, 409 conflict, 423 other channel."""

from __future__ import annotations

from ninja import Router

from watchbook.systems.library.api import comments, files, migrations, order, pages, workspaces

router = Router()
for part in (workspaces, pages, comments, files, migrations, order):
    router.add_router("", part.router)
