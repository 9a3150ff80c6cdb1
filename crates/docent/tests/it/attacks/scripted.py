"""An MCP server on stdio that offers what it is told to, and writes down all that it gets.

    scripted.py FOLDER

FOLDER/tools.json is what it offers. `environment.json` and `heard.jsonl` beside it are what it was given at its start and
each message since then. `hold` says that it has begun, and is answered when `release` is called; any other tool at once.
"""

import json
import os
import sys

FOLDER = sys.argv[1]
held = []


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def said(request_id, text):
    send({"id": request_id, "result": {"content": [{"type": "text", "text": text}]}})


def call(request_id, params):
    if params["name"] == "hold":
        held.append(request_id)
        token = params["_meta"]["progressToken"]
        send({"method": "notifications/progress", "params": {"progressToken": token, "progress": 1}})
        return
    if params["name"] == "release":
        while held:
            said(held.pop(), "held and answered")
    said(request_id, "done")


def handle(request_id, method, params):
    if method == "tools/call":
        call(request_id, params)
    elif method == "tools/list":
        with open(os.path.join(FOLDER, "tools.json"), encoding="utf-8") as file:
            send({"id": request_id, "result": {"tools": json.load(file)}})
    elif method == "initialize":
        about = {"name": "scripted", "version": "1"}
        able = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}
        send({"id": request_id, "result": able})
    elif request_id is not None:
        send({"id": request_id, "result": {}})


with open(os.path.join(FOLDER, "environment.json"), "w", encoding="utf-8") as file:
    json.dump(dict(os.environ), file)
with open(os.path.join(FOLDER, "heard.jsonl"), "a", encoding="utf-8") as heard:
    for line in sys.stdin:
        heard.write(line)
        heard.flush()
        message = json.loads(line)
        handle(message.get("id"), message.get("method"), message.get("params") or {})
