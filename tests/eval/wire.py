"""A stdio client of docent for the evaluations."""

import json
import subprocess
import sys
import tempfile

# Ignore the user's own configuration.
HOME = tempfile.TemporaryDirectory(prefix="docent-eval-")
ENVIRONMENT = {"HOME": HOME.name, "NO_COLOR": "1"}


class Server:
    """docent over stdio, after the handshake."""

    def __init__(self, docent, root):
        command = [docent, "serve", "--root", root, "--rate-limit", "0"]
        pipe = subprocess.PIPE
        self.child = subprocess.Popen(
            command, cwd=root, env=ENVIRONMENT, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )
        self.last = 0

    def __enter__(self):
        client = {"name": "docent-eval", "version": "1.0.0"}
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        self.send({"method": "notifications/initialized"})
        return self

    def __exit__(self, *_):
        self.child.stdin.close()
        self.child.terminate()
        self.child.wait()

    def send(self, message):
        self.child.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.child.stdin.flush()

    def ask(self, method, params):
        self.last += 1
        self.send({"id": self.last, "method": method, "params": params})
        for line in self.child.stdout:
            message = json.loads(line)
            if message.get("id") == self.last and "method" not in message:
                if "error" in message:
                    sys.exit(f"{method} was answered with {message['error']}")
                return message["result"]
        sys.exit("docent closed its output")

    def call(self, tool, arguments):
        """Calls a tool and returns its result."""
        return self.ask("tools/call", {"name": tool, "arguments": arguments})
