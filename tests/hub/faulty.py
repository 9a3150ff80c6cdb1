"""A scripted server of 2025-11-25 on stdio that does what servers should not do.

    faulty.py STATE

Each tool takes `how`: what is to go wrong in this call. The folder STATE says how the process itself behaves (a file for
each: `die-at-start`, `ignore-term`, `grandchild`, `other-definition`, `more-tools`), and holds what it did: `pids`,
`calls`, `cancelled`.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time

STATE = sys.argv[1]
HOW = {"type": "object", "properties": {"how": {"type": "string"}, "text": {"type": "string"}}, "required": ["how"]}
HINTS = {"read": {"readOnlyHint": True}, "idem": {"readOnlyHint": False, "idempotentHint": True}, "write": {}}
FLOOD = 32 * 1024 * 1024
CREEP_STEPS = 10
CREEP_PAUSE = 0.5

lock = threading.Lock()
cancelled = {}


def flag(name):
    return os.path.exists(os.path.join(STATE, name))


def write_down(name, line):
    with lock, open(os.path.join(STATE, name), "a", encoding="utf-8") as file:
        file.write(line + "\n")


def first_time(name):
    """True once per name, across all processes."""
    try:
        os.close(os.open(os.path.join(STATE, name), os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False


def send(message):
    with lock:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def raw(data):
    with lock:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def tools():
    listed = []
    for name, hints in HINTS.items():
        about = f"Follows its instructions ({name})"
        if name == "write" and flag("other-definition"):
            about += " and sends a copy elsewhere"
        listed.append({"name": name, "description": about, "inputSchema": HOW, "annotations": hints})
    if flag("more-tools"):
        listed.append({"name": "later", "description": "Comes later", "inputSchema": HOW})
    return listed


def answer(request_id, text):
    send({"jsonrpc": "2.0", "id": request_id, "result": {"content": [{"type": "text", "text": text}]}})


def call(request_id, params):
    name, arguments = params["name"], params.get("arguments") or {}
    how, token = arguments.get("how"), (params.get("_meta") or {}).get("progressToken")
    write_down("calls", json.dumps({"tool": name, "how": how, "pid": os.getpid()}))
    reply = f"{name} {how} {arguments.get('text', '')} by {os.getpid()}"
    if how == "die" or (how == "die-once" and first_time(f"{name}-died")):
        os._exit(3)
    if how == "half":
        raw(json.dumps({"jsonrpc": "2.0", "id": request_id, "result": {"content": []}})[:-12].encode())
        print("faulty: out of paper", file=sys.stderr, flush=True)
        os._exit(3)
    if how == "internal-once" and first_time(f"{name}-internal"):
        send({"jsonrpc": "2.0", "id": request_id, "error": {"code": -32603, "message": "Internal error", "data": {"n": 1}}})
        return
    if how == "hang":
        stop = cancelled.setdefault(request_id, threading.Event())
        stop.wait(600)
        return
    if how == "flood":
        line = b"x" * 1023 + b"\n"
        for _ in range(FLOOD // len(line)):
            sys.stderr.buffer.write(line)
        sys.stderr.buffer.flush()
    if how == "garbage":
        raw(b"this is not JSON\n\x00\xff\xfe\x80 binary\n{\"jsonrpc\": \n[]\n42\nnull\n\"text\"\n{}\n")
        raw(b"y" * 1_000_000 + b"\n")
        raw(b'{"jsonrpc":"2.0","id":999999,"result":{}}\n{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}\n')
        raw(b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"unknown","progress":1}}\n')
    if how == "creep":
        for step in range(CREEP_STEPS):
            time.sleep(CREEP_PAUSE)
            if token is not None:
                send({"jsonrpc": "2.0", "method": "notifications/progress",
                      "params": {"progressToken": token, "progress": step + 1}})
    if how == "wait":
        # Answers out of order: the later of two calls first.
        time.sleep(0.001 * (hash(arguments.get("text", "")) % 20))
    if how == "announce":
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    answer(request_id, reply)


def handle(message):
    method, request_id, params = message.get("method"), message.get("id"), message.get("params") or {}
    if method == "notifications/cancelled":
        write_down("cancelled", json.dumps(params.get("requestId")))
        cancelled.setdefault(params.get("requestId"), threading.Event()).set()
    elif request_id is None:
        return
    elif method == "initialize":
        send({"jsonrpc": "2.0", "id": request_id, "result": {
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "faulty", "version": "1"}}})
    elif method == "tools/list":
        send({"jsonrpc": "2.0", "id": request_id, "result": {"tools": tools()}})
    elif method == "tools/call":
        threading.Thread(target=call, args=(request_id, params), daemon=True).start()
    elif method == "ping":
        # Pings are optional; a health check that needs them finds this server dead.
        return
    else:
        send({"jsonrpc": "2.0", "id": request_id, "error": {"code": -32601, "message": "Method not found"}})


def main():
    write_down("pids", str(os.getpid()))
    if flag("die-at-start"):
        print("faulty: no license found", file=sys.stderr)
        sys.exit(3)
    if flag("grandchild"):
        # It keeps this process's standard output open.
        child = subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL)
        write_down("pids", str(child.pid))
    if flag("ignore-term"):
        for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(one, signal.SIG_IGN)
    for line in sys.stdin:
        handle(json.loads(line))
    if flag("ignore-term"):
        threading.Event().wait(600)


if __name__ == "__main__":
    main()
