"""The WebSocket side of strict.py: one message per text frame, the subprotocol `mcp`."""

import base64
import hashlib
import json
import socketserver
import struct
import threading

from strict import Session

ACCEPT = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Frames:
    """One connection."""

    def __init__(self, handler):
        self.handler, self.lock, self.closed = handler, threading.Lock(), False

    def send(self, message, _code=None):
        self.frame(1, json.dumps(message).encode())

    def frame(self, opcode, payload):
        size = len(payload)
        if size < 126:
            head = struct.pack("!BB", 0x80 | opcode, size)
        elif size < 65536:
            head = struct.pack("!BBH", 0x80 | opcode, 126, size)
        else:
            head = struct.pack("!BBQ", 0x80 | opcode, 127, size)
        with self.lock:
            try:
                self.handler.wfile.write(head + payload)
                self.handler.wfile.flush()
            except OSError:
                self.closed = True

    def hold(self, wait):
        return wait()

    def gone(self):
        return self.closed


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        strict, headers = self.server.strict, {}
        if not self.rfile.readline().startswith(b"GET /ws "):
            return
        for line in iter(self.rfile.readline, b"\r\n"):
            name, _, value = line.decode().partition(":")
            headers[name.strip().lower()] = value.strip()
        if headers.get("sec-websocket-protocol") != "mcp":
            strict.violation(f"the subprotocol is {headers.get('sec-websocket-protocol')!r}")
        key = base64.b64encode(hashlib.sha1(headers["sec-websocket-key"].encode() + ACCEPT).digest()).decode()
        answer = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade",
                  f"Sec-WebSocket-Accept: {key}"]
        if "sec-websocket-protocol" in headers:
            answer.append("Sec-WebSocket-Protocol: mcp")
        self.wfile.write(("\r\n".join(answer) + "\r\n\r\n").encode())
        link = Frames(self)
        session = Session(link)
        while (payload := self.read(strict, link)) is not None:
            message = json.loads(payload)
            threading.Thread(target=strict.receive, args=(session, message, link), daemon=True).start() \
                if isinstance(message, dict) and message.get("method") == "tools/call" \
                else strict.receive(session, message, link)
        link.closed = True

    def read(self, strict, link):
        """The next text message; None at the end."""
        whole = b""
        while True:
            head = self.rfile.read(2)
            if len(head) < 2:
                return None
            size = head[1] & 127
            if size == 126:
                size = struct.unpack("!H", self.rfile.read(2))[0]
            elif size == 127:
                size = struct.unpack("!Q", self.rfile.read(8))[0]
            if not head[1] & 128:
                strict.violation("a frame of a client without a mask")
                return None
            mask = self.rfile.read(4)
            payload = bytes(byte ^ mask[at % 4] for at, byte in enumerate(self.rfile.read(size)))
            opcode = head[0] & 15
            if opcode == 8:
                return None
            if opcode == 9:
                link.frame(10, payload)
            elif opcode in (0, 1):
                whole += payload
                if head[0] & 128:
                    return whole


class Threads(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, *_):
        """Ignores clients that disconnect."""


def serve(server, port):
    with Threads(("127.0.0.1", port), Handler) as listener:
        listener.strict = server
        listener.serve_forever()
