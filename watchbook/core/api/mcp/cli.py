"""The command `watchbook mcp`: the MCP server over standard input and output."""

from __future__ import annotations

import click

from watchbook.base.terminal import Failure, failing_as
from watchbook.core.api.options import MCP_TOKEN


@click.command()
def mcp() -> None:
    """Serve an MCP client over standard input and output.

    Set WATCHBOOK_TOKEN to an API token (`watchbook tokens add`). Its scopes decide which tools are offered.
    """
    from watchbook.core.accounts import tokens  # after Django is set up
    from watchbook.core.api.mcp import server
    from watchbook.core.api.mcp.tools import Caller

    with failing_as(False):
        if not server.is_installed():
            raise Failure(server.NOT_INSTALLED, "not_installed")
        plain = MCP_TOKEN.value.strip()
        token = tokens.find(plain)
        if token is None:
            raise Failure(
                "Set WATCHBOOK_TOKEN to a valid API token. `watchbook tokens add` makes one.", "not_signed_in"
            )
        server.run_stdio(token, Caller(plain))
