"""The protocol, spoken by the official SDK: over HTTP one request at a time without a session, and over stdio.

The SDK is an optional extra (`watchbook[mcp]`) and is imported only here, when it is needed.
"""

from __future__ import annotations

import asyncio
import json
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from asgiref.sync import async_to_sync, sync_to_async

import watchbook
from watchbook.core.accounts.models import ApiToken
from watchbook.core.api.mcp.tools import UNTRUSTED, Bound, Caller, call, tools

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

INSTRUCTIONS = (
    "Watchbook watches sources on the web and keeps every version. "
    "Lists are paged: give `next` back as `cursor`. Cite the address, time and version that an answer holds. "
    + UNTRUSTED
)
NOT_INSTALLED = "The MCP server is not installed. Install it with: pip install 'watchbook[mcp]'"
LARGEST_BODY = 1024 * 1024
HttpAnswer = tuple[int, dict[str, str], bytes]


def is_installed() -> bool:
    return find_spec("mcp") is not None


def build(token: ApiToken, caller: Caller) -> Server[Any]:
    """Return a server for one caller: it lists the tools that the token may use and calls them with it."""
    import mcp_types as types
    from mcp.server.lowlevel import Server

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        usable = await sync_to_async(lambda: [tool for tool in tools().values() if tool.usable_with(token)])()
        return types.ListToolsResult(tools=[_listed(tool) for tool in usable])

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        result: types.CallToolResult = await sync_to_async(_called)(params.name, params.arguments or {}, token, caller)
        return result

    return Server(
        "watchbook", version=watchbook.__version__, title="Watchbook", instructions=INSTRUCTIONS,
        on_list_tools=list_tools, on_call_tool=call_tool,
    )  # fmt: skip


def _listed(tool: Bound) -> Any:
    import mcp_types as types

    hints = types.ToolAnnotations(
        read_only_hint=tool.reads_only, destructive_hint=False, open_world_hint=not tool.reads_only
    )
    return types.Tool(name=tool.name, description=tool.description, input_schema=tool.schema, annotations=hints)


def _called(name: str, arguments: dict[str, Any], token: ApiToken, caller: Caller) -> Any:
    import mcp_types as types

    tool = tools().get(name)
    if tool is None or not tool.usable_with(token):
        known = ", ".join(each.name for each in tools().values() if each.usable_with(token))
        text = types.TextContent(type="text", text=f"This token has no tool called {name}. Its tools: {known}.")
        return types.CallToolResult(content=[text], is_error=True)
    answer = call(tool, arguments, caller)
    written = json.dumps(answer.body, ensure_ascii=False)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=UNTRUSTED), types.TextContent(type="text", text=written)],
        structured_content=answer.body,
        is_error=answer.is_refused,
        _meta={"watchbook/source": answer.source, "watchbook/read_at": answer.read_at, "watchbook/untrusted": True},
    )


def answer_http(server: Server[Any], scope: dict[str, Any], body: bytes) -> HttpAnswer:
    """Answer one HTTP request. Database work of the tools runs in the calling thread, with its connection."""
    return async_to_sync(_answer_http)(server, scope, body)


async def _answer_http(server: Server[Any], scope: dict[str, Any], body: bytes) -> HttpAnswer:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    sent: list[dict[str, Any]] = []
    given = iter([{"type": "http.request", "body": body, "more_body": False}])
    never = asyncio.Event()

    async def receive() -> dict[str, Any]:
        for message in given:
            return message
        await never.wait()  # the client stays: a disconnect would end the call
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    manager = StreamableHTTPSessionManager(
        server, stateless=True, json_response=True, max_request_body_size=LARGEST_BODY
    )
    async with manager.run():
        await manager.handle_request(scope, receive, send)
    start = next(message for message in sent if message["type"] == "http.response.start")
    content = b"".join(message.get("body", b"") for message in sent if message["type"] == "http.response.body")
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in start["headers"]}
    return start["status"], headers, content


def run_stdio(token: ApiToken, caller: Caller) -> None:
    """Serve one client over standard input and output until it closes them."""

    async def serve() -> None:
        from mcp.server.stdio import stdio_server

        server = build(token, caller)
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    async_to_sync(serve)()
