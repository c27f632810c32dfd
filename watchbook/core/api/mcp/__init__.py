"""The MCP server: programs that use language models search and read Watchbook through the operations of the API."""
