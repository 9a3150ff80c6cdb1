"""The HTTP side of strict.py: HTTP+SSE, Streamable HTTP with and without sessions, and one message per POST."""

import http.server
import json
import secrets
import select
import socket
import threading
import urllib.parse

from strict import MODERN, Problem, Session, error

BAD_REQUEST = {-32020, -32021, -32022, -32600, -32602}


class Body:
    """The answer to one POST: one JSON document, or a stream of events from the first message that is not the last."""

    def __init__(self, handler, streams):
        self.handler, self.streams, self.started, self.done = handler, streams, False, False
        self.lock = threading.Lock()

    def send(self, message, code=None):
        with self.lock:
            final = "method" not in message
            if final and not self.started:
                status = 400 if code in BAD_REQUEST and self.handler.server.strict.modern else 200
                status = 404 if code == -32601 and self.handler.server.strict.modern else status
                self.handler.reply(status, message)
            elif self.streams:
                self.start()
                self.handler.event(message)
            # A server that can't stream doesn't send these.
            if final:
                self.finish()

    def start(self):
        if not self.started:
            self.started = True
            self.handler.begin_events()

    def finish(self):
        # Only once: a second end would be read as the start of the next answer.
        if self.started and not self.done:
            self.handler.end_events()
        self.done = True

    def hold(self, wait):
        # Shows the other side that the request was accepted, and makes the closing of the stream visible.
        if self.streams:
            with self.lock:
                self.start()
        return wait()

    def gone(self):
        return not self.done and self.handler.is_gone()


class Stream:
    """The stream of a GET: unsolicited server messages."""

    def __init__(self):
        self.handler, self.kept, self.lock = None, [], threading.Lock()

    def attach(self, handler):
        with self.lock:
            self.handler = handler
            for message in self.kept:
                handler.event(message)
            self.kept = []

    def send(self, message, _code=None):
        with self.lock:
            if self.handler is None:
                self.kept.append(message)
            else:
                self.handler.event(message)

    def hold(self, wait):
        return wait()

    def gone(self):
        return self.handler is not None and self.handler.is_gone()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    # --- writing ---

    def reply(self, status, document=None, headers=None):
        body = b"" if document is None else json.dumps(document).encode()
        self.send_response(status)
        if document is not None:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in {**(headers or {}), **getattr(self, "extra", {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def begin_events(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        for name, value in getattr(self, "extra", {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.chunk(b": open\n\n")

    def event(self, message, name="message"):
        data = message if isinstance(message, str) else json.dumps(message)
        self.chunk(f"event: {name}\ndata: {data}\n\n".encode())

    def chunk(self, data):
        try:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
        except OSError:
            pass

    def end_events(self):
        try:
            self.wfile.write(b"0\r\n\r\n")
            self.wfile.flush()
        except OSError:
            pass

    def is_gone(self):
        try:
            readable, _, _ = select.select([self.connection], [], [], 0)
            return bool(readable) and self.connection.recv(1, socket.MSG_PEEK) == b""
        except OSError:
            return True

    # --- reading ---

    def message(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        try:
            return json.loads(body)
        except ValueError:
            self.server.strict.violation("a body that is not JSON", body.decode(errors="replace"))
            self.reply(400, error(None, Problem(-32700, "Parse error")))
            return None

    def do_POST(self):
        server, path = self.server.strict, urllib.parse.urlsplit(self.path)
        if "application/json" not in (self.headers.get("Content-Type") or ""):
            server.violation(f"the content type is {self.headers.get('Content-Type')!r}")
        message = self.message()
        if message is None:
            return
        if server.revision == "2024-11-05":
            self.post_to_stream(server, path, message)
        elif server.plain:
            self.post_plain(server, message)
        elif server.modern:
            self.post_modern(server, message)
        else:
            self.post_session(server, message)

    def post_to_stream(self, server, path, message):
        session = self.server.sessions.get(urllib.parse.parse_qs(path.query).get("session", [""])[0])
        if path.path != "/messages":
            # Clients detect the transport with a POST of initialize, answered with 404 or 405.
            self.reply(405)
        elif session is None:
            server.violation("a message for no stream", message)
            self.reply(404)
        else:
            work = threading.Thread(target=server.receive, args=(session, message, session.link), daemon=True)
            work.start()
            # Finish before acknowledging, because the next message may use another connection. A call may take longer.
            if not (isinstance(message, dict) and message.get("method") == "tools/call"):
                work.join()
            self.reply(202)

    def post_plain(self, server, message):
        """One message, one document; no state is kept between POSTs."""
        body = Body(self, streams=False)
        session = Session(body)
        session.greeted = session.ready = not (isinstance(message, dict) and message.get("method") == "initialize")
        server.receive(session, message, body)
        if not body.done:
            self.reply(202)

    def post_modern(self, server, message):
        wanted = {"MCP-Protocol-Version": MODERN, "Mcp-Method": message.get("method")}
        params = message.get("params") or {}
        if message.get("method") in ("tools/call", "prompts/get"):
            wanted["Mcp-Name"] = params.get("name")
        elif message.get("method") == "resources/read":
            wanted["Mcp-Name"] = params.get("uri")
        if self.headers.get("Mcp-Session-Id"):
            server.violation("a session id", message)
        if message.get("method") != "initialize":
            for name, value in wanted.items():
                if self.headers.get(name) != value:
                    server.violation(f"the header {name} is {self.headers.get(name)!r}", message)
                    self.reply(400, error(message.get("id"), Problem(-32020, "Header mismatch")))
                    return
        self.check_accept(server)
        if "id" not in message:
            server.violation("a notification over HTTP", message)
            self.reply(202)
            return
        body = Body(self, streams=True)
        session = Session(body)
        # Every POST is independent, so ids may repeat; only the first may try the other era.
        session.greeted = self.server.met
        self.server.met = True
        server.receive(session, message, body)
        body.finish()

    def post_session(self, server, message):
        self.check_accept(server)
        method = message.get("method") if isinstance(message, dict) else None
        if method == "initialize":
            stream = Stream()
            session = Session(stream)
            name = secrets.token_hex(16)
            self.server.sessions[name] = session
            self.extra = {"Mcp-Session-Id": name}
        elif method == "server/discover" and not self.headers.get("Mcp-Session-Id"):
            # A probe for the other era, which has no session.
            self.reply(400, error(message.get("id"), Problem(-32600, "Bad Request: no session")))
            return
        else:
            session = self.find_session(server, message)
            if session is None:
                return
        if "id" not in message or method is None:
            server.receive(session, message, session.link)
            self.reply(202)
            return
        body = Body(self, streams=True)
        server.receive(session, message, body)
        body.finish()

    def find_session(self, server, what):
        name = self.headers.get("Mcp-Session-Id")
        session = self.server.sessions.get(name)
        if session is None:
            server.violation(f"the session is {name!r}", what)
            self.reply(404 if name else 400, error(None, Problem(-32001, "Session not found")))
            return None
        version = self.headers.get("MCP-Protocol-Version")
        if server.has("2025-06-18") and version != server.revision:
            server.violation(f"the header MCP-Protocol-Version is {version!r}", what)
            self.reply(400, error(None, Problem(-32600, "Bad Request: protocol version")))
            return None
        return session

    def check_accept(self, server):
        accept = self.headers.get("Accept") or ""
        if not ("application/json" in accept and "text/event-stream" in accept):
            server.violation(f"the header Accept is {accept!r}")

    def do_GET(self):
        server, path = self.server.strict, urllib.parse.urlsplit(self.path)
        if server.revision == "2024-11-05" and path.path == "/sse":
            stream, name = Stream(), secrets.token_hex(16)
            session = Session(stream)
            self.server.sessions[name] = session
            self.begin_events()
            self.event(f"/messages?session={name}", "endpoint")
        elif server.plain or server.modern or server.revision == "2024-11-05":
            self.reply(405)
            return
        else:
            session = self.find_session(server, "GET")
            if session is None:
                return
            self.begin_events()
        session.link.attach(self)
        session.wait(self.is_gone, 3600)
        self.close_connection = True

    def do_DELETE(self):
        server = self.server.strict
        if server.plain or server.modern:
            self.reply(405)
        elif self.find_session(server, "DELETE"):
            self.server.sessions.pop(self.headers.get("Mcp-Session-Id"))
            self.reply(200)


class Threads(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def handle_error(self, *_):
        """Ignores clients that disconnect."""


def serve(server, port):
    listener = Threads(("127.0.0.1", port), Handler)
    listener.strict, listener.sessions, listener.met = server, {}, False
    listener.serve_forever()
