"""MCP clients without an MCP library: every message is built and parsed as it is on the wire.

A `Peer` speaks one revision. `Stdio` runs the server as a child; `Http` speaks Streamable HTTP with a session, without one
in 2026-07-28, and plain POST for "1.0". What the server asks is answered by the functions in `answers`, by method.
"""

import http.client
import json
import os
import queue
import subprocess
import threading
import time
import urllib.parse

import report

PLAIN = "1.0"
MODERN = "2026-07-28"
REVISIONS = [PLAIN, "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", MODERN]
META = "io.modelcontextprotocol/"
TIMEOUT = 30
ROUNDS = 8

FULL = {
    "sampling": {},
    "elicitation": {"form": {}, "url": {}},
    "roots": {"listChanged": True},
}


class Lost(Exception):
    """The connection ended, or no answer came."""


class Refused(Exception):
    """Raised by a function in `answers` to answer with an error."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code, self.message = code, message


class Peer:
    """What the transports share: ids, answers, notifications."""

    def __init__(self, revision="2025-11-25", capabilities=None, answers=None, first_id=1):
        self.revision, self.capabilities = revision, FULL if capabilities is None else capabilities
        self.answers = answers or {}
        self.log_level = None
        self.next_id, self.waiting = first_id, {}
        self.notes, self.asked, self.odd = [], [], []
        self.changed = threading.Condition()
        self.lost = None

    # --- what a test calls ---

    def open(self):
        """Does the handshake; in 2026-07-28 `server/discover`. Returns the reply."""
        if self.revision == MODERN:
            self.opened = self.ask("server/discover")
            return self.opened
        self.opened = self.ask("initialize", {
            "protocolVersion": self.revision, "capabilities": self.capabilities,
            "clientInfo": {"name": "hub-tests", "version": "1"}})
        if "result" in self.opened:
            self.notify("initialized" if self.revision == PLAIN else "notifications/initialized")
            self.after_open()
        return self.opened

    def ask(self, method, params=None, timeout=TIMEOUT, token=None):
        """The reply to one request, `{"result": …}` or `{"error": …}`; in 2026-07-28 after every round of input."""
        params = dict(params or {})
        for _ in range(ROUNDS):
            reply = self.start(method, params, token).wait(timeout)
            result = reply.get("result")
            if not isinstance(result, dict) or result.get("resultType") != "input_required":
                return reply
            params["inputResponses"] = {key: self._input(one) for key, one in result.get("inputRequests", {}).items()}
            params.pop("requestState", None)
            if "requestState" in result:
                params["requestState"] = result["requestState"]
        raise Lost(f"{method}: still asked for input after {ROUNDS} rounds")

    def result(self, method, params=None, timeout=TIMEOUT, token=None):
        """Returns only the result; raises on an error."""
        reply = self.ask(method, params, timeout, token)
        if "result" not in reply:
            raise AssertionError(f"{method} {report.shown(params)}: {report.shown(reply.get('error', reply))}")
        return reply["result"]

    def call(self, name, arguments=None, timeout=TIMEOUT, token=None):
        """The reply to one `tools/call`."""
        return self.ask("tools/call", {"name": name, "arguments": arguments or {}}, timeout, token)

    def list(self, method, key):
        """Every page of a list."""
        found, params = [], {}
        for _ in range(100):
            result = self.result(method, params)
            found += result[key]
            if not result.get("nextCursor"):
                return found
            params = {"cursor": result["nextCursor"]}
        raise AssertionError(f"{method} has no last page")

    def tools(self):
        """Definitions by name; a name that is listed twice is an error."""
        found = self.list("tools/list", "tools")
        names = [tool["name"] for tool in found]
        assert len(set(names)) == len(names), f"listed twice: {sorted({n for n in names if names.count(n) > 1})}"
        return {tool["name"]: tool for tool in found}

    def start(self, method, params=None, token=None):
        """Sends a request and returns a `Pending`."""
        with self.changed:
            request_id, self.next_id = self.next_id, self.next_id + 1
        params = dict(params or {})
        meta = dict(params.get("_meta", {}))
        if token is not None:
            meta["progressToken"] = token
        if self.revision == MODERN:
            meta[META + "protocolVersion"] = MODERN
            meta[META + "clientInfo"] = {"name": "hub-tests", "version": "1"}
            meta[META + "clientCapabilities"] = self.capabilities
            if self.log_level:
                meta[META + "logLevel"] = self.log_level
        if meta:
            params["_meta"] = meta
        message = {"jsonrpc": "2.0", "id": request_id, "method": method}
        if params:
            message["params"] = params
        pending = Pending(self, request_id)
        self.waiting[request_id] = pending
        self.send(message, pending)
        return pending

    def notify(self, method, params=None):
        message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        self.send(message, None)

    def cancel(self, pending, reason="not wanted any more"):
        """Cancels in the way of the revision."""
        self.notify("notifications/cancelled", {"requestId": pending.id, "reason": reason})

    def note(self, what, timeout=TIMEOUT, since=0):
        """Waits for the first notification for which `what(method, params)` is true."""
        end = time.monotonic() + timeout
        with self.changed:
            while True:
                for one in self.notes[since:]:
                    if what(one["method"], one.get("params") or {}):
                        return one
                left = end - time.monotonic()
                if left <= 0 or self.lost:
                    heard = sorted({one["method"] for one in self.notes[since:]})
                    raise Lost(f"no such notification in {timeout} s; heard {heard}; {self.lost or 'still connected'}")
                self.changed.wait(left)

    # --- what a transport calls ---

    def after_open(self):
        """Opens the stream for unsolicited server messages."""

    def take(self, message):
        """Handles one message of the server."""
        if isinstance(message, list):
            for one in message:
                self.take(one)
            return
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            self.odd.append(message)
        elif "method" in message and "id" in message:
            threading.Thread(target=self._answer, args=(message,), daemon=True).start()
        elif "method" in message:
            with self.changed:
                self.notes.append(message)
                self.changed.notify_all()
        else:
            pending = self.waiting.pop(message.get("id"), None)
            if pending is None:
                self.odd.append(message)
            else:
                pending.put(message)

    def fail(self, why):
        """The connection is gone: fail all pending requests."""
        with self.changed:
            self.lost = why
            self.changed.notify_all()
        for pending in list(self.waiting.values()):
            pending.put(Lost(why))

    def _input(self, request):
        method, params = request["method"], request.get("params") or {}
        with self.changed:
            self.asked.append({"method": method, "params": params, "input": True})
            self.changed.notify_all()
        return self.answers[method](params)

    def _answer(self, message):
        with self.changed:
            self.asked.append(message)
            self.changed.notify_all()
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        method = message["method"]
        try:
            if method == "ping":
                reply["result"] = {}
            elif method in self.answers:
                reply["result"] = self.answers[method](message.get("params") or {})
            else:
                raise Refused(-32601, "Method not found")
        except Refused as problem:
            reply["error"] = {"code": problem.code, "message": problem.message}
        try:
            self.send(reply, None)
        except Lost:
            pass  # The peer is gone.


class Pending:
    """A request that waits for its reply."""

    def __init__(self, peer, request_id):
        self.peer, self.id, self.box, self.connection = peer, request_id, queue.Queue(), None

    def put(self, reply):
        self.box.put(reply)

    def wait(self, timeout=TIMEOUT):
        try:
            reply = self.box.get(timeout=timeout)
        except queue.Empty:
            raise Lost(f"no answer to request {self.id} in {timeout} s") from None
        if isinstance(reply, Exception):
            raise reply
        return reply


class Stdio(Peer):
    """A server that runs as a child."""

    def __init__(self, argv, cwd=None, env=None, **more):
        super().__init__(**more)
        self.child = subprocess.Popen(
            argv, cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True)
        report.CHILDREN.append(self.child)
        self.stderr, self.writing = [], threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._drain, daemon=True).start()

    def _read(self):
        for line in self.child.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                self.odd.append(line.decode(errors="replace"))
                continue
            self.take(message)
        self.fail("stdout ended; stderr: " + "".join(self.stderr)[-600:])

    def _drain(self):
        for line in self.child.stderr:
            self.stderr.append(line.decode(errors="replace"))

    def send(self, message, _pending):
        try:
            with self.writing:
                self.child.stdin.write(json.dumps(message).encode() + b"\n")
                self.child.stdin.flush()
        except (BrokenPipeError, ValueError) as problem:
            raise Lost(f"stdin is closed: {''.join(self.stderr)[-600:]}") from problem

    def close(self, timeout=10):
        """Closes stdin and waits for the end; returns the exit code, or None if the child had to be killed."""
        try:
            self.child.stdin.close()
        except BrokenPipeError:
            pass
        try:
            return self.child.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(self.child.pid, 9)
            self.child.wait()
            return None


class Http(Peer):
    """A server at a URL."""

    def __init__(self, url, **more):
        super().__init__(**more)
        parts = urllib.parse.urlsplit(url)
        self.host, self.port, self.path = parts.hostname, parts.port, parts.path or "/"
        self.session, self.stream, self.closing, self.version = None, None, False, None

    def _headers(self, message=None):
        headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        if self.revision == PLAIN:
            headers["Accept"] = "application/json"
        elif self.revision == MODERN:
            headers["MCP-Protocol-Version"] = MODERN
            if message and "method" in message:
                headers["Mcp-Method"] = message["method"]
                params = message.get("params") or {}
                name = params.get("uri") if message["method"] == "resources/read" else params.get("name")
                if isinstance(name, str):
                    headers["Mcp-Name"] = name
        elif self.session:
            headers["Mcp-Session-Id"] = self.session
            if self.revision >= "2025-06-18":
                headers["MCP-Protocol-Version"] = self.revision
        return headers

    def send(self, message, pending):
        if pending is None:
            # Order matters for notifications: the next message waits until this one is handled.
            self._exchange(message, None)
        else:
            threading.Thread(target=self._exchange, args=(message, pending), daemon=True).start()

    def _exchange(self, message, pending):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=300)
        if pending:
            pending.connection = connection
        try:
            connection.request("POST", self.path, json.dumps(message), self._headers(message))
            reply = connection.getresponse()
            if "id" in message and message.get("method") == "initialize":
                self.session = reply.getheader("Mcp-Session-Id") or self.session
            kind = (reply.getheader("Content-Type") or "").split(";")[0]
            if kind == "text/event-stream":
                for event in events(reply):
                    self.take(event)
                if pending and pending.id in self.waiting:
                    raise Lost(f"the stream of request {pending.id} ended without an answer")
                return
            body = reply.read()
            if not body.strip():
                if pending:
                    raise Lost(f"HTTP {reply.status} without a body")
                return
            try:
                document = json.loads(body)
            except ValueError:
                raise Lost(f"HTTP {reply.status}: {body[:300]!r}") from None
            if pending and isinstance(document, dict) and "error" in document and document.get("id") is None:
                document["id"] = pending.id
            if pending:
                self.take(document)
            elif isinstance(document, dict) and "error" in document:
                self.odd.append(document)
        except Exception as problem:  # noqa: BLE001: passed to the waiting caller
            if pending and self.waiting.pop(pending.id, None):
                pending.put(problem if isinstance(problem, Lost) else Lost(f"{type(problem).__name__}: {problem}"))
        finally:
            connection.close()

    def cancel(self, pending, reason="not wanted any more"):
        if self.revision != MODERN:
            super().cancel(pending, reason)
            return
        self.waiting.pop(pending.id, None)
        shut(pending.connection)

    def after_open(self):
        if not self.session:
            return
        opened = threading.Event()
        threading.Thread(target=self._listen, args=(opened,), daemon=True).start()
        opened.wait(TIMEOUT)

    def _listen(self, opened):
        self.stream = http.client.HTTPConnection(self.host, self.port, timeout=600)
        try:
            headers = self._headers()
            headers["Accept"] = "text/event-stream"
            self.stream.request("GET", self.path, headers=headers)
            reply = self.stream.getresponse()
            opened.set()
            if reply.status == 200:
                for event in events(reply):
                    self.take(event)
        except (OSError, http.client.HTTPException, ValueError, AttributeError) as problem:
            if not self.closing:
                self.odd.append(f"the stream: {problem}")
        finally:
            opened.set()

    def close(self, timeout=10):
        self.closing = True
        if self.session:
            connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
            try:
                connection.request("DELETE", self.path, headers=self._headers())
                connection.getresponse().read()
            except (OSError, http.client.HTTPException):
                pass
            finally:
                connection.close()
        self.drop()

    def drop(self):
        """Disconnects without a close."""
        self.closing = True
        for connection in [self.stream, *(pending.connection for pending in list(self.waiting.values()))]:
            shut(connection)


def shut(connection):
    """Closes a connection that another thread reads from."""
    if connection is not None and connection.sock is not None:
        try:
            connection.sock.shutdown(2)
        except OSError:
            pass


def events(reply):
    """The messages of an event stream."""
    data = []
    while True:
        line = reply.readline()
        if not line:
            return
        line = line.decode().rstrip("\r\n")
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            text, data = "\n".join(data), []
            if text.strip():
                yield json.loads(text)
