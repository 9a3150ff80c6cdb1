"""What goes both ways between a client and server-everything, through docent: sampling, elicitation, roots, progress,
subscriptions, logging, cancellation, changed lists, tasks; by raw clients over stdio and Streamable HTTP, with a session and
in 2026-07-28.

`--direct` runs the same checks without docent, on the session era.
"""

import json
import time

import peers
import place as places
import report
from peers import MODERN, Refused

SERVER = "everything"
# The time in which an unwanted message would have arrived: two steps of the operation below.
SILENCE = 1.2
STEP = 0.5
RESOURCE = "demo://resource/dynamic/text/1"


class Client:
    """A user of a client: the answers can be changed, the questions are recorded."""

    def __init__(self, connect):
        self.sampled = {"role": "assistant", "model": "scripted", "content": {"type": "text", "text": "high tide"}}
        self.elicited = {"action": "accept", "content": {"name": "Ada", "check": True, "integer": 7}}
        self.roots = [{"uri": "file:///tmp/one", "name": "one"}]
        self.peer = connect({
            "sampling/createMessage": lambda _: self._say(self.sampled),
            "elicitation/create": lambda _: self._say(self.elicited),
            "roots/list": lambda _: {"roots": self.roots},
        })

    @staticmethod
    def _say(answer):
        if isinstance(answer, Exception):
            raise answer
        return answer

    def asked(self, method):
        return [one["params"] for one in self.peer.asked if one["method"] == method]


class Way:
    """One way to reach the server: the client and the names."""

    def __init__(self, name, connect, prefix, modern):
        self.name, self.connect, self.prefix, self.modern = name, connect, prefix, modern
        self.uris = ""

    def tool(self, name):
        return self.prefix + name

    def uri(self, own):
        return self.uris + own

    def learn(self, client):
        """The form of this server's URIs in docent."""
        for one in client.peer.list("resources/templates/list", "resourceTemplates"):
            own = "demo://resource/dynamic/text/{resourceId}"
            if one["uriTemplate"].endswith(own):
                self.uris = one["uriTemplate"][:-len(own)]
                return
        raise AssertionError("the template of the text resource is not listed")


# --- what the server asks the client ---------------------------------------------------------------------------------

def sampling(checks, way, client):
    before = len(client.asked("sampling/createMessage"))
    reply = client.peer.call(way.tool("trigger-sampling-request"), {"prompt": "When?", "maxTokens": 33})
    asked = client.asked("sampling/createMessage")[before:]
    checks.that(f"{way.name} sampling is asked once", len(asked) == 1, f"asked {len(asked)} times")
    kept = {key: asked[0].get(key) for key in ("messages", "systemPrompt", "maxTokens", "temperature")}
    said = "Resource trigger-sampling-request context: When?"
    checks.equal(f"{way.name} sampling request arrives whole", kept, {
        "messages": [{"role": "user", "content": {"type": "text", "text": said}}],
        "systemPrompt": "You are a helpful test server.", "maxTokens": 33, "temperature": 0.7})
    shown = json.loads(places.text(reply["result"]).split("\n", 1)[1])
    checks.equal(f"{way.name} sampling answer arrives whole", shown, client.sampled)
    client.sampled = Refused(-1, "User rejected sampling request")
    if way.modern:
        return  # 2026-07-28 has no form for declined input: the client does not come back.
    reply = client.peer.call(way.tool("trigger-sampling-request"), {"prompt": "When?"})
    checks.that(f"{way.name} a refused sampling is reported to the server",
                reply.get("result", {}).get("isError") and "User rejected sampling request" in json.dumps(reply),
                f"an error result with the reason expected, saw {report.shown(reply)}")


def elicitation(checks, way, client):
    for action, content, word in (
            ("accept", {"name": "Ada", "check": True, "integer": 7}, "- Favorite Integer: 7"),
            ("decline", None, "declined to provide"), ("cancel", None, "cancelled the elicitation")):
        client.elicited = {"action": action, **({"content": content} if content else {})}
        before = len(client.asked("elicitation/create"))
        reply = client.peer.call(way.tool("trigger-elicitation-request"))
        asked = client.asked("elicitation/create")[before:]
        checks.that(f"{way.name} elicitation {action} is asked once", len(asked) == 1, f"asked {len(asked)} times")
        text = places.text(reply.get("result", {}))
        checks.that(f"{way.name} elicitation {action}", word in text, f"{word!r} expected in {report.shown(reply)}")
        if asked and action == "accept":
            schema = asked[0]["requestedSchema"]
            wanted = {"type": "string", "title": "Legacy Titled Single Select Enum", "default": "pet-1"}
            field = schema["properties"].get("legacyTitledEnum", {})
            checks.equal(f"{way.name} the requested schema arrives whole",
                         {key: field.get(key) for key in wanted}, wanted)
            checks.that(f"{way.name} every requested field arrives", len(schema["properties"]) == 13
                        and schema["required"] == ["name"], f"13 fields, name required; saw {report.shown(schema)}")
    client.elicited = {"action": "accept"}
    before = len(client.asked("elicitation/create"))
    reply = client.peer.call(way.tool("trigger-url-elicitation"), {"url": "http://127.0.0.1/x", "elicitationId": "e-7"})
    asked = client.asked("elicitation/create")[before:]
    kept = [{key: one.get(key) for key in ("mode", "url", "elicitationId")} for one in asked]
    checks.equal(f"{way.name} URL elicitation arrives whole", kept, [
        {"mode": "url", "url": "http://127.0.0.1/x", "elicitationId": "e-7"}])
    checks.that(f"{way.name} URL elicitation", "User completed the URL" in places.text(reply.get("result", {})), reply)


def roots(checks, way, client):
    def listed():
        return places.text(client.peer.call(way.tool("get-roots-list")).get("result", {}))

    # The server asks 350 ms after the handshake and caches the answer; until then it reports no roots.
    found = places.until(lambda: (lambda said: said if "file:///tmp/one" in said else None)(listed()), 10, 0.1)
    checks.that(f"{way.name} roots reach the server", found, lambda: f"file:///tmp/one expected in {listed()!r}")
    client.roots = [{"uri": "file:///tmp/two", "name": "two"}, {"uri": "file:///tmp/three"}]
    client.peer.notify("notifications/roots/list_changed")
    found = places.until(lambda: "(2 total)" in listed() and "file:///tmp/two" in listed(), 10, 0.05)
    checks.that(f"{way.name} changed roots reach the server", found, lambda: f"two roots expected, saw {listed()!r}")


def task(checks, way, client):
    client.elicited = {"action": "accept", "content": {"interpretation": "historical"}}
    before = len(client.asked("elicitation/create"))
    created = client.peer.result("tools/call", {
        "name": way.tool("simulate-research-query"), "arguments": {"topic": "tides", "ambiguous": True},
        "task": {"ttl": 60000}}, timeout=60).get("task")
    if not checks.that(f"{way.name} a task is created", created and created["status"] == "working",
                       f"a task expected in place of the result, saw {report.shown(created)}"):
        return
    done = client.peer.ask("tasks/result", {"taskId": created["taskId"]}, timeout=60)
    asked = client.asked("elicitation/create")[before:]
    checks.that(f"{way.name} a task asks for input", len(asked) == 1, f"asked {len(asked)} times; {report.shown(done)}")
    checks.that(f"{way.name} a task gets its input", "tides (historical)" in places.text(done.get("result", {})),
                report.shown(done))
    status = client.peer.result("tasks/get", {"taskId": created["taskId"]})
    checks.equal(f"{way.name} a task is completed", status["status"], "completed")


# --- unsolicited server messages -------------------------------------------------------------------------------------

def progress_of(peer, token):
    return [one["params"] for one in peer.notes
            if one["method"] == "notifications/progress" and one["params"].get("progressToken") == token]


def progress(checks, way, client):
    for token in ("a-token", 4711):
        arguments = {"duration": 0.3, "steps": 3}
        client.peer.result("tools/call", {
            "name": way.tool("trigger-long-running-operation"), "arguments": arguments}, token=token)
        seen = [(one["progress"], one.get("total")) for one in progress_of(client.peer, token)]
        # All of it arrives before the answer.
        checks.equal(f"{way.name} progress under the token {token!r}", seen, [(1, 3), (2, 3), (3, 3)])
    without = sum(one["method"] == "notifications/progress" for one in client.peer.notes)
    client.peer.result("tools/call", {
        "name": way.tool("trigger-long-running-operation"), "arguments": {"duration": 0.1, "steps": 2}})
    seen = sum(one["method"] == "notifications/progress" for one in client.peer.notes)
    checks.that(f"{way.name} no progress without a token", seen == without, f"{seen - without} notifications")


def progress_at_once(checks, way, client):
    running = [
        (f"at-once-{index}", steps, client.peer.start("tools/call", {
            "name": way.tool("trigger-long-running-operation"),
            "arguments": {"duration": 0.4, "steps": steps}}, token=f"at-once-{index}"))
        for index, steps in enumerate((2, 3, 4, 5))]
    for token, steps, pending in running:
        text = places.text(pending.wait()["result"])
        checks.that(f"{way.name} {token} has its own answer", f"Steps: {steps}." in text, text)
        seen = [one["progress"] for one in progress_of(client.peer, token)]
        checks.equal(f"{way.name} {token} has its own progress", seen, list(range(1, steps + 1)))


def listen(client, wanted):
    """Opens `subscriptions/listen` and waits until it is acknowledged."""
    since = len(client.peer.notes)
    pending = client.peer.start("subscriptions/listen", {"notifications": wanted})
    client.peer.note(lambda method, _: method == "notifications/subscriptions/acknowledged", since=since)
    return pending


def subscriptions(checks, way, client, stranger):
    uri, since = way.uri(RESOURCE), len(client.peer.notes)
    listening = None
    if way.modern:
        listening = listen(client, {"resourceSubscriptions": [uri]})
    else:
        client.peer.result("resources/subscribe", {"uri": uri})
    before = len(stranger.peer.notes) if stranger else 0
    client.peer.result("tools/call", {"name": way.tool("toggle-subscriber-updates"), "arguments": {}})
    try:
        client.peer.note(lambda method, params: method == "notifications/resources/updated"
                         and params["uri"] == uri, since=since, timeout=15)
        checks.that(f"{way.name} an update of a resource is heard", True)
    except peers.Lost as problem:
        checks.that(f"{way.name} an update of a resource is heard", False, str(problem))
    if stranger:
        stranger.peer.result("tools/call", {"name": way.tool("echo"), "arguments": {"message": "x"}})
        heard = [one for one in stranger.peer.notes[before:] if one["method"] == "notifications/resources/updated"]
        checks.that(f"{way.name} another client hears nothing of it", not heard, report.shown(heard))
    if listening:
        client.peer.cancel(listening)
    else:
        client.peer.result("resources/unsubscribe", {"uri": uri})
    client.peer.result("tools/call", {"name": way.tool("toggle-subscriber-updates"), "arguments": {}})
    # Turning them on again notifies all subscribers at once.
    since = len(client.peer.notes)
    for _ in range(2):
        client.peer.result("tools/call", {"name": way.tool("toggle-subscriber-updates"), "arguments": {}})
    client.peer.result("tools/call", {"name": way.tool("echo"), "arguments": {"message": "x"}})
    heard = [one for one in client.peer.notes[since:] if one["method"] == "notifications/resources/updated"]
    checks.that(f"{way.name} no update after the end of a subscription", not heard, report.shown(heard))


def logging(checks, way, client):
    """The server logs each subscription at the level info."""
    def heard(number, since):
        return [one["params"] for one in client.peer.notes[since:]
                if one["method"] == "notifications/message" and f"text/{number} " in json.dumps(one["params"].get("data"))]

    def subscribe(number):
        client.peer.result("resources/subscribe", {"uri": way.uri(f"demo://resource/dynamic/text/{number}")})

    client.peer.result("logging/setLevel", {"level": "debug"})
    since = len(client.peer.notes)
    subscribe(11)
    found = places.until(lambda: heard(11, since), 10)
    checks.that(f"{way.name} a log message is heard at debug", found and found[0]["level"] == "info",
                f"an info message about the subscription expected, saw {report.shown(client.peer.notes[since:])}")
    client.peer.result("logging/setLevel", {"level": "error"})
    since = len(client.peer.notes)
    subscribe(12)
    client.peer.result("tools/call", {"name": way.tool("echo"), "arguments": {"message": "x"}})
    checks.that(f"{way.name} no info message at error", not heard(12, since), lambda: report.shown(heard(12, since)))
    client.peer.result("logging/setLevel", {"level": "info"})
    since = len(client.peer.notes)
    subscribe(13)
    checks.that(f"{way.name} a log message is heard again at info", places.until(lambda: heard(13, since), 10),
                f"saw {report.shown(client.peer.notes[since:])}")
    for number in (11, 12, 13):
        client.peer.result("resources/unsubscribe", {"uri": way.uri(f"demo://resource/dynamic/text/{number}")})


def cancellation(checks, way, client):
    peer = client.peer
    pending = peer.start("tools/call", {
        "name": way.tool("trigger-long-running-operation"), "arguments": {"duration": 60 * STEP, "steps": 60}},
        token="cancelled")
    peer.note(lambda method, params: method == "notifications/progress" and params["progressToken"] == "cancelled")
    other = peer.start("tools/call", {
        "name": way.tool("trigger-long-running-operation"), "arguments": {"duration": 2 * STEP, "steps": 2}}, token="kept")
    peer.cancel(pending)
    reply = peer.call(way.tool("echo"), {"message": "after"})
    checks.that(f"{way.name} calls work after a cancellation", "after" in json.dumps(reply), report.shown(reply))
    since = len(peer.notes)
    time.sleep(SILENCE)
    late = [one for one in peer.notes[since:] if one.get("params", {}).get("progressToken") == "cancelled"]
    # The end of its stream is not an answer.
    replies = [one for one in list(pending.box.queue) if not isinstance(one, peers.Lost)]
    # The server itself continues counting; docent does not forward that.
    checks.that(f"{way.name} a cancelled call says nothing more", (not late or not way.prefix) and not replies,
                f"progress {len(late)}, answers {report.shown(replies)}")
    reply = other.wait()
    checks.that(f"{way.name} another call is not cancelled with it",
                "Steps: 2." in places.text(reply.get("result", {})), report.shown(reply))


def changed_lists(checks, way, client):
    since, listening = len(client.peer.notes), None
    if way.modern:
        listening = listen(client, {"resourcesListChanged": True})
    name = f"hop-{time.monotonic_ns()}.gz"
    client.peer.result("tools/call", {"name": way.tool("gzip-file-as-resource"), "arguments": {
        "name": name, "data": "data:text/plain;base64,aGVsbG8=", "outputType": "resourceLink"}})
    try:
        client.peer.note(lambda method, _: method == "notifications/resources/list_changed", since=since, timeout=15)
        checks.that(f"{way.name} a changed list is announced", True)
    except peers.Lost as problem:
        checks.that(f"{way.name} a changed list is announced", False, str(problem))
    uri = way.uri(f"demo://resource/session/{name}")

    def listed():
        return any(one["uri"] == uri for one in client.peer.list("resources/list", "resources"))

    checks.that(f"{way.name} the new resource is listed", places.until(listed, 10, 0.1), f"{uri} is not")
    reply = client.peer.ask("resources/read", {"uri": uri})
    checks.that(f"{way.name} the new resource can be read", "blob" in json.dumps(reply), report.shown(reply))
    if listening:
        client.peer.cancel(listening)


def at_once(checks, way, client):
    """Sixty-four calls in flight: each gets its own answer."""
    running = [(f"number {index}", client.peer.start("tools/call", {
        "name": way.tool("echo"), "arguments": {"message": f"number {index}"}})) for index in range(64)]
    wrong = []
    for word, pending in running:
        said = places.text(pending.wait().get("result", {}))
        if said != f"Echo: {word}":
            wrong.append((word, said))
    checks.that(f"{way.name} 64 calls at once", not wrong, report.shown(wrong))


def check_way(checks, way, stranger=None):
    client = Client(way.connect)
    opened = client.peer.open()
    assert "result" in opened, report.shown(opened)
    if way.prefix:
        places.settled(client.peer, [SERVER])
    way.learn(client)
    cases = [sampling, elicitation, progress, progress_at_once, cancellation, changed_lists, at_once]
    if not way.modern:
        # In 2026-07-28 there is no log level outside a request, no roots outside a call, and tasks are an extension.
        cases += [roots, logging, task]
    for case in cases:
        checks.case(f"{way.name} {case.__name__}", case, checks, way, client)
    checks.case(f"{way.name} subscriptions", subscriptions, checks, way, client, stranger)
    checks.that(f"{way.name} nothing unexpected is said", not client.peer.odd, lambda: report.shown(client.peer.odd))
    client.peer.close()


def main():
    given = places.arguments(__doc__, direct=True)
    checks, place = report.Checks(given.word), places.Place(given)
    server = place.real(SERVER)
    try:
        if given.direct:
            way = Way("direct", lambda answers: place.direct(server, answers=answers), "", False)
            checks.group(way.name, check_way, checks, way)
            port = places.free_port()
            argv = [server["command"], *server["args"], "streamableHttp"]
            listening = places.Listening(argv, port, env=place.environment({"PORT": str(port)}))
            way = Way("direct http", lambda answers: peers.Http(listening.url, answers=answers), "", False)
            checks.group(way.name, check_way, checks, way)
        else:
            config = place.configuration({SERVER: server})
            check_docent(checks, place, config)
    finally:
        place.end()
    checks.end()


def check_docent(checks, place, config):
    prefix = f"{SERVER}__"
    for revision in ("2025-11-25", MODERN):
        way = Way(f"stdio {revision}", lambda answers, revision=revision: place.stdio(
            config, answers=answers, revision=revision), prefix, revision == MODERN)
        checks.group(way.name, check_way, checks, way)
    for revision in ("2025-11-25", MODERN):
        name = f"http {revision}"

        def over_http(name=name, revision=revision):
            docent = places.docent_http(place, config)
            way = Way(name, lambda answers: peers.Http(docent.url, answers=answers, revision=revision),
                      prefix, revision == MODERN)
            stranger = Client(lambda answers: peers.Http(docent.url, answers=answers, revision="2025-11-25"))
            stranger.peer.open()
            check_way(checks, way, stranger)
            stranger.peer.close()
            checks.that(f"{name} docent ends on request", docent.end() == 0, "exit code 0 expected")

        checks.group(name, over_http)


if __name__ == "__main__":
    main()
