"""A minimal stdio server of 2025-11-25: one tool that returns the process id. It starts as fast as Python does."""

import json
import os
import sys

RESULTS = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                   "serverInfo": {"name": "brief", "version": "1"}},
    "tools/list": {"tools": [{"name": "read", "description": "Says who answers", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": f"read by {os.getpid()}"}]},
}

for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": RESULTS.get(message["method"], {})}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()
