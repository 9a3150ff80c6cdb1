"""The cases that every client must pass, with any version of the Python client.

A program passes `run` a function that connects and returns a peer: an object with the methods that the cases use.
Every case prints `ok NAME` or `FAIL NAME: why`; the exit code is 1 when one failed.
"""

import argparse
import json
import os
import sys
import traceback

import anyio

CASE_SECONDS = 60


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transport", required=True, choices=["stdio", "http", "sse", "websocket"])
    parser.add_argument("--era", default="legacy", choices=["legacy", "modern"])
    parser.add_argument("--address", required=True, help="a URL, or for stdio the server's command as a JSON array")
    parser.add_argument("--expect", required=True, help="a JSON file: what the server has, and what it must answer")
    parser.add_argument("--project", default=".", help="the folder that the server works on")
    given = parser.parse_args()
    with open(given.expect, encoding="utf-8") as file:
        given.expect = json.load(file)
    if given.transport == "stdio":
        given.address = json.loads(given.address)
    return given


async def introduces_itself(peer, given):
    wanted = given.expect["server"]
    assert peer.server_name() == wanted, f"the server calls itself {peer.server_name()!r}, not {wanted!r}"
    is_modern = peer.protocol_version() >= "2026-07-28"
    assert is_modern == (given.era == "modern"), f"{given.era} connection at {peer.protocol_version()}"


async def lists_tools(peer, given):
    names = await peer.tools()
    missing = set(given.expect["tools"]) - set(names)
    assert not missing, f"{sorted(missing)} not among {names}"


async def calls_tools(peer, given):
    for call in given.expect["calls"]:
        text, is_error = await peer.call(call["name"], call["arguments"])
        # An index that is not built yet says so, with advice.
        for _ in range(50):
            if "Ask again in a moment" not in text:
                break
            text, is_error = await peer.call(call["name"], call["arguments"])
        assert is_error == call.get("is_error", False), f"{call['name']}: is_error is {is_error}: {text[:300]}"
        assert call["text"] in text, f"{call['name']}: {call['text']!r} is not in {text[:300]!r}"


async def reads_resources(peer, given):
    wanted = given.expect["resource"]
    uris = await peer.resources()
    assert wanted["uri"] in uris, f"{wanted['uri']} not among {uris}"
    text = await peer.read(wanted["uri"])
    assert wanted["text"] in text, f"{wanted['text']!r} is not in {text[:300]!r}"


async def hears_of_updates(peer, given):
    wanted = given.expect["subscribe"]
    async with peer.watch(wanted["uri"]) as next_update:
        if "append" in wanted:
            path = os.path.join(given.project, wanted["append"]["file"])
            with open(path, "a", encoding="utf-8") as file:
                file.write(wanted["append"]["text"])
        if "call" in wanted:
            await peer.call(wanted["call"]["name"], wanted["call"]["arguments"])
        uri = await next_update()
        assert uri == wanted["uri"], f"an update of {uri}"
    if "text" in wanted:
        text = await peer.read(wanted["uri"])
        assert wanted["text"] in text, f"{wanted['text']!r} is not in {text[:300]!r}"


async def gets_a_prompt(peer, given):
    wanted = given.expect["prompt"]
    names = await peer.prompts()
    assert wanted["name"] in names, f"{wanted['name']} not among {names}"
    text = await peer.prompt(wanted["name"], wanted["arguments"])
    assert wanted["text"] in text, f"{wanted['text']!r} is not in {text[:300]!r}"


async def completes_an_argument(peer, given):
    wanted = given.expect["completion"]
    values = await peer.complete(wanted["prompt"], wanted["argument"], wanted["value"])
    assert wanted["has"] in values, f"{wanted['has']!r} is not among {values}"


async def sees_progress(peer, given):
    wanted = given.expect["progress"]
    steps = []

    async def on_progress(progress, total, message):
        steps.append(progress)

    await peer.call(wanted["name"], wanted["arguments"], on_progress)
    assert len(steps) >= 2, f"{len(steps)} progress notifications"
    assert steps == sorted(set(steps)), f"progress did not rise: {steps}"


async def cancels_a_call(peer, given):
    wanted = given.expect["cancel"]
    await peer.cancel_at_first_progress(wanted["name"], wanted["arguments"])
    after = wanted["afterwards"]
    text, is_error = await peer.call(after["name"], after["arguments"])
    assert not is_error and after["text"] in text, f"{after['name']} afterwards: {text[:300]!r}"


# Order matters: later cases may rely on files that earlier calls made the server read.
CASES = {
    "server": introduces_itself, "tools": lists_tools, "calls": calls_tools, "resource": reads_resources,
    "subscribe": hears_of_updates, "prompt": gets_a_prompt, "completion": completes_an_argument,
    "progress": sees_progress, "cancel": cancels_a_call,
}


def reason(error):
    """The message of an error, or of the first one inside a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}".replace("\n", " ")


async def run_cases(connect, given):
    failed = 0
    async with connect(given) as peer:
        for key, case in CASES.items():
            if key not in given.expect:
                continue
            try:
                with anyio.fail_after(CASE_SECONDS):
                    await case(peer, given)
                print(f"ok {case.__name__}", flush=True)
            except Exception as error:  # a case may fail in any way
                failed += 1
                print(f"FAIL {case.__name__}: {reason(error)}", flush=True)
                traceback.print_exc()
    return failed


def run(connect):
    given = arguments()
    try:
        failed = anyio.run(run_cases, connect, given)
        print("ok connects_and_closes", flush=True)
    except Exception as error:  # a failed connection is reported like a failed case
        failed = 1
        print(f"FAIL connects_and_closes: {reason(error)}", flush=True)
        traceback.print_exc()
    sys.exit(1 if failed else 0)
