"""A client of each revision on servers of each revision, through docent: list, call, errors, progress, questions to the
person, cancellation, subscriptions, templates, prompts, completion, a missing resource; `_meta` and fields that no revision
knows, on each of them; clients over stdio and HTTP, servers over stdio, HTTP and one over WebSocket.

The servers (strict.py) speak one revision each and write down every violation; there must be none at the end.
`--direct` runs the checks without docent, each client on the servers of its own revision.
"""

import json
import os

import peers
import place as places
import report
from peers import MODERN, PLAIN, REVISIONS
from strict import DOCUMENT, META_ODD, ODD, PROMPT, TEMPLATE, TOOLS

# Names of servers by transport and revision.
TRANSPORTS = ("stdio", "http")
NOISY = "noisy"
ASK_SECONDS = 40


class Scripted:
    """A scripted server: how docent reaches it, and the violations it recorded."""

    def __init__(self, place, name, transport, revision, quirks=()):
        self.name, self.transport, self.revision = name, transport, revision
        self.log = place.path(f"{name}.log")
        arguments = ["--revision", revision, "--log", self.log]
        for quirk in quirks:
            arguments += ["--quirk", quirk]
        self.spec = place.scripted("strict.py", *arguments)
        self.listening = None
        if transport != "stdio":
            port = places.free_port()
            argv = [self.spec["command"], *self.spec["args"], "--port", str(port)]
            argv += ["--websocket"] if transport == "websocket" else []
            self.listening = places.Listening(argv, port)
            path = "sse" if revision == "2024-11-05" else "mcp"
            self.spec = {"url": f"http://127.0.0.1:{port}/{path}"}
            if revision == "2024-11-05":
                self.spec["type"] = "sse"
            if transport == "websocket":
                self.spec = {"url": f"ws://127.0.0.1:{port}/ws"}

    # What the server's revision and its transport support.

    def streams(self):
        return not (self.transport == "http" and self.revision == PLAIN)

    def asks(self):
        """The method it asks the client with."""
        if self.revision == PLAIN:
            return None
        return "sampling/createMessage" if self.revision < "2025-06-18" else "elicitation/create"

    def at_least(self, revision):
        return self.revision != PLAIN and self.revision >= revision

    def structured(self):
        return self.at_least("2025-06-18")

    def entries(self, kind=None):
        if not os.path.exists(self.log):
            return []
        with open(self.log, encoding="utf-8") as file:
            found = [json.loads(line) for line in file]
        return [one for one in found if kind in (None, one["kind"])]


class Client:
    """A client of one revision over one transport."""

    def __init__(self, transport, revision, connect):
        self.transport, self.revision, self.unmarked = transport, revision, []
        capabilities = {"sampling": {}, "roots": {}}
        if self.at_least("2025-06-18"):
            capabilities["elicitation"] = {}
        if self.at_least("2025-11-25"):
            capabilities["elicitation"] = {"form": {}}
        self.peer = connect(revision=revision, capabilities=capabilities, answers={
            "elicitation/create": lambda _: {"action": "accept", "content": {"word": "tide"}, **ODD, **META_ODD},
            "sampling/createMessage": lambda _: {
                "role": "assistant", "model": "scripted", "content": {"type": "text", "text": "tide", **ODD},
                **ODD, **META_ODD},
            "roots/list": lambda _: {"roots": []},
        })

    def at_least(self, revision):
        return self.revision != PLAIN and self.revision >= revision

    def lists_meta(self):
        """Revisions before 2025-06-18 have no `_meta` on list items or content."""
        return self.revision == PLAIN or self.at_least("2025-06-18")

    def hears(self):
        """Whether it can receive anything besides answers: a plain POST has one answer."""
        return not (self.transport == "http" and self.revision == PLAIN)

    def can_answer(self, method):
        if method is None or not self.hears():
            return False
        return method == "sampling/createMessage" or self.at_least("2025-06-18")


class Pair:
    """A client and a server, and how the client calls what the server has."""

    def __init__(self, checks, client, server, prefix):
        self.checks, self.client, self.server, self.peer = checks, client, server, client.peer
        self.prefix = prefix
        self.name = f"{client.transport} {client.revision} on {server.name}"

    def tool(self, name):
        return self.prefix + name

    def whole(self, what, seen, meta=True):
        """Fields that no revision knows are there, and `_meta` with what the server wrote in it."""
        seen = seen or {}
        self.equal(f"an unknown field of {what} survives", seen.get("scriptedField"), ODD["scriptedField"])
        if meta:
            self.equal(f"_meta of {what} survives", (seen.get("_meta") or {}).get("scripted/note"), "kept")

    def that(self, what, holds, why=""):
        return self.checks.that(f"{self.name} {what}", holds, why)

    def equal(self, what, seen, expected):
        return self.checks.equal(f"{self.name} {what}", seen, expected)


def lists(pair, tools):
    listed = {name.removeprefix(pair.prefix): tool for name, tool in tools.items() if name.startswith(pair.prefix)}
    if not pair.prefix:
        listed = tools
    if not pair.equal("lists its tools", sorted(listed), sorted(TOOLS)):
        return False
    (about, schema), tool = TOOLS["echo"], listed["echo"]
    pair.equal("has the schema", tool.get("inputSchema", tool.get("input_schema") if not pair.prefix else None), schema)
    pair.that("has the description", about in tool.get("description", ""), report.shown(tool))
    pair.whole("a tool", tool, pair.client.lists_meta())
    if pair.server.at_least("2025-03-26") and pair.client.revision != "2024-11-05":
        pair.whole("the annotations of a tool", tool.get("annotations"), meta=False)
    return True


def calls(pair):
    reply = pair.peer.call(pair.tool("echo"), {"text": "hello ü"})
    result = reply.get("result", {})
    content = [{key: item.get(key) for key in ("type", "text")} for item in result.get("content", [])]
    pair.equal("calls a tool", content, [{"type": "text", "text": "hello ü"}])
    if pair.server.structured() and pair.client.at_least("2025-06-18"):
        pair.equal("gets structured content", result.get("structuredContent"), {"text": "hello ü"})
    pair.equal("_meta of a result survives", (result.get("_meta") or {}).get("scripted/note"), "kept")
    pair.equal("an unknown field of a result survives", result.get("scriptedField"), [1])
    if pair.client.revision == MODERN:
        pair.equal("has its result type", result.get("resultType"), "complete")
    reply = pair.peer.ask("tools/call", {
        "name": pair.tool("seen"), "arguments": {"text": "x", "other": {"deep": [1, None]}},
        "_meta": {"client/note": "n"}})
    seen = json.loads(places.text(reply.get("result", {})) or "{}")
    pair.equal("arguments arrive whole", seen.get("arguments"), {"text": "x", "other": {"deep": [1, None]}})
    pair.equal("_meta of a request survives", (seen.get("_meta") or {}).get("client/note"), "n")
    pair.equal("the server hears its own name of the tool", seen.get("name"), "seen")


def errors(pair):
    reply = pair.peer.call(pair.tool("fail"))
    result = reply.get("result", {})
    failed = result.get("isError", result.get("is_error") if not pair.prefix else None)
    # The plain dialect has the reason of a failure next to the content.
    reason = places.text(result) or (result.get("error") if pair.client.revision == PLAIN else "")
    pair.that("a failed tool is an error result", failed is True and "it failed" in reason, reply)
    reply = pair.peer.call(pair.tool("broken"))
    seen = reply.get("error", {})
    data = seen.get("data") if isinstance(seen.get("data"), dict) else {}
    pair.that("an error keeps code, message and data", seen.get("code") == -32050 and
              "Scripted failure" in seen.get("message", "") and data.get("why") == "because",
              f"-32050, Scripted failure, why because; saw {report.shown(reply)}")


def progress(pair):
    if not pair.client.hears():
        reply = pair.peer.call(pair.tool("count"), {"steps": 3}, token="t")
        pair.that("counts", "counted to 3" in places.text(reply.get("result", {})), reply)
        return
    token = f"token {pair.name}"
    reply = pair.peer.call(pair.tool("count"), {"steps": 3}, token=token)
    pair.that("counts", "counted to 3" in places.text(reply.get("result", {})), reply)
    seen = [one["params"] for one in pair.peer.notes
            if one["method"] == "notifications/progress" and one["params"].get("progressToken") == token]
    if not pair.server.streams():
        return
    pair.equal("progress", [(one["progress"], one.get("total")) for one in seen], [(1, 3), (2, 3), (3, 3)])
    pair.that("whole numbers stay whole", all(isinstance(one["progress"], int) for one in seen), report.shown(seen))
    for one in seen[:1]:
        pair.whole("progress", one)
    if pair.client.at_least("2025-03-26") and pair.server.revision != PLAIN and pair.server.revision >= "2025-03-26":
        pair.equal("progress has its message", [one.get("message") for one in seen], ["step 1", "step 2", "step 3"])


def logging(pair):
    """A debug message, sent only to a client that requests the level, by a separate request or with the call."""
    if PLAIN in (pair.client.revision, pair.server.revision):
        return
    more, since = {}, len(pair.peer.notes)
    if pair.client.revision == MODERN:
        more = {"_meta": {peers.META + "logLevel": "debug"}}
    else:
        pair.peer.result("logging/setLevel", {"level": "debug"})
    reply = pair.peer.ask("tools/call", {"name": pair.tool("log"), "arguments": {}, **more})
    pair.equal("the server knows the level", places.text(reply.get("result", {})), "at debug")

    def heard():
        return [one for one in pair.peer.notes[since:] if one["method"] == "notifications/message"
                and one["params"].get("data") == "logged"]

    pair.that("a log message is heard", places.until(heard, 5), lambda: report.shown(pair.peer.notes[since:]))


def questions(pair):
    method = pair.server.asks()
    if method is None:
        return
    before = [one for one in pair.server.entries("call") if one["tool"] == "ask"]
    reply = pair.peer.call(pair.tool("ask"), timeout=ASK_SECONDS)
    said = places.text(reply.get("result", {}))
    if not pair.client.can_answer(method):
        reported = said or "error" in reply or reply["result"].get("isError")
        pair.that("a question that can't be asked is reported", "got: tide" not in said and reported, reply)
        return
    pair.that("a question reaches the person", said == "got: tide", f"'got: tide' expected, saw {report.shown(reply)}")
    asked = pair.peer.asked[-1]["params"] if pair.peer.asked else {}
    pair.whole("a question", asked)
    if method == "sampling/createMessage":
        pair.equal("temperature", asked.get("temperature"), 0.7)
    answers = pair.server.entries("answer")
    pair.whole("an answer", answers[-1]["result"] if answers else {})
    if pair.server.revision != MODERN and pair.prefix:
        times = len([one for one in pair.server.entries("call") if one["tool"] == "ask"]) - len(before)
        pair.that("a tool that asks is called once", times == 1, f"called {times} times")


def cancellation(pair):
    if not (pair.client.hears() and pair.server.streams()):
        return
    started = len(pair.server.entries("slow"))
    pending = pair.peer.start("tools/call", {"name": pair.tool("slow"), "arguments": {}})
    if not pair.that("a slow call starts", places.until(lambda: len(pair.server.entries("slow")) > started, 10),
                     "the server never received it"):
        return
    before = len(pair.server.entries("cancelled"))
    pair.peer.cancel(pending)

    def heard():
        return [one for one in pair.server.entries("cancelled")[before:] if one["tool"] == "slow"]

    pair.that("a cancellation reaches the server", places.until(heard, 10),
              lambda: f"saw {report.shown(pair.server.entries('cancelled')[before:])}")


def named(pair, offered, key, name):
    """Every server has one of this name; the first may keep it, and the others are distinguished by server."""
    marked = f"docent+{pair.server.name}:{name}"
    found = [one for one in offered if one[key] == marked] or [one for one in offered if one[key] == name]
    pair.that(f"its {name} is listed once", len(found) == 1, f"{name} expected among {report.shown(offered)}")
    return found[0]


def templates(pair, offered):
    template = named(pair, offered["templates"], "uriTemplate", TEMPLATE)
    pair.whole("a template", template, pair.client.lists_meta())
    uri = template["uriTemplate"].replace("{name}", "seen")
    reply = pair.peer.ask("resources/read", {"uri": uri, "_meta": {"client/note": "n"}})
    result = reply.get("result", {})
    contents = (result.get("contents") or [{}])[0]
    pair.equal("a member of a template has its address", contents.get("uri"), uri)
    pair.whole("a read result", result)
    pair.whole("contents", contents)
    seen = json.loads(contents.get("text") or "{}")
    pair.equal("the server hears its own address", seen.get("uri"), DOCUMENT + "/seen")
    pair.equal("_meta of a read survives", (seen.get("_meta") or {}).get("client/note"), "n")
    uri = template["uriTemplate"].replace("{name}", "none")
    missing = pair.peer.ask("resources/read", {"uri": uri}).get("error", {})
    code = -32602 if pair.client.revision == MODERN else -32003 if pair.client.revision == PLAIN else -32002
    pair.equal("a missing resource has the code of the client's revision", missing.get("code"), code)
    completes(pair, {"type": "ref/resource", "uri": template["uriTemplate"]}, "name")


def prompts(pair, offered):
    name = f"{pair.prefix}{PROMPT}"
    found = [one for one in offered["prompts"] if one["name"] == name]
    if not pair.that("its prompt is listed", len(found) == 1, f"{name} expected among {report.shown(offered['prompts'])}"):
        return
    pair.whole("a prompt", found[0], pair.client.lists_meta())
    pair.equal("the arguments of a prompt", [one["name"] for one in found[0]["arguments"]], ["whom", "how"])
    pair.whole("an argument", found[0]["arguments"][0], meta=False)
    reply = pair.peer.ask("prompts/get", {"name": name, "arguments": {"whom": "you"}, "_meta": {"client/note": "n"}})
    result = reply.get("result", {})
    message = (result.get("messages") or [{}])[0]
    pair.equal("a prompt is rendered", (result.get("description"), message.get("role")), ("A greeting", "assistant"))
    pair.whole("a rendered prompt", result)
    pair.whole("a message of a prompt", message, meta=False)
    pair.whole("the content of a prompt", message.get("content"), pair.client.at_least("2025-06-18"))
    seen = json.loads((message.get("content") or {}).get("text") or "{}")
    pair.equal("the server hears its own name of the prompt", (seen.get("name"), seen.get("arguments")),
               (PROMPT, {"whom": "you"}))
    pair.equal("_meta of a prompt's request survives", (seen.get("_meta") or {}).get("client/note"), "n")
    completes(pair, {"type": "ref/prompt", "name": name}, "whom")


def completes(pair, reference, argument):
    reply = pair.peer.ask("completion/complete", {"ref": reference, "argument": {"name": argument, "value": "ti"}})
    result = reply.get("result", {})
    completion = result.get("completion") or {}
    pair.equal(f"completes {reference['type']}", [completion.get(key) for key in ("values", "total", "hasMore")],
               [["tide", "time"], 50, True])
    pair.whole("a completion", completion, meta=False)
    pair.whole("a completion's result", result)
    reply = pair.peer.ask("completion/complete", {
        "ref": reference, "argument": {"name": argument, "value": "seen"}, "_meta": {"client/note": "n"}})
    values = (reply.get("result", {}).get("completion") or {}).get("values") or ["{}"]
    seen = json.loads(values[0])
    pair.equal("_meta of a completion's request survives", (seen.get("_meta") or {}).get("client/note"), "n")


def resources(pair, offered):
    listed = offered["resources"]
    # Every server has a document with this URI; one of them may keep it, and the others are distinguished by server.
    found = [one["uri"] for one in listed if one["uri"].endswith(DOCUMENT) and (
        not pair.prefix or pair.server.name in one["uri"])]
    if not found and any(one["uri"] == DOCUMENT for one in listed):
        found = [DOCUMENT]
        pair.client.unmarked.append(pair.server.name)
    if not pair.that("its resource is listed", len(found) == 1, f"{DOCUMENT} expected among {report.shown(listed)}"):
        return
    uri = found[0]
    pair.whole("a resource", next(one for one in listed if one["uri"] == uri), pair.client.lists_meta())
    reply = pair.peer.ask("resources/read", {"uri": uri})
    contents = reply.get("result", {}).get("contents", [])
    pair.equal("reads its resource", [(one.get("uri"), one.get("text")) for one in contents], [(uri, "the document")])
    if not (pair.client.hears() and pair.server.streams()):
        return
    since, listening = len(pair.peer.notes), None
    if pair.client.revision == MODERN:
        listening = pair.peer.start("subscriptions/listen", {"notifications": {"resourceSubscriptions": [uri]}})
        pair.peer.note(lambda method, _: method == "notifications/subscriptions/acknowledged", since=since)
    else:
        pair.peer.result("resources/subscribe", {"uri": uri})

    # In 2026-07-28 docent subscribes with a separate stream, which may open after the client's acknowledgement.
    names = ["notifications/resources/updated", "resources/updated"]
    if pair.prefix:
        # docent uses the older name only in the plain dialect.
        names = names[1:] if pair.client.revision == PLAIN else names[:1]

    def updated():
        pair.peer.call(pair.tool("touch"))
        try:
            return pair.peer.note(lambda method, params: method in names
                and params.get("uri") == uri, timeout=1, since=since)
        except peers.Lost:
            return None

    pair.that("hears of an update", places.until(updated, 8), lambda: report.shown(pair.peer.notes[since:]))
    if listening:
        pair.peer.cancel(listening)
    else:
        pair.peer.result("resources/unsubscribe", {"uri": uri})


def offered_to(peer):
    """Everything except tools."""
    return {"resources": peer.list("resources/list", "resources"), "prompts": peer.list("prompts/list", "prompts"),
            "templates": peer.list("resources/templates/list", "resourceTemplates")}


def check_pair(pair, tools, offered):
    checks = pair.checks
    # Every other case would wait for a missing server.
    if not checks.group(f"{pair.name} lists", lists, pair, tools):
        return
    for case in (calls, errors, progress, logging, questions, cancellation):
        checks.case(f"{pair.name} {case.__name__}", case, pair)
    for case in (resources, templates, prompts):
        checks.case(f"{pair.name} {case.__name__}", case, pair, offered)


def check_client(checks, client, servers):
    opened = client.peer.open() if client.hears() else {"result": {}}
    assert "result" in opened, report.shown(opened)
    if client.hears() and client.revision not in (MODERN, PLAIN):
        checks.equal(f"{client.transport} {client.revision} is answered in its revision",
                     opened["result"]["protocolVersion"], client.revision)
    try:
        tools = places.settled(client.peer, [server.name for server in servers])
    except AssertionError:
        # Each missing one is reported.
        tools = client.peer.tools()
    offered = offered_to(client.peer)
    for server in servers:
        pair = Pair(checks, client, server, f"{server.name}__")
        checks.group(pair.name, check_pair, pair, tools, offered)
    checks.that(f"{client.transport} {client.revision} hears nothing odd", not client.peer.odd,
                lambda: report.shown(client.peer.odd))


def scripted_servers(place):
    servers = []
    for transport in TRANSPORTS:
        for revision in REVISIONS:
            name = f"{transport}_{'plain' if revision == PLAIN else revision.replace('-', '_')}"
            quirks = ("snake", "bare") if revision == PLAIN else ()
            servers.append(Scripted(place, name, transport, revision, quirks))
    # No revision defines WebSocket, but servers support it anyway.
    servers.append(Scripted(place, "websocket", "websocket", "2025-11-25"))
    servers.append(Scripted(place, NOISY, "stdio", "2025-06-18", ("noise",)))
    return servers


def no_violations(checks, servers):
    for server in servers:
        found = server.entries("violation")
        checks.that(f"{server.name} saw no violation", not found, f"{len(found)}, the first {report.shown(found[:2])}")


def check_direct(checks, place, servers):
    for server in servers:
        if server.transport == "websocket" or (server.transport == "http" and server.revision == "2024-11-05"):
            continue  # The clients here don't support this transport.

        def connect(server=server, **more):
            return peers.Http(server.spec["url"], **more) if server.listening else place.direct(server.spec, **more)

        client = Client(server.transport, server.revision, connect)
        if client.hears() or server.revision == PLAIN:
            client.peer.open()
        pair = Pair(checks, client, server, "")
        tools = client.peer.tools()
        check_pair(pair, tools, offered_to(client.peer))
        client.peer.close()


def main():
    given = places.arguments(__doc__, direct=True)
    checks, place = report.Checks(given.word, limit=1500), places.Place(given)
    try:
        servers = scripted_servers(place)
        if given.direct:
            check_direct(checks, place, servers)
        else:
            config = place.configuration({server.name: server.spec for server in servers})
            clients = []
            for revision in REVISIONS:
                client = Client("stdio", revision, lambda **more: place.stdio(config, **more))
                checks.group(f"stdio {revision}", check_client, checks, client, servers)
                client.peer.close()
                clients.append(client)
            owners = {tuple(client.unmarked) for client in clients}
            checks.that("an address means the same server in every docent", len(owners) == 1,
                        f"{DOCUMENT} is the document of {sorted(owners)}")
            docent = places.docent_http(place, config)
            for revision in REVISIONS:
                client = Client("http", revision, lambda **more: peers.Http(docent.url, **more))
                checks.group(f"http {revision}", check_client, checks, client, servers)
                client.peer.close()
            checks.that("docent ends on request", docent.end() == 0, "exit code 0 expected")
        no_violations(checks, servers)
    finally:
        place.end()
    checks.end()


if __name__ == "__main__":
    main()
