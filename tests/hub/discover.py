"""The exposure `discover`, and code mode: five real servers behind four tools.

What a model would do: look for a capability, read how it is used, call it, and write a program that calls several.
"""

import json
import re

import place as places
import report
from fidelity import answers, reset

FOUR = {"list_mcp_capabilities", "describe_mcp", "call_mcp_tool", "execute_mcp_code"}
TIMES = 12


def said(reply):
    """The text of a reply, error or result."""
    if "error" in reply:
        return json.dumps(reply["error"], ensure_ascii=False)
    result = reply["result"]
    return places.text(result) + "\n" + json.dumps(result.get("structuredContent"), ensure_ascii=False)


def failed(reply):
    return "error" in reply or reply["result"].get("isError") is True


def exposure(checks, place, servers):
    """The lists in each of the exposures."""
    bare = place.stdio(place.configuration({}))
    bare.open()
    own = set(bare.tools())
    bare.close()
    sizes = {}
    for name, wanted in (("discover", own | FOUR), ("direct", None)):
        peer = place.stdio(place.configuration(servers, name), answers=answers(place))
        peer.open()
        tools = places.settled(peer, servers if wanted is None else [])
        sizes[name] = sum(len(json.dumps(tool)) for key, tool in tools.items() if key not in own)
        if wanted is not None:
            checks.that("discover lists docent's tools and the four", set(tools) == wanted,
                        f"missing {sorted(wanted - set(tools))}, too many {sorted(set(tools) - wanted)}")
        else:
            checks.that("direct lists the tools of every server", all(
                any(key.startswith(f"{server}__") for key in tools) for server in servers), sorted(tools))
            checks.that("direct does not list the four", not FOUR & set(tools), sorted(FOUR & set(tools)))
        peer.close()
    share = 100 * sizes["discover"] / max(sizes["direct"], 1)
    checks.that("discover costs at most 5 % of direct", share <= 5, f"{share:.1f} %: {sizes}")


def capabilities(checks, peer):
    for query, server, tool in (("what time is it in another timezone", "time", "get_current_time"),
                                ("commit staged changes to a repository", "git", "git_commit"),
                                ("remember facts about entities and relations", "memory", "create_entities"),
                                ("edit a text file", "filesystem", "edit_file")):
        reply = peer.call("list_mcp_capabilities", {"query": query})
        text = said(reply)
        checks.that(f"'{query}' finds {server}", not failed(reply) and server in text and tool in text, text[:600])
        firsts = [(text.find(name), name) for name in ("get_current_time", "git_commit", "create_entities", "edit_file")]
        first = min((at, name) for at, name in firsts if at >= 0)[1] if any(at >= 0 for at, _ in firsts) else None
        checks.equal(f"'{query}' has {tool} before the others", first, tool)
    reply = peer.call("list_mcp_capabilities", {"query": ""})
    names = [name for name in places.REAL if name not in said(reply)]
    checks.that("without a query every server is named", not names, f"missing {names} in {said(reply)[:400]}")


def descriptions(checks, peer):
    text = said(peer.call("describe_mcp", {"id": "time"}))
    missing = [word for word in ("get_current_time", "convert_time", "source_timezone") if word not in text]
    checks.that("a server is described with its schemas", not missing, f"missing {missing} in {text[:400]}")
    text = said(peer.call("describe_mcp", {"id": "everything", "tools": ["echo"]}))
    checks.that("single tools are described", "Message to echo" in text and "Choose city" not in text, text[:400])
    reply = peer.call("describe_mcp", {"id": "tme"})
    checks.that("an unknown server is reported with the nearest name", failed(reply) and "time" in said(reply), said(reply))


def calls(checks, place, peer):
    reply = peer.call("call_mcp_tool", {"server": "everything", "tool": "get-structured-content",
                                        "arguments": {"location": "Chicago"}})
    direct = place.direct(place.real("everything"), answers=answers(place))
    direct.open()
    wanted = direct.call("get-structured-content", {"location": "Chicago"})["result"]
    direct.close()
    result = reply.get("result", {})
    checks.equal("a call gives what the server gives", {key: result.get(key) for key in wanted}, wanted)
    reply = peer.call("call_mcp_tool", {"server": "everything", "tool": "get-tiny-image", "arguments": {}})
    kinds = [item["type"] for item in reply.get("result", {}).get("content", [])]
    checks.that("an image comes through", "image" in kinds, kinds)
    for arguments, word in (
            ({"server": "everything", "tool": "get-sum", "arguments": {"a": "x", "b": 1}}, "a"),
            ({"server": "everything", "tool": "get-som", "arguments": {}}, "get-sum"),
            ({"server": "evrything", "tool": "echo", "arguments": {}}, "everything")):
        reply = peer.call("call_mcp_tool", arguments)
        checks.that(f"{arguments['server']} {arguments['tool']} is refused",
                    failed(reply) and word in said(reply), said(reply))
    reply = peer.call("call_mcp_tool", {"server": "everything", "tool": "trigger-elicitation-request", "arguments": {}})
    checks.that("a question of the server reaches the person", "- Name: Ada" in said(reply), said(reply))
    peer.call("call_mcp_tool", {"server": "everything", "tool": "trigger-long-running-operation",
                                "arguments": {"duration": 0.2, "steps": 2}}, token="called")
    seen = [one["params"]["progress"] for one in peer.notes if one["method"] == "notifications/progress"
            and one["params"]["progressToken"] == "called"]
    checks.equal("progress comes through", seen, [1, 2])


def code(peer, text, ids=("everything",), limits=None, timeout=60):
    arguments = {"code": text, "allowedMcpIds": list(ids)}
    if limits:
        arguments["limits"] = limits
    return peer.call("execute_mcp_code", arguments, timeout)


def programs(checks, place, peer):
    call = 'import { $call } from "mcp-clients/everything";\n'
    reply = code(peer, call + 'console.log("hello from inside");\n'
                 'const sum: any = await $call("get-sum", { a: 40, b: 2 });\nreturn JSON.stringify(sum);')
    checks.that("TypeScript calls a tool and returns", not failed(reply) and "42" in said(reply), said(reply))
    checks.that("what is written to the console is shown", "hello from inside" in said(reply), said(reply))
    reply = code(peer, call + f"const many = await Promise.all(Array.from({{ length: {TIMES} }}, (_, i) =>\n"
                 '  $call("echo", { message: `number ${i}` })));\nreturn many.map((one) => JSON.stringify(one)).join();')
    missing = [i for i in range(TIMES) if f"number {i}" not in said(reply)]
    checks.that("many calls at once", not failed(reply) and not missing, f"missing {missing}: {said(reply)}")
    parallel(checks, peer, call)
    reply = code(peer, call + "const a = 1;\nfunction f(): number {\n  throw new Error('went wrong');\n}\nf();\nreturn a;")
    checks.that("a thrown error has its message and its line", failed(reply) and "went wrong" in said(reply)
                and re.search(r"(?::|line )4\b", said(reply)), f"line 4 expected in {said(reply)}")
    reply = code(peer, call + 'try { await $call("get-sum", { a: "x", b: 1 }); return "no error"; }\n'
                 'catch (e) { return "caught " + e; }')
    checks.that("a failed call can be caught", "caught" in said(reply) and "no error" not in said(reply), said(reply))
    several = 'import { $call as a } from "mcp-clients/everything";\nimport { $call as b } from "mcp-clients/time";\n' \
        'const one = await a("echo", { message: "first" });\n' \
        'const two = await b("convert_time",\n' \
        '  { source_timezone: "Etc/UTC", time: "12:30", target_timezone: "Asia/Kolkata" });\n' \
        'return JSON.stringify([one, two]);'
    reply = code(peer, several, ("everything", "time"))
    checks.that("a program uses two servers", "first" in said(reply) and "18:00" in said(reply), said(reply))
    reply = code(peer, several, ("everything",))
    checks.that("a server that is not allowed can't be used", failed(reply) and "time" in said(reply), said(reply))


def parallel(checks, peer, call):
    """Calls that are awaited together run concurrently: the server sees them at the same time."""
    one = '$call("trigger-long-running-operation", { duration: 1, steps: 1 })'
    reply = code(peer, call + f"const start = Date.now();\nawait Promise.all([{', '.join([one] * 5)}]);\n"
                 'return "took " + (Date.now() - start) + " ms";')
    took = re.search(r"took (\d+) ms", said(reply))
    # Sequentially they need five seconds.
    checks.that("calls that are awaited together run together", took and int(took[1]) < 4000, said(reply))


def bounds(checks, peer):
    """Scripts have no host access, and limits on time and memory."""
    for name, text, limits in (
            ("an endless loop", "while (true) {}\nreturn 1;", {"timeMs": 1000}),
            ("endless memory", "const a = []; while (true) a.push(new Array(100000).fill(1));\nreturn 1;",
             {"timeMs": 5000})):
        reply = code(peer, text, limits=limits)
        checks.that(f"{name} is ended", failed(reply), said(reply))
    echo = 'import { $call } from "mcp-clients/everything";\n' \
        'for (let i = 0; i < 9; i++) await $call("echo", { message: `number ${i}` });\nreturn "all";'
    reply = code(peer, echo, limits={"calls": 2})
    checks.that("calls are bounded", failed(reply) and "no more than 2 calls" in said(reply)
                and "2 calls had been made" in said(reply), said(reply))
    reply = code(peer, 'return "x".repeat(5000);', limits={"outputBytes": 100})
    checks.that("output is truncated with a note", not failed(reply) and "(cut at 100 bytes)" in said(reply)
                and len(places.text(reply["result"])) < 200, said(reply))
    for arguments, word in (({"allowedMcpIDs": ["time"]}, "allowedMcpIds"), ({"limits": {"time": 5}}, "timeMs")):
        reply = peer.call("execute_mcp_code", {"code": "return 1;", **arguments})
        checks.that(f"a misspelled {next(iter(arguments))} is rejected", failed(reply) and word in said(reply),
                    said(reply))
    for name in ("process", "require", "fetch", "Deno", "os", "std"):
        reply = code(peer, f'return typeof globalThis["{name}"];')
        checks.that(f"a program has no {name}", "undefined" in said(reply), said(reply))
    reply = code(peer, 'import fs from "fs";\nreturn 1;')
    checks.that("a program imports nothing else", failed(reply) and "fs" in said(reply), said(reply))
    reply = code(peer, 'return "still " + "here";')
    checks.that("docent continues after all of them", "still here" in said(reply), said(reply))


def declarations(checks, peer):
    """The types of the clients are a resource."""
    listed = peer.list("resources/list", "resources")
    found = [one["uri"] for one in listed if ".d.ts" in one["uri"] or ".d.ts" in one["name"]]
    templates = [one["uriTemplate"] for one in peer.list("resources/templates/list", "resourceTemplates")]
    uris = [one["uri"] for one in listed]
    if not checks.that("the declarations are listed", found, f"no .d.ts among {uris}, {templates}"):
        return
    text = "\n".join(item.get("text", "") for uri in found
                     for item in peer.result("resources/read", {"uri": uri})["contents"])
    missing = [word for word in ("mcp-clients/everything", "mcp-clients/time", "$call", "timezone: string")
               if word not in text]
    checks.that("they declare the clients with their types", not missing, f"missing {missing} in {text[:500]}")


def check_all(checks, place):
    reset(place)
    servers = {name: place.real(name) for name in places.REAL}
    checks.case("exposure", exposure, checks, place, servers)
    peer = place.stdio(place.configuration(servers, "discover"), answers=answers(place))
    peer.open()
    checks.case("capabilities", capabilities, checks, peer)
    checks.case("descriptions", descriptions, checks, peer)
    checks.case("calls", calls, checks, place, peer)
    checks.case("programs", programs, checks, place, peer)
    checks.case("bounds", bounds, checks, peer)
    checks.case("declarations", declarations, checks, peer)
    checks.that("nothing odd is said", not peer.odd, lambda: report.shown(peer.odd))
    peer.close()


def main():
    given = places.arguments(__doc__)
    checks, place = report.Checks(given.word), places.Place(given)
    try:
        checks.group("discover", check_all, checks, place)
    finally:
        place.end()
    checks.end()


if __name__ == "__main__":
    main()
