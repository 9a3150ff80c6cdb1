"""A scripted MCP server that speaks exactly one revision, and records whatever the revision does not allow.

    strict.py --revision 2025-06-18 --log FILE [--port N [--websocket]] [--quirk NAME]…

On stdio without `--port`. With it: HTTP+SSE for 2024-11-05, Streamable HTTP with a session up to 2025-11-25, without one
in 2026-07-28; and for "1.0" one message a POST, no session, no stream. Quirks: `snake` (snake_case fields), `bare`
(notifications without their prefix), `noise` (lines on stdout that are no JSON). The log has one JSON object a line:
violations, calls, cancellations.
"""

import argparse
import json
import sys
import threading
import time

PLAIN, MODERN = "1.0", "2026-07-28"
META = "io.modelcontextprotocol/"
LIMIT = 60

TEXT = {"type": "object", "properties": {"text": {"type": "string", "description": "What to say"}}, "required": ["text"]}
NOTHING = {"type": "object", "properties": {}}
STEPS = {"type": "object", "properties": {"steps": {"type": "integer"}}, "required": ["steps"]}
TOOLS = {
    "echo": ("Returns its text", TEXT), "seen": ("Shows the received parameters", TEXT),
    "fail": ("Fails", NOTHING), "broken": ("Answers with an error of the protocol", NOTHING),
    "count": ("Counts and reports progress", STEPS), "ask": ("Asks the person for a word", NOTHING),
    "slow": ("Waits until it is cancelled", NOTHING), "touch": ("Changes the document", NOTHING),
    "log": ("Writes a line to its log, at debug", NOTHING),
}
DOCUMENT = "scripted://doc"
TEMPLATE = DOCUMENT + "/{name}"
PROMPT = "greet"
# Unknown fields added to every answer, item and notification.
ODD = {"scriptedField": [1, {"deep": 0.7}]}
META_ODD = {"_meta": {"scripted/note": "kept"}}
METHODS = {"tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read", "prompts/list",
           "prompts/get", "completion/complete"}
LEGACY_METHODS = METHODS | {"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"}
MODERN_METHODS = METHODS | {"server/discover", "subscriptions/listen"}
LEGACY_NOTES = {"notifications/initialized", "notifications/cancelled", "notifications/progress",
                "notifications/roots/list_changed"}
SNAKE = {"inputSchema": "input_schema", "isError": "is_error", "mimeType": "mime_type",
         "structuredContent": "structured_content"}


class Problem(Exception):
    """An answer with an error."""

    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


class Server:
    """One revision; the state of one connection is a `Session`."""

    def __init__(self, revision, quirks, log):
        self.revision, self.quirks, self.file = revision, set(quirks), log
        self.modern, self.plain = revision == MODERN, revision == PLAIN
        self.lock = threading.Lock()
        self.listeners = {}

    def log(self, kind, **more):
        with self.lock, open(self.file, "a", encoding="utf-8") as file:
            file.write(json.dumps({"kind": kind, **more}) + "\n")

    def violation(self, what, message=None):
        self.log("violation", what=what, message=message)

    def has(self, revision):
        return not self.plain and self.revision >= revision

    # --- one message ---

    def receive(self, session, message, link):
        """Handles a message; replies go to `link`."""
        if isinstance(message, list):
            # Batches were added with 2025-03-26's predecessor and removed in 2025-06-18; docent has no reason to send one.
            self.violation("a batch", message)
            link.send(error(None, Problem(-32600, "no batches")))
            return
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            self.violation("not JSON-RPC 2.0", message)
            link.send(error(None, Problem(-32600, "Invalid Request")))
            return
        if "method" not in message:
            self.take_reply(session, message)
            return
        if "id" not in message:
            self.take_note(session, message)
            return
        self.take_request(session, message, link)

    def take_reply(self, session, message):
        waiting = session.asked.pop(message.get("id"), None)
        if waiting is None:
            self.violation("a reply to nothing", message)
        elif ("result" in message) == ("error" in message):
            self.violation("a reply needs a result or an error", message)
        else:
            waiting.append(message)
            session.wake()

    def take_note(self, session, message):
        method, params = message["method"], message.get("params") or {}
        if self.modern and method != "notifications/cancelled":
            self.violation("no such notification in this revision", message)
        elif method not in LEGACY_NOTES | ({"initialized"} if self.plain else set()):
            self.violation("an unknown notification", message)
        elif method in ("initialized", "notifications/initialized"):
            if not session.greeted:
                self.violation("initialized before initialize", message)
            # The plain dialect uses only its bare name.
            session.ready = session.ready or method == "initialized" or not self.plain
        elif method == "notifications/cancelled":
            running = session.running.get(params.get("requestId"))
            self.log("cancelled", tool=running and running["tool"], id=params.get("requestId"))
            if running:
                running["cancelled"] = True
                session.wake()
            elif params.get("requestId") not in session.ids:
                self.violation("a cancellation of a request that never was", message)

    def take_request(self, session, message, link):
        request_id = message["id"]
        if isinstance(request_id, bool) or not isinstance(request_id, (int, str)):
            self.violation("an id that is neither a number nor a string", message)
        if not self.plain and request_id in session.ids:
            self.violation("an id used twice", message)
        session.ids.add(request_id)
        try:
            if not isinstance(message.get("params", {}), dict):
                self.violation("params are no object", message)
                raise Problem(-32602, "params must be an object")
            self.admit(session, message)
            result = self.answer(session, message, link)
        except Problem as problem:
            link.send(error(request_id, problem), problem.code)
            return
        if result is not None:
            link.send({"jsonrpc": "2.0", "id": request_id, "result": self.dressed(result)})

    def admit(self, session, message):
        """Checks what the revision requires of every request."""
        method, params = message["method"], message.get("params") or {}
        if self.modern:
            if method not in MODERN_METHODS:
                # A client that does not know the server yet may try the other era once, as its first message.
                if method != "initialize" or session.greeted:
                    self.violation("no such method in this revision", message)
                if method == "initialize":
                    raise Problem(-32022, "Unsupported protocol version", {
                        "supported": [MODERN], "requested": params.get("protocolVersion")})
                raise Problem(-32601, "Method not found")
            self.admit_modern(message, params)
            session.greeted = True
            return
        if method == "server/discover" and not session.greeted:
            raise Problem(-32601, "Method not found")
        if method not in LEGACY_METHODS and not (self.plain and method == "shutdown"):
            self.violation("no such method in this revision", message)
            raise Problem(-32601, "Method not found")
        for key in ("inputResponses", "requestState"):
            if key in params:
                self.violation(f"{key} is of a later revision", message)
        if "task" in params and not self.has("2025-11-25"):
            self.violation("task is of a later revision", message)
        if method == "initialize":
            self.admit_initialize(session, message, params)
        elif method != "ping" and not session.ready:
            self.violation("a request before the handshake was over", message)
            raise Problem(-32600, "Server not initialized")

    def admit_initialize(self, session, message, params):
        if session.greeted:
            self.violation("initialize twice", message)
        information = params.get("clientInfo")
        if not isinstance(params.get("protocolVersion"), str) or not isinstance(params.get("capabilities"), dict) \
                or not isinstance(information, dict) or not {"name", "version"} <= set(information):
            self.violation("initialize needs protocolVersion, capabilities and clientInfo", message)
            raise Problem(-32602, "Invalid params")
        session.capabilities, session.greeted = params["capabilities"], True

    def admit_modern(self, message, params):
        meta = params.get("_meta")
        if not isinstance(meta, dict):
            self.violation("no _meta", message)
            raise Problem(-32602, "_meta is required")
        version = meta.get(META + "protocolVersion")
        if version != MODERN:
            self.violation(f"the version in _meta is {version!r}", message)
            raise Problem(-32022, "Unsupported protocol version", {"supported": [MODERN], "requested": version})
        if not isinstance(meta.get(META + "clientCapabilities"), dict):
            self.violation("no clientCapabilities in _meta", message)
            raise Problem(-32602, "clientCapabilities are required")
        information = meta.get(META + "clientInfo", {"name": "", "version": ""})
        if not isinstance(information, dict) or not {"name", "version"} <= set(information):
            self.violation("clientInfo needs name and version", message)

    # --- answers ---

    def dressed(self, result):
        """A result with the fields that the revision adds to every result."""
        if self.modern:
            result = {"resultType": "complete", **result}
        return snaked(result) if "snake" in self.quirks else result

    def answer(self, session, message, link):
        method, params = message["method"], message.get("params") or {}
        cached = {"ttlMs": 0, "cacheScope": "private"} if self.modern else {}
        capabilities = {"tools": {}, "resources": {"subscribe": True}, "prompts": {}, "logging": {}}
        if self.revision != "2024-11-05":
            capabilities["completions"] = {}
        information = {"name": "scripted", "version": self.revision}
        if method == "initialize":
            return {"protocolVersion": self.revision, "capabilities": capabilities, "serverInfo": information}
        if method == "server/discover":
            return {"supportedVersions": [MODERN], "capabilities": capabilities, "serverInfo": information, **cached,
                    "_meta": {META + "serverInfo": information}}
        if method == "tools/list":
            hints = {"annotations": {"title": "Scripted", **ODD}} if self.has("2025-03-26") else {}
            return {"tools": [{"name": name, "description": about, "inputSchema": schema, **hints, **ODD, **META_ODD}
                              for name, (about, schema) in TOOLS.items()], **cached}
        if method == "resources/list":
            return {"resources": [{"uri": DOCUMENT, "name": "doc", "mimeType": "text/plain", **ODD, **META_ODD}], **cached}
        if method == "resources/templates/list":
            return {"resourceTemplates": [{"uriTemplate": TEMPLATE, "name": "docs", **ODD, **META_ODD}], **cached}
        if method == "prompts/list":
            return {"prompts": [{"name": PROMPT, "description": "Greets", **ODD, **META_ODD,
                                 "arguments": [{"name": "whom", "required": True, **ODD}, {"name": "how"}]}], **cached}
        if method == "resources/read":
            return {**self.read(params), **ODD, **META_ODD, **cached}
        if method == "prompts/get":
            return self.prompt(params)
        if method == "completion/complete":
            return self.complete(params)
        if method in ("resources/subscribe", "resources/unsubscribe"):
            self.subscribe(session, method, params)
            return {}
        if method == "subscriptions/listen":
            self.listen(session, message, link)
            return None
        if method == "tools/call":
            return self.call(session, message, params, link)
        if method == "logging/setLevel":
            session.level = params.get("level")
        if method in ("ping", "logging/setLevel"):
            return {}
        if method == "shutdown":
            link.send({"jsonrpc": "2.0", "id": message["id"], "result": None})
            return None
        raise Problem(-32601, "Method not found")

    def read(self, params):
        uri = params.get("uri")
        texts = {DOCUMENT: "the document", DOCUMENT + "/seen": json.dumps(params)}
        if uri not in texts:
            code = -32602 if self.modern else -32003 if self.plain else -32002
            raise Problem(code, "Resource not found", {"uri": uri})
        return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": texts[uri], **ODD, **META_ODD}]}

    def prompt(self, params):
        if params.get("name") != PROMPT:
            self.violation("a prompt that is not this server's", params)
            raise Problem(-32602, "Unknown prompt")
        content = {"type": "text", "text": json.dumps(params), **ODD, **META_ODD}
        return {"description": "A greeting", "messages": [{"role": "assistant", "content": content, **ODD}],
                **ODD, **META_ODD}

    def complete(self, params):
        reference, argument = params.get("ref") or {}, params.get("argument") or {}
        if reference not in ({"type": "ref/prompt", "name": PROMPT}, {"type": "ref/resource", "uri": TEMPLATE}):
            self.violation("a completion of what is not this server's", params)
        values = [json.dumps(params)] if argument.get("value") == "seen" else ["tide", "time"]
        return {"completion": {"values": values, "total": 50, "hasMore": True, **ODD}, **ODD, **META_ODD}

    def subscribe(self, session, method, params):
        if params.get("uri") != DOCUMENT:
            self.violation("a subscription to an address that is not this server's", params)
        if method == "resources/subscribe":
            self.listeners[id(session)] = (session, None, session.link)
        else:
            self.listeners.pop(id(session), None)

    def listen(self, session, message, link):
        wanted = message["params"].get("notifications")
        if not isinstance(wanted, dict):
            self.violation("subscriptions/listen needs notifications", message)
            raise Problem(-32602, "notifications are required")
        kept = {key: wanted[key] for key in ("resourceSubscriptions",) if key in wanted}
        if any(uri != DOCUMENT for uri in kept.get("resourceSubscriptions", [])):
            self.violation("a subscription to an address that is not this server's", message)
        link.send(note("notifications/subscriptions/acknowledged", {
            "_meta": {META + "subscriptionId": message["id"]}, "notifications": kept}))
        running = {"tool": "subscriptions/listen", "cancelled": False}
        session.running[message["id"]] = running
        if kept.get("resourceSubscriptions"):
            self.listeners[message["id"]] = (session, message["id"], link)
        link.hold(lambda: session.wait(lambda: running["cancelled"] or link.gone(), 600))
        self.listeners.pop(message["id"], None)

    def touched(self):
        method = "resources/updated" if "bare" in self.quirks else "notifications/resources/updated"
        for _, subscription, link in list(self.listeners.values()):
            params = {"uri": DOCUMENT}
            if subscription is not None:
                params["_meta"] = {META + "subscriptionId": subscription}
            link.send(note(method, params))

    # --- tools ---

    def call(self, session, message, params, link):
        name, arguments = params.get("name"), params.get("arguments") or {}
        self.log("call", tool=name)
        if name not in TOOLS:
            raise Problem(-32602, f"Unknown tool: {name}")
        if name == "echo":
            result = {**said(arguments.get("text")), "_meta": {"scripted/note": "kept"}, "scriptedField": [1]}
            if self.has("2025-06-18"):
                result["structuredContent"] = {"text": arguments.get("text")}
            return result
        if name == "seen":
            return said(json.dumps(params))
        if name == "fail":
            return {**said("it failed"), "isError": True}
        if name == "broken":
            raise Problem(-32050, "Scripted failure", {"why": "because"})
        if name == "touch":
            self.touched()
            return said("touched")
        if name == "log":
            level = (params.get("_meta") or {}).get(META + "logLevel") if self.modern else session.level
            if level == "debug":
                link.send(note("notifications/message", {"level": "debug", "data": "logged"}))
            return said(f"at {level}")
        if name == "ask":
            return self.ask(session, params, link)
        running = {"tool": name, "cancelled": False}
        session.running[message["id"]] = running
        try:
            if name == "count":
                return self.count(params, arguments["steps"], link)
            return self.slow(session, running, link)
        finally:
            session.running.pop(message["id"], None)

    def count(self, params, steps, link):
        token = (params.get("_meta") or {}).get("progressToken")
        for step in range(1, steps + 1):
            if token is not None:
                more = {"message": f"step {step}"} if self.has("2025-03-26") else {}
                link.send(note("notifications/progress", {
                    "progressToken": token, "progress": step, "total": steps, **more, **ODD, **META_ODD}))
        return said(f"counted to {steps}")

    def slow(self, session, running, link):
        self.log("slow")
        heard = link.hold(lambda: session.wait(lambda: running["cancelled"] or link.gone(), LIMIT))
        if link.gone() and not running["cancelled"]:
            # In 2026-07-28 over HTTP, closing the stream is the cancellation.
            self.log("cancelled", tool="slow", id=None)
        if not heard:
            return said("never cancelled")
        return None

    def ask(self, session, params, link):
        """Elicitation if the revision has it, else sampling."""
        elicit = self.modern or self.has("2025-06-18")
        method = "elicitation/create" if elicit else "sampling/createMessage"
        form = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
        asked = {"message": "Which word?", "requestedSchema": form} if elicit else {
            "messages": [{"role": "user", "content": {"type": "text", "text": "Which word?"}}], "maxTokens": 5,
            "temperature": 0.7}
        asked = {**asked, **ODD, **META_ODD}
        if self.modern:
            return self.ask_modern(params, method, {"mode": "form", **asked})
        if self.plain:
            return said("plain servers ask nothing")
        capability = "elicitation" if elicit else "sampling"
        if capability not in session.capabilities:
            return said(f"refused: the client has no {capability}")
        reply = session.ask(method, asked, link)
        if reply is None:
            return said("refused: no reply")
        if "error" in reply:
            return said(f"refused: {json.dumps(reply['error'])}")
        self.log("answer", result=reply["result"])
        return said(f"got: {word_of(reply['result'])}")

    def ask_modern(self, params, method, asked):
        capabilities = params["_meta"][META + "clientCapabilities"]
        if "elicitation" not in capabilities:
            raise Problem(-32021, "Missing required client capability", {"requiredCapabilities": {"elicitation": {}}})
        answers = params.get("inputResponses")
        if answers is None:
            return {"resultType": "input_required", "requestState": "state-1",
                    "inputRequests": {"word-key": {"method": method, "params": asked}}}
        if params.get("requestState") != "state-1":
            self.violation(f"requestState is {params.get('requestState')!r}")
        if set(answers) != {"word-key"}:
            self.violation(f"answers to {sorted(answers)}")
            raise Problem(-32602, "answers to other questions")
        self.log("answer", result=answers["word-key"])
        return said(f"got: {word_of(answers['word-key'])}")


class Session:
    """One connection, or in Streamable HTTP one session."""

    def __init__(self, link):
        self.link = link
        self.greeted = self.ready = False
        self.level = None
        self.capabilities, self.ids, self.asked, self.running = {}, set(), {}, {}
        self.changed, self.next_id = threading.Condition(), 0

    def wake(self):
        with self.changed:
            self.changed.notify_all()

    def wait(self, holds, seconds):
        end = time.monotonic() + seconds
        with self.changed:
            while not holds():
                if time.monotonic() > end:
                    return False
                # There is no event for the other side being gone.
                self.changed.wait(0.05)
        return True

    def ask(self, method, params, link):
        """Sends a request to the client; None if there is no reply."""
        with self.changed:
            self.next_id += 1
            request_id = f"scripted-{self.next_id}"
        reply = self.asked[request_id] = []
        link.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        self.wait(lambda: reply or link.gone(), LIMIT)
        return reply[0] if reply else None


def said(text):
    return {"content": [{"type": "text", "text": text}]}


def note(method, params):
    return {"jsonrpc": "2.0", "method": method, "params": params}


def error(request_id, problem):
    body = {"code": problem.code, "message": problem.message}
    if problem.data is not None:
        body["data"] = problem.data
    return {"jsonrpc": "2.0", "id": request_id, "error": body}


def word_of(result):
    if "content" not in result:
        return result.get("action")
    content = result["content"]
    return content.get("word", content.get("text"))


def snaked(value):
    if isinstance(value, dict):
        return {SNAKE.get(key, key): snaked(one) for key, one in value.items()}
    return [snaked(one) for one in value] if isinstance(value, list) else value


class Pipe:
    """Standard output."""

    def __init__(self, noise):
        self.noise, self.lock, self.count = noise, threading.Lock(), 0

    def send(self, message, _code=None):
        with self.lock:
            if self.noise:
                self.count += 1
                sys.stdout.write(f"loading… {self.count}\n\n[debug] {{not json\n")
            sys.stdout.write(json.dumps(message) + "\n")
            sys.stdout.flush()

    def hold(self, wait):
        return wait()

    def gone(self):
        return False


def serve_stdio(server):
    link = Pipe("noise" in server.quirks)
    session = Session(link)
    for line in sys.stdin:
        if not line.strip():
            continue
        try:
            message = json.loads(line)
        except ValueError:
            server.violation("a line that is not JSON", line)
            link.send(error(None, Problem(-32700, "Parse error")))
            continue
        if isinstance(message, dict) and message.get("method") in ("tools/call", "subscriptions/listen"):
            threading.Thread(target=server.receive, args=(session, message, link), daemon=True).start()
        else:
            server.receive(session, message, link)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--revision", required=True)
    parser.add_argument("--log", required=True)
    parser.add_argument("--port", type=int)
    parser.add_argument("--websocket", action="store_true")
    parser.add_argument("--quirk", action="append", default=[])
    given = parser.parse_args()
    server = Server(given.revision, given.quirk, given.log)
    if given.websocket:
        import strict_ws
        strict_ws.serve(server, given.port)
    elif given.port:
        import strict_http
        strict_http.serve(server, given.port)
    else:
        serve_stdio(server)


if __name__ == "__main__":
    # Under its own name, which strict_http imports too.
    import strict
    strict.main()
