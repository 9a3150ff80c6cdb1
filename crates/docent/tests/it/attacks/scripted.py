"""An MCP server on stdio that offers what its script says, and writes down all that it gets.

    scripted.py FOLDER

FOLDER/tools.json is what it offers. `environment.json` and `heard.jsonl` beside it are what it was given at its start and
each message since then. `hold` says that it has begun, and is answered when `release` is called. `who` says the number of
this process, and `leave` that of another one, which it leaves behind. Any other tool is answered at once.
"""

import json
import os
import signal
import sys
import time

FOLDER = sys.argv[1]
held = []


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def said(request_id, text):
    send({"id": request_id, "result": {"content": [{"type": "text", "text": text}]}})


def leave():
    """Starts a process that has no parent and no terminal, and that no signal but SIGKILL ends."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        stray = os.fork()
        if stray:
            os.write(writes, str(stray).encode())
            os._exit(0)
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        os.closerange(3, 100)
        while True:
            time.sleep(1000)
    os.waitpid(child, 0)
    return os.read(reads, 20).decode()


def call(request_id, params):
    if params["name"] == "who":
        return said(request_id, str(os.getpid()))
    if params["name"] == "leave":
        return said(request_id, leave())
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
        # As it is: what is listed need not be valid JSON.
        with open(os.path.join(FOLDER, "tools.json"), "rb") as file:
            tools = file.read()
        start = json.dumps({"jsonrpc": "2.0", "id": request_id})[:-1].encode()
        sys.stdout.buffer.write(start + b', "result": {"tools": ' + tools + b"}}\n")
        sys.stdout.buffer.flush()
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
