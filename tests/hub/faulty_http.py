"""A scripted server of 2025-11-25 over Streamable HTTP that resets, stalls and forgets.

    faulty_http.py STATE PORT

Each tool takes `how`: `reset`, `reset-once`, `stall`, `forget` (this call is answered, and every session is gone after it).
STATE/calls has a line for each call that arrived, STATE/sessions and STATE/ended one for each session.
"""

import http.server
import json
import os
import secrets
import socket
import struct
import sys
import threading

import faulty

SESSIONS = set()
PARKED = threading.Event()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, document=None, session=None):
        body = b"" if document is None else json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if session:
            self.send_header("Mcp-Session-Id", session)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.reply(405)

    def do_DELETE(self):
        SESSIONS.discard(self.headers.get("Mcp-Session-Id"))
        faulty.write_down("ended", str(self.headers.get("Mcp-Session-Id")))
        self.reply(200)

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        method, request_id, session = message.get("method"), message.get("id"), self.headers.get("Mcp-Session-Id")
        if method == "initialize":
            session = secrets.token_hex(8)
            SESSIONS.add(session)
            faulty.write_down("sessions", session)
            self.reply(200, {"jsonrpc": "2.0", "id": request_id, "result": {
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "faulty", "version": "1"}}}, session)
        elif session not in SESSIONS:
            self.reply(404 if session else 400, {"jsonrpc": "2.0", "id": None, "error": {
                "code": -32001, "message": "Session not found"}})
        elif request_id is None:
            self.reply(202)
        elif method == "tools/list":
            self.reply(200, {"jsonrpc": "2.0", "id": request_id, "result": {"tools": faulty.tools()}})
        elif method == "tools/call":
            self.call(request_id, message["params"])
        else:
            self.reply(200, {"jsonrpc": "2.0", "id": request_id, "error": {"code": -32601, "message": "Method not found"}})

    def call(self, request_id, params):
        name, how = params["name"], params["arguments"]["how"]
        faulty.write_down("calls", json.dumps({"tool": name, "how": how}))
        if how == "reset" or (how == "reset-once" and faulty.first_time(f"{name}-reset")):
            # Closing with a lingering time of zero sends a reset.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.shutdown(socket.SHUT_RD)
            self.connection.close()
            self.close_connection = True
            return
        if how == "stall":
            PARKED.wait(60)
        if how == "forget":
            SESSIONS.clear()
        self.reply(200, {"jsonrpc": "2.0", "id": request_id, "result": {
            "content": [{"type": "text", "text": f"{name} {how} by {self.headers['Mcp-Session-Id']}"}]}})


class Threads(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, *_):
        """Ignores intentionally reset connections."""


if __name__ == "__main__":
    os.makedirs(faulty.STATE, exist_ok=True)
    Threads(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
