"""Options of the API."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from watchbook.base.env import Option, integer, text

PER_MINUTE = Option(
    "WATCHBOOK_API_PER_MINUTE", integer, default=600, minimum=1, maximum=1_000_000,
    group="limits", title=_("API requests per minute"),
    help=_("API requests per minute for one token or session."),
)  # fmt: skip
HEAVY_REQUESTS = Option(
    "WATCHBOOK_HEAVY_REQUESTS", integer, default=4, minimum=1, maximum=128,
    help="Number of searches and exports that one user can run at the same time in one web process. More are refused.",
)  # fmt: skip
MCP_TOKEN = Option(
    "WATCHBOOK_TOKEN", text, default="", secret=True,
    help="API token that `watchbook mcp` uses. Its scopes decide which tools are offered.",
)  # fmt: skip
