"""The server of seed 001: it answers as `script.json` in its folder describes, and writes down every message it receives.

    server.py FOLDER           over its pipes, one message per line
    server.py FOLDER --http    over HTTP, on a port that it prints

`script.json` is read again for each message. It has the result of each method under `results`, and under `tools` the steps
of each tool: messages to send with the id of the call, or one of

    {"raw": TEXT}       write this to stdout, with the id of the call for <id>
    {"log": TEXT}       write this line to stderr
    {"hold": MESSAGE}   keep this message until another call releases it
    {"release": true}   send what is held
    {"exit": CODE}      end
"""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FOLDER = sys.argv[1]
held = []


def script():
    with open(os.path.join(FOLDER, "script.json"), encoding="utf-8") as file:
        return json.load(file)


def note(name, line):
    with open(os.path.join(FOLDER, name), "a", encoding="utf-8") as file:
        file.write(line.rstrip("\n") + "\n")


def steps(message):
    """The messages that answer this one, after whatever else is to be done."""
    method, params = message.get("method"), message.get("params") or {}
    if method != "tools/call":
        if "id" in message:
            result = script()["results"].get(method, {})
            yield {"jsonrpc": "2.0", "id": message["id"], "result": result}
        return
    name = params["name"]
    unknown = {"error": {"code": -32601, "message": "Method not found", "data": {"method": name}}}
    for step in script()["tools"].get(name, [unknown]):
        if "raw" in step:
            sys.stdout.write(step["raw"].replace("<id>", json.dumps(message["id"])))
            sys.stdout.flush()
        elif "log" in step:
            print(step["log"], file=sys.stderr, flush=True)
        elif "hold" in step:
            held.append({**step["hold"], "id": message["id"]})
        elif "release" in step:
            yield from held
            held.clear()
        elif "exit" in step:
            os._exit(step["exit"])
        elif "method" in step or step.get("id") == "unknown":
            yield step
        else:
            yield {**step, "id": message["id"]}


def serve_pipes():
    for line in sys.stdin:
        note("heard.jsonl", line)
        for answer in steps(json.loads(line)):
            print(json.dumps(answer), flush=True)
    note("heard.jsonl", json.dumps("end of input"))


class Post(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        note("posts.jsonl", json.dumps({"path": self.path, "headers": headers, "body": body}))
        key = script().get("key")
        if key and headers.get("authorization") != f"Bearer {key}":
            return self.answer(401, {"error": "Unauthorized"})
        answers = list(steps(body))
        self.answer(200 if answers else 202, answers[-1] if answers else None)

    def do_GET(self):
        self.answer(404 if "well-known" in self.path else 405, None)

    def do_DELETE(self):
        self.answer(405, None)

    def answer(self, status, value):
        text = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


if "--http" in sys.argv:
    listener = ThreadingHTTPServer(("127.0.0.1", 0), Post)
    print(listener.server_port, flush=True)
    listener.serve_forever()
else:
    serve_pipes()
