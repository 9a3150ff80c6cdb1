"""Tests the scripted servers: what a revision does not allow is recorded, and what it allows is not.

Needs no docent. A server that let everything pass would make eras.py worth nothing.
"""

import http.client
import json

import peers
import place as places
import report
from eras import Scripted
from peers import META, MODERN

INFORMATION = {"name": "t", "version": "1"}
HELLO = {"jsonrpc": "2.0", "id": 0, "method": "initialize",
         "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": INFORMATION}}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def ask(method, request_id=1, **params):
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def modern(method, request_id=1, version=MODERN, capabilities=None, **params):
    meta = {META + "protocolVersion": version, META + "clientCapabilities": {} if capabilities is None else capabilities}
    return ask(method, request_id, _meta=meta, **params)


# A revision, the input on stdio, and the recorded violation; none for allowed input.
SAID = [
    ("2025-06-18", [HELLO, READY, ask("tools/list")], None),
    ("2025-06-18", [ask("server/discover", 5), HELLO, READY, ask("tools/list")], None),
    ("2025-06-18", [ask("tools/list")], "before the handshake"),
    ("2025-06-18", [HELLO, ask("tools/list")], "before the handshake"),
    ("2025-06-18", [HELLO, READY, ask("tools/list", 1), ask("tools/list", 1)], "an id used twice"),
    ("2025-06-18", [HELLO, READY, [ask("tools/list")]], "a batch"),
    ("2025-06-18", [HELLO, HELLO | {"id": 9}], "initialize twice"),
    ("2025-06-18", [HELLO | {"params": {"protocolVersion": "2025-06-18"}}], "initialize needs"),
    ("2025-06-18", [HELLO, READY, ask("server/discover")], "no such method"),
    ("2025-06-18", [HELLO, READY, ask("tools/call", name="fail", inputResponses={})], "later revision"),
    ("2025-06-18", [HELLO, READY, ask("tools/call", name="fail", task={})], "later revision"),
    ("2025-06-18", [HELLO, READY, ask("resources/subscribe", uri="docent://x")], "not this server's"),
    ("2025-06-18", [HELLO, READY, {"jsonrpc": "2.0", "id": "none", "result": {}}], "a reply to nothing"),
    ("2025-06-18", [HELLO, READY, {"jsonrpc": "2.0", "method": "notifications/odd"}], "an unknown notification"),
    ("2025-06-18", [HELLO, READY, {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}}],
     "never was"),
    ("2025-06-18", [HELLO, READY, {"id": 3, "method": "tools/list"}], "not JSON-RPC"),
    ("2024-11-05", [HELLO, READY, ask("tools/list")], None),
    (MODERN, [modern("server/discover"), modern("tools/list", 2)], None),
    (MODERN, [HELLO, modern("tools/list", 2)], None),
    (MODERN, [modern("tools/list"), HELLO | {"id": 2}], "no such method"),
    (MODERN, [ask("tools/list")], "no _meta"),
    (MODERN, [modern("tools/list", version="2025-11-25")], "the version in _meta"),
    (MODERN, [ask("tools/list", _meta={META + "protocolVersion": MODERN})], "no clientCapabilities"),
    (MODERN, [modern("ping")], "no such method"),
    (MODERN, [modern("logging/setLevel", level="debug")], "no such method"),
    (MODERN, [READY], "no such notification"),
    (MODERN, [modern("tools/call", capabilities={"elicitation": {}}, name="ask", inputResponses={"other": {}},
                     requestState="state-1")], "answers to"),
    (MODERN, [modern("tools/call", capabilities={"elicitation": {}}, name="ask", inputResponses={"word-key": {}},
                     requestState="other")], "requestState"),
]

JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
LIST = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/list"}
# A revision, headers and one message of a POST, the status, and the recorded violation.
POSTED = [
    (MODERN, JSON | LIST, modern("tools/list"), 200, None),
    (MODERN, JSON, modern("tools/list"), 400, "MCP-Protocol-Version"),
    (MODERN, JSON | LIST | {"Mcp-Method": "ping"}, modern("tools/list"), 400, "Mcp-Method"),
    (MODERN, JSON | LIST | {"Mcp-Method": "tools/call"}, modern("tools/call", name="echo"), 400, "Mcp-Name"),
    (MODERN, JSON | LIST | {"Mcp-Session-Id": "x"}, modern("tools/list"), 200, "a session id"),
    (MODERN, JSON | LIST | {"Accept": "application/json"}, modern("tools/list"), 200, "Accept"),
    ("2025-06-18", JSON, HELLO, 200, None),
    ("2025-06-18", JSON, ask("server/discover"), 400, None),
    ("2025-06-18", JSON, ask("tools/list"), 400, "the session is None"),
    ("2025-06-18", JSON | {"Mcp-Session-Id": "x"}, ask("tools/list"), 404, "the session is 'x'"),
    ("2025-06-18", JSON | {"Content-Type": "text/plain"}, HELLO, 200, "content type"),
]


def violations(server):
    return [one["what"] for one in server.entries("violation")]


def judge(checks, name, server, wanted):
    found = violations(server)
    holds = not found if wanted is None else any(wanted in what for what in found)
    checks.that(name, holds, f"{wanted or 'nothing'} expected to be written down, saw {found}")


def on_pipes(checks, place, index, revision, messages, wanted):
    server = Scripted(place, f"pipes-{index}", "stdio", revision)
    peer = place.direct(server.spec)
    for message in messages:
        peer.send(message, None)
    if wanted:
        # A call is answered concurrently with reading standard input, whose end ends the server.
        places.until(lambda: violations(server), 10)
    peer.close()
    last = messages[-1]
    what = last.get("method", "a reply") if isinstance(last, dict) else "a batch"
    judge(checks, f"{revision} {index} {what} {wanted or 'is allowed'}", server, wanted)


def over_http(checks, place, index, revision, headers, message, status, wanted):
    server = Scripted(place, f"http-{index}", "http", revision)
    connection = http.client.HTTPConnection("127.0.0.1", server.listening.port, timeout=10)
    connection.request("POST", "/mcp", json.dumps(message), headers)
    seen = connection.getresponse().status
    connection.close()
    checks.equal(f"{revision} POST {index} has its status", seen, status)
    judge(checks, f"{revision} POST {index} {wanted or 'is allowed'}", server, wanted)
    server.listening.end()


def versions(checks, place):
    """A server of one revision answers with that revision, whichever is requested."""
    for revision in peers.REVISIONS[:-1]:
        server = Scripted(place, f"version-{revision}", "stdio", revision)
        peer = place.direct(server.spec, revision="2025-11-25")
        checks.equal(f"{revision} is what is answered", peer.open()["result"]["protocolVersion"], revision)
        peer.close()


def main():
    given = places.arguments(__doc__, direct=True)
    checks, place = report.Checks(given.word), places.Place(given)
    try:
        for index, row in enumerate(SAID):
            checks.case(f"pipes {index}", on_pipes, checks, place, index, *row)
        for index, row in enumerate(POSTED):
            checks.case(f"POST {index}", over_http, checks, place, index, *row)
        checks.case("versions", versions, checks, place)
    finally:
        place.end()
    checks.end()


if __name__ == "__main__":
    main()
