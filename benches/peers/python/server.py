"""An echo server on the Python SDK, over pipes (--stdio) or Streamable HTTP (--port P)."""

import sys

from mcp.server import MCPServer

server = MCPServer("python-peer", log_level="WARNING")


@server.tool(structured_output=False)
async def echo(message: str) -> str:
    """Answers with the message it was given"""
    return message


match sys.argv[1:]:
    case ["--stdio"]:
        server.run("stdio")
    case ["--port", port]:
        server.run("streamable-http", port=int(port))
    case _:
        sys.exit("usage: server.py --stdio | --port PORT")
