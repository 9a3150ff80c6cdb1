"""Shared setup: script arguments, folders, configurations, processes, and starting docent."""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

import peers
import report

START_SECONDS = 30
HERE = os.path.dirname(os.path.abspath(__file__))
REAL = ["everything", "filesystem", "memory", "time", "git"]


def arguments(about, direct=False):
    """The options of every script; `--direct` is for scripts that can also run without docent."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docent", required=not direct, help="the binary")
    parser.add_argument("--node", default="node", help="the Node that runs the npm servers")
    parser.add_argument("--modules", help="the node_modules that holds the npm servers")
    parser.add_argument("--python", help="the interpreter of the environment that holds the Python servers")
    parser.add_argument("--set", default="", help="lines of TOML for the top of every configuration")
    parser.add_argument("-k", dest="word", help="only the cases whose name holds this word")
    parser.add_argument("--keep", action="store_true", help="keep the folder, and print its name")
    if direct:
        parser.add_argument("--direct", action="store_true", help="without docent: checks the script and its servers")
    given = parser.parse_args()
    if given.docent:
        given.docent = os.path.abspath(given.docent)
    return given


class Place:
    """A folder with a root, a home and files for the servers; deleted when the script ends."""

    def __init__(self, given):
        self.given = given
        self.folder = tempfile.mkdtemp(prefix="docent-hub-")
        self.root = self.make("root")
        self.home = self.make("home")
        self.made = 0

    def make(self, *parts):
        path = os.path.join(self.folder, *parts)
        os.makedirs(path, exist_ok=True)
        return path

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def environment(self, more=None):
        """An environment isolated from the user's. A canary plays a secret that no server may see."""
        kept = {key: os.environ[key] for key in ("PATH", "LANG", "TERM", "TMPDIR") if key in os.environ}
        return {**kept, "HOME": self.home, "STRANGERS_CANARY": "secret", **(more or {})}

    def real(self, name):
        """How one of the real servers is started."""
        npm = os.path.join(self.given.modules or "", "@modelcontextprotocol")
        python = os.path.dirname(self.given.python or "")
        environment = {"HUB_TEST": "set by the configuration"}
        if name == "everything":
            arguments = [os.path.join(npm, "server-everything/dist/index.js")]
            return {"command": self.given.node, "args": arguments, "env": environment}
        if name == "filesystem":
            arguments = [os.path.join(npm, "server-filesystem/dist/index.js"), self.make("files")]
            return {"command": self.given.node, "args": arguments}
        if name == "memory":
            environment = {"MEMORY_FILE_PATH": os.path.join(self.make("memory"), "graph.jsonl")}
            arguments = [os.path.join(npm, "server-memory/dist/index.js")]
            return {"command": self.given.node, "args": arguments, "env": environment}
        if name == "time":
            return {"command": os.path.join(python, "mcp-server-time"), "args": ["--local-timezone", "Etc/UTC"]}
        if name == "git":
            # Commits have the same hash at any time.
            moment = "1767323045 +0000"
            environment = {"GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}
            return {"command": os.path.join(python, "mcp-server-git"), "args": [], "env": environment}
        raise ValueError(f"there is no server {name}")

    def scripted(self, program, *arguments):
        """How one of the scripted servers here is started."""
        return {"command": sys.executable, "args": ["-B", os.path.join(HERE, program), *map(str, arguments)]}

    def direct(self, server, **more):
        """A client connected directly to a server."""
        environment = self.environment(server.get("env"))
        return peers.Stdio([server["command"], *server["args"]], cwd=self.root, env=environment, **more)

    def configuration(self, servers, exposure="direct", more=(), mode="auto"):
        """Writes a configuration, with more lines for `[hub]`; returns its path."""
        self.made += 1
        # Programs installed for the tests may be in a home, which is closed to servers.
        given = [self.given.modules, self.given.python, self.given.node, HERE, sys.base_prefix, sys.prefix]
        if self.given.python:
            given.append(os.path.dirname(os.path.dirname(self.given.python)))
        real = [os.path.realpath(path) for path in given if path and os.path.sep in path]
        opened = sorted({path if os.path.isdir(path) else os.path.dirname(path) for path in [*given, *real] if path and os.path.exists(path)})
        lines = [self.given.set, "[policy.sandbox]", f"read = {json.dumps(opened)}", f"mode = {json.dumps(mode)}"]
        lines += ["[hub]", f"exposure = {json.dumps(exposure)}", *more]
        for name, server in servers.items():
            lines.append(f"\n[mcp_servers.{name}]")
            for key, value in server.items():
                if isinstance(value, dict):
                    inner = ", ".join(f"{json.dumps(k)} = {json.dumps(v)}" for k, v in value.items())
                    lines.append(f"{key} = {{ {inner} }}")
                else:
                    lines.append(f"{key} = {json.dumps(value)}")
        path = self.path(f"docent-{self.made}.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        return path

    def stdio(self, config, env=None, **more):
        """A client of a new docent process."""
        argv = [self.given.docent, "serve", "--config", config, "--root", self.root, "--rate-limit", "0"]
        return peers.Stdio(argv, cwd=self.root, env=self.environment(env), **more)

    def end(self):
        report.end_children()
        if self.given.keep:
            print(f"kept: {self.folder}")
        else:
            shutil.rmtree(self.folder, ignore_errors=True)


class Listening:
    """A program that listens on a port; it is ready when the port accepts."""

    def __init__(self, argv, port, cwd=None, env=None):
        self.port = port
        self.url = f"http://127.0.0.1:{port}/mcp"
        self.child = subprocess.Popen(
            argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True)
        report.CHILDREN.append(self.child)
        self.output = []
        threading.Thread(target=self._drain, daemon=True).start()
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                said = "".join(self.output)[-600:]
                assert self.child.poll() is None, f"{argv[0]} ended with {self.child.returncode}: {said}"
                assert time.monotonic() < end, f"port {port} did not open: {said}"
                time.sleep(0.02)

    def _drain(self):
        for line in self.child.stdout:
            self.output.append(line.decode(errors="replace"))

    def end(self, timeout=10):
        """Sends SIGTERM; returns the exit code, or None if it had to be killed."""
        self.child.terminate()
        try:
            return self.child.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(self.child.pid, 9)
            self.child.wait()
            return None


def docent_http(place, config, env=None):
    """docent on a port."""
    port = free_port()
    argv = [place.given.docent, "serve", "--config", config, "--root", place.root]
    argv += ["--transport", "http", "--rate-limit", "0", "--port", str(port)]
    return Listening(argv, port, cwd=place.root, env=place.environment(env))


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def until(holds, timeout=10, pause=0.01):
    """Polls until the result is true; returns it, or the last result when time is up."""
    end = time.monotonic() + timeout
    while True:
        value = holds()
        if value or time.monotonic() > end:
            return value
        time.sleep(pause)


def alive(pid):
    """Whether a process is running; a zombie is not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(") ", 1)[1][0] not in "ZX"
    except OSError:
        return False


def descendants(pid):
    """Every process below one."""
    children = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8") as file:
                parent = int(file.read().rsplit(") ", 1)[1].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(entry))
    found, next_ones = [], [pid]
    while next_ones:
        one = next_ones.pop()
        found += children.get(one, [])
        next_ones += children.get(one, [])
    return found


def settled(peer, names, seconds=START_SECONDS):
    """Waits until each of these servers has a tool in the list, and returns the list."""
    def listed():
        tools = peer.tools()
        return tools if all(any(tool.startswith(f"{name}__") for tool in tools) for name in names) else None

    tools = until(listed, seconds, 0.1)
    assert tools, f"not every server of {list(names)} has a tool in the list after {seconds} s: {sorted(peer.tools())[-8:]}"
    return tools


def text(result):
    """All text of a tool's result."""
    return "\n".join(item.get("text", "") for item in result.get("content", []) if item.get("type") == "text")
