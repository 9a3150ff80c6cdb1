"""Every tool, resource, prompt and completion of the real servers, asked directly and through docent: the answers are equal.

What is asked is in arguments.json; a tool that a server lists and the table does not name is a failure. What can't be equal
(times, ids, the environment) is made equal by the named rules below, on both sides.
"""

import base64
import binascii
import json
import os
import re
import shutil
import subprocess

import place as places
import report
from peers import Refused

DOT = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
TASK_SECONDS = 60


# --- rules for values that differ each time --------------------------------------------------------------------------

TIMES = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?"
    r"|\w{3} \w{3} \d\d \d{4} \d\d:\d\d:\d\d GMT[+-]\d{4}(?: \([^)]*\))?"
    r"|\d{1,2}:\d\d:\d\d(?:[\s\u202f][AP]M)?")
IDS = re.compile(r"\b(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32})\b")


def strings(value, change):
    """The value with every string in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [strings(one, change) for one in value]
    if isinstance(value, dict):
        return {key: strings(one, change) for key, one in value.items()}
    return value


def times(value):
    return strings(value, lambda text: TIMES.sub("<time>", text))


def ids(value):
    return strings(value, lambda text: IDS.sub("<id>", text))


def blobs(value):
    """Decodes blobs that contain text, for the other rules."""
    def decoded(one):
        if isinstance(one, dict):
            one = {key: decoded(inner) for key, inner in one.items()}
            if isinstance(one.get("blob"), str):
                try:
                    one["blob"] = "decoded: " + base64.b64decode(one["blob"], validate=True).decode()
                except (binascii.Error, UnicodeDecodeError):
                    pass
            return one
        return [decoded(inner) for inner in one] if isinstance(one, list) else one
    return decoded(value)


def environment(value):
    """Keeps only configured environment variables, and whether the environment contains a foreign secret."""
    def reduced(text):
        try:
            found = json.loads(text)
        except ValueError:
            return text
        return {"HUB_TEST": found.get("HUB_TEST"), "PATH": "PATH" in found} if isinstance(found, dict) else text
    return strings(value, reduced)


RULES = {"times": times, "ids": ids, "blobs": blobs, "environment": environment}


def ruled(value, rules):
    for rule in rules:
        value = RULES[rule](value)
    return value


# --- what docent may add ---------------------------------------------------------------------------------------------

def plain(reply):
    """Removes default values from a reply: `isError` is false by default."""
    result = reply.get("result")
    if isinstance(result, dict) and result.get("isError") is False:
        return {**reply, "result": {key: one for key, one in result.items() if key != "isError"}}
    return reply


def defined(tool):
    """Removes default values from a definition: tasks are forbidden by default."""
    return {key: one for key, one in tool.items() if (key, one) != ("execution", {"taskSupport": "forbidden"})}


def without_provenance(value):
    """Removes docent's own keys from `_meta`."""
    if isinstance(value, list):
        return [without_provenance(one) for one in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for key, one in value.items():
        if key == "_meta" and isinstance(one, dict):
            one = {name: inner for name, inner in one.items() if not name.startswith("docent/")}
            if not one:
                continue
        found[key] = without_provenance(one)
    return found


class Names:
    """docent's names and URIs for a server's items."""

    def __init__(self, server):
        self.server, self.prefixes = server, set()

    def tool(self, name):
        return f"{self.server}__{name}"

    def learn(self, published, own):
        """A URI that docent publishes ends with the server's own; the rest is the prefix."""
        if published.endswith(own) and published != own:
            self.prefixes.add(published[:-len(own)])

    def address(self, own):
        """docent's URI for one of the server's."""
        return (next(iter(self.prefixes)) if self.prefixes else "") + own

    def back(self, value):
        """Replaces docent's names and URIs with the server's."""
        def change(text):
            for prefix in self.prefixes:
                text = text.replace(prefix, "")
            return text
        value = strings(value, change)
        if isinstance(value, dict) and isinstance(value.get("name"), str):
            value = {**value, "name": value["name"].removeprefix(f"{self.server}__")}
        return value


def error_difference(direct, through, server):
    """How docent's error differs from the server's beyond naming the server; None when it does not."""
    expected, seen = direct["error"], through.get("error")
    if not isinstance(seen, dict):
        return f"expected the error {report.shown(expected)}, saw {report.shown(through)}"
    if seen.get("code") != expected["code"]:
        return f"the code is {seen.get('code')}, and should be {expected['code']}: {report.shown(seen)}"
    if expected["message"] not in seen.get("message", ""):
        return f"the message is {seen.get('message')!r}, and should hold {expected['message']!r}"
    data, wanted = seen.get("data"), expected.get("data")
    if isinstance(data, dict) and (wanted is None or isinstance(wanted, dict)):
        data = {key: one for key, one in data.items() if one != server or key in (wanted or {})}
    if (data or None) != (wanted or None):
        return f"the data is {report.shown(seen.get('data'))}, and should be {report.shown(wanted)}"
    if server not in json.dumps(seen):
        return f"the error does not name the server {server}: {report.shown(seen)}"
    return None


# --- one side: directly, or through docent ---------------------------------------------------------------------------

def answers(place):
    """The client's answers to questions; the same on both sides."""
    return {
        "roots/list": lambda _: {"roots": [{"uri": f"file://{place.path('files')}", "name": "files"}]},
        "sampling/createMessage": lambda params: {
            "role": "assistant", "model": "scripted", "stopReason": "endTurn",
            "content": {"type": "text", "text": "heard: " + json.dumps(params["messages"], sort_keys=True)}},
        "elicitation/create": elicit,
    }


def elicit(params):
    if params.get("mode") == "url":
        return {"action": "accept"}
    properties = params["requestedSchema"]["properties"]
    if "name" not in properties:
        raise Refused(-32602, f"unexpected fields {sorted(properties)}")
    return {"action": "accept", "content": {"name": "Ada", "check": True, "integer": 42}}


def reset(place):
    """Creates the same files for each side."""
    for name in ("files", "memory", "repository"):
        shutil.rmtree(place.path(name), ignore_errors=True)
        place.make(name)
    with open(place.path("files", "dot.png"), "wb") as file:
        file.write(DOT)
    for name in ("a.txt", "b.txt"):
        with open(place.path("files", name), "w", encoding="utf-8") as file:
            file.write(f"{name}\n" * 3)
    repository = place.path("repository")
    environment_of_git = place.environment({
        "GIT_AUTHOR_DATE": "2026-01-01T00:00:00+00:00", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00+00:00"})

    def git(*words):
        subprocess.run(["git", "-C", repository, *words], check=True, capture_output=True, env=environment_of_git)

    git("init", "--initial-branch", "main")
    git("config", "user.name", "Ada")
    git("config", "user.email", "ada@localhost")
    with open(os.path.join(repository, "a.txt"), "w", encoding="utf-8") as file:
        file.write("a first line\n")
    git("add", "a.txt")
    git("commit", "-m", "A first line")
    with open(os.path.join(repository, "a.txt"), "a", encoding="utf-8") as file:
        file.write("a second line\n")


def filled(value, place):
    """Fills in the table's placeholders."""
    return strings(value, lambda text: text.replace("{files}", place.path("files")).replace(
        "{repository}", place.path("repository")))


def call(peer, name, entry, place):
    """The reply to one entry of the table; a task is followed to its result."""
    params = {"name": name, "arguments": filled(entry["arguments"], place)}
    if not entry.get("task"):
        return peer.ask("tools/call", params)
    reply = peer.ask("tools/call", {**params, "task": {"ttl": 60000}})
    if "task" not in reply.get("result", {}):
        return reply
    task = reply["result"]["task"]["taskId"]
    # The server specifies how often to ask, which is every second.
    seen = set()

    def done():
        status = peer.result("tasks/get", {"taskId": task})["status"]
        seen.add(status)
        return status in ("completed", "failed", "cancelled")

    places.until(done, TASK_SECONDS, pause=0.2)
    return {"result": {"created": reply["result"], "last": done() and sorted(seen - {"working"}),
                       "result": peer.result("tasks/result", {"taskId": task})}}


def everything_of(peer, table, place, tool, address):
    """All replies of a side, by request."""
    said = {}
    for index, entry in enumerate(table["calls"]):
        said["call", index] = call(peer, tool(entry["tool"]), entry, place)
    for index, entry in enumerate(table.get("reads", [])):
        said["read", index] = peer.ask("resources/read", {"uri": address(entry["uri"])})
    for index, entry in enumerate(table.get("prompts", [])):
        said["prompt", index] = peer.ask(
            "prompts/get", {"name": tool(entry["name"]), "arguments": entry.get("arguments", {})})
    for index, entry in enumerate(table.get("completions", [])):
        reference = {"type": "ref/prompt", "name": tool(entry["prompt"])} if "prompt" in entry else {
            "type": "ref/resource", "uri": address(entry["template"])}
        params = {"ref": reference, "argument": entry["argument"]}
        if "context" in entry:
            params["context"] = entry["context"]
        said["completion", index] = peer.ask("completion/complete", params)
    return said


LISTS = [("resources/list", "resources", "uri"), ("resources/templates/list", "resourceTemplates", "uriTemplate"),
         ("prompts/list", "prompts", None)]


def lists_of(peer):
    """The lists of a side; None if it has no such list."""
    found = {}
    for method, key, _ in LISTS:
        reply = peer.ask(method)
        found[key] = peer.list(method, key) if "result" in reply else None
    return found


# --- the comparison --------------------------------------------------------------------------------------------------

def compare_tools(checks, server, table, direct, through):
    known = {entry["tool"] for entry in table["calls"]} | set(table.get("conditional", []))
    unknown = sorted(set(direct) - known)
    checks.that(f"{server} every tool is in the table", not unknown, f"arguments.json has no call of {unknown}")
    prefix = f"{server}__"
    listed = {name.removeprefix(prefix): tool for name, tool in through.items() if name.startswith(prefix)}
    conditional = set(table.get("conditional", []))
    wanted = set(direct) - conditional
    checks.that(f"{server} the same tools are listed", set(listed) - conditional == wanted,
                f"missing {sorted(wanted - set(listed))}, too many {sorted(set(listed) - conditional - wanted)}")
    for name in sorted(wanted & set(listed)):
        seen = {**without_provenance(listed[name]), "name": name}
        checks.equal(f"{server} definition of {name}", defined(seen), defined(direct[name]))


def compare_lists(checks, server, names, direct, through):
    """Also finds out how docent changes URIs, which all later steps need."""
    for method, key, address in LISTS:
        own, all_listed = direct[key], through[key] or []
        if not own:
            continue
        seen = []
        for one in own:
            fits = [other for other in all_listed if address is None or other[address].endswith(one[address])]
            fits = [other for other in fits if other["name"] in (one["name"], names.tool(one["name"]))]
            if address and fits:
                names.learn(fits[0][address], one[address])
            seen.append(names.back(without_provenance(fits[0])) if fits else None)
        for one, other in zip(own, seen):
            name = f"{server} {method} {one['name']}"
            if other is None:
                checks.that(name, False, f"not listed; there are {[o['name'] for o in all_listed][:20]}")
            else:
                checks.equal(name, other, one)
    checks.that(f"{server} one prefix for addresses", len(names.prefixes) <= 1, f"prefixes {sorted(names.prefixes)}")


def compare_answers(checks, server, table, names, direct, through):
    kinds = {"call": "calls", "read": "reads", "prompt": "prompts", "completion": "completions"}
    for (kind, index), reply in direct.items():
        entry = table[kinds[kind]][index]
        what = entry.get("tool") or entry.get("uri") or entry.get("name") or entry.get("prompt") or entry["template"]
        name = f"{server} {kind} {index + 1} {what}"
        seen = through.get((kind, index))
        if seen is None:
            checks.that(name, False, "not asked")
            continue
        rules = entry.get("rules", [])
        reply, seen = ruled(plain(reply), rules), ruled(names.back(without_provenance(plain(seen))), rules)
        if "error" in reply:
            found = error_difference(reply, seen, server)
            checks.that(name, found is None, found or "")
        elif "error" in seen:
            wanted = report.shown(reply["result"])
            checks.that(name, False, f"expected {wanted}, saw the error {report.shown(seen['error'])}")
        else:
            checks.equal(name, seen["result"], reply["result"])


def check_server(checks, place, server, table):
    spec = place.real(server)
    reset(place)
    direct = place.direct(spec, answers=answers(place))
    direct.open()
    tools, lists = direct.tools(), lists_of(direct)
    said = everything_of(direct, table, place, lambda name: name, lambda own: own)
    direct.close()

    reset(place)
    names = Names(server)
    through = place.stdio(place.configuration({server: spec}), answers=answers(place))
    through.open()
    compare_tools(checks, server, table, tools, places.settled(through, [server]))
    compare_lists(checks, server, names, lists, lists_of(through))
    seen = everything_of(through, table, place, names.tool, names.address)
    compare_answers(checks, server, table, names, said, seen)
    checks.that(f"{server} nothing but answers on stdout", not through.odd, lambda: report.shown(through.odd))
    checks.that(f"{server} docent ends with its client", through.close() == 0, "exit code 0 expected")


def check_secrets(checks, place):
    """The environment of docent is not the environment of its servers."""
    through = place.stdio(place.configuration({"everything": place.real("everything")}), answers=answers(place))
    through.open()
    places.settled(through, ["everything"])
    reply = through.result("tools/call", {"name": "everything__get-env", "arguments": {}})
    found = json.loads(places.text(reply))
    checks.that("the environment is scrubbed", "STRANGERS_CANARY" not in found, f"passed on: {sorted(found)}")
    checks.equal("the environment of the configuration is set", found.get("HUB_TEST"), "set by the configuration")
    through.close()


def main():
    given = places.arguments(__doc__)
    checks, place = report.Checks(given.word), places.Place(given)
    with open(os.path.join(places.HERE, "arguments.json"), encoding="utf-8") as file:
        tables = json.load(file)
    try:
        for server in places.REAL:
            checks.case(server, check_server, checks, place, server, tables[server])
        checks.case("environment", check_secrets, checks, place)
    finally:
        place.end()
    checks.end()


if __name__ == "__main__":
    main()
