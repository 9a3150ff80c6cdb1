"""What docent does when its servers, its clients or docent itself fail.

Children that die, hang, flood, write garbage, change their tools and ignore signals; HTTP servers that reset, stall and
forget; servers on every network transport that go away and come back; clients that go away; docent killed; a thousand
starts and ends. Calls are counted by the servers, in files.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import peers
import place as places
import report

# docent's own timeout for a call in these checks, and the time within which it must have reported it.
CALL_LIMIT_MS = 1500
ANSWER_SECONDS = 15
# The time for an orderly end: a second for a program to end by itself, and one more after SIGTERM.
END_SECONDS = 3
# How long any process may outlive docent.
ORPHAN_SECONDS = 2
RSS_LIMIT_KB = 600_000
SHORT = {"DOCENT_LIMITS_TOOL_TIMEOUT_MS": str(CALL_LIMIT_MS)}


class Faulty:
    """A scripted server and its folder."""

    def __init__(self, place, name, *flags):
        self.name, self.state = name, place.make(f"state-{name}")
        for flag in flags:
            self.set(flag)
        self.spec = place.scripted("faulty.py", self.state)

    def set(self, flag):
        with open(os.path.join(self.state, flag), "w", encoding="utf-8"):
            pass

    def unset(self, flag):
        os.unlink(os.path.join(self.state, flag))

    def lines(self, name):
        try:
            with open(os.path.join(self.state, name), encoding="utf-8") as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []

    def pids(self):
        return [int(line) for line in self.lines("pids")]

    def count(self, tool, how):
        calls = map(json.loads, self.lines("calls"))
        return sum(call["tool"] == tool and call["how"] == how for call in calls)


def text(reply):
    """The text of a reply, error or result."""
    return json.dumps(reply.get("error", reply.get("result", reply)), ensure_ascii=False)


def call(peer, name, arguments, timeout, token=None):
    """The reply, or an error that none came, so that the following checks can still report something."""
    try:
        return peer.call(name, arguments, timeout, token)
    except peers.Lost as problem:
        return {"lost": str(problem)}


def failed(reply):
    return "error" in reply or reply.get("result", {}).get("isError") is True


def answerer(reply):
    """Which process or session answered."""
    said = places.text(reply.get("result", {}))
    return said.rsplit(" by ", 1)[1] if " by " in said else None


def pid_of(reply):
    """Which process answered."""
    return int(answerer(reply)) if answerer(reply) else None


class Bench:
    """A docent with one faulty server, and a client."""

    def __init__(self, place, name, *flags, env=None, more=None, entry=None):
        self.faulty = Faulty(place, name, *flags)
        self.config = place.configuration({name: {**self.faulty.spec, **(entry or {})}, **(more or {})})
        self.peer = place.stdio(self.config, env=env)
        opened = self.peer.open()
        assert "result" in opened, report.shown(opened)
        places.settled(self.peer, [*(more or {}), *([] if "die-at-start" in flags else [name])])

    def call(self, tool, how, timeout=ANSWER_SECONDS, token=None, **more):
        return call(self.peer, f"{self.faulty.name}__{tool}", {"how": how, **more}, timeout, token)

    def pid(self):
        """The id of the process that answers now."""
        pid = pid_of(self.call("read", "ok"))
        assert pid, "the server does not answer"
        return pid


# --- children --------------------------------------------------------------------------------------------------------

def first_requests(checks, place):
    """Requests sent before any server has started are answered too."""
    faulty = Faulty(place, "first")
    peer = place.stdio(place.configuration({"first": faulty.spec}))
    peer.open()
    reply = peer.call("first__read", {"how": "ok"})
    checks.that("the first call waits for its server", pid_of(reply), text(reply))
    peer.close()
    faulty = Faulty(place, "second")
    peer = place.stdio(place.configuration({"second": faulty.spec}))
    peer.open()
    names = set(peer.tools())
    checks.that("the first list has every tool", "second__read" in names, f"only {sorted(names)}")
    places.settled(peer, ["second"])
    announced = [one for one in peer.notes if one["method"] == "notifications/tools/list_changed"]
    checks.that("tools that come after the first list are announced", "second__read" in names or announced, "no notification")
    peer.close()


def killed_while_answering(checks, place):
    bench = Bench(place, "dying")
    first = bench.pid()
    reply = bench.call("write", "half")
    checks.that("a child that dies while it answers is reported", failed(reply) and "dying" in text(reply),
                f"an error that names the server dying expected, saw {text(reply)}")
    checks.that("a dead child's exit code and last output are reported", "exit code 3" in text(reply) and "out of paper" in text(reply),
                f"exit code 3 and 'out of paper' expected, saw {text(reply)}")
    logged = places.until(lambda: "faulty: out of paper" in "".join(bench.peer.stderr), 5)
    checks.that("what a child writes to its standard error is in the log", logged, lambda: "".join(bench.peer.stderr)[-600:])
    checks.equal("a call is not made again when its child died", bench.faulty.count("write", "half"), 1)
    second = bench.pid()
    checks.that("the next call has a new child", second != first, f"pid {second} both times")
    os.kill(second, signal.SIGKILL)
    places.until(lambda: not places.alive(second))
    third = bench.pid()
    checks.that("a child that was killed while idle is replaced", third not in (first, second), f"pid {third}")
    pending = bench.peer.start("tools/call", {"name": "dying__write", "arguments": {"how": "hang"}})
    places.until(lambda: bench.faulty.count("write", "hang"))
    os.kill(third, signal.SIGKILL)
    reply = pending.wait(ANSWER_SECONDS)
    checks.that("a child killed from outside while it works is reported", failed(reply), text(reply))
    bench.peer.close()


def survived_by_a_grandchild(checks, place):
    """The child is gone, but a process that it started keeps its standard output open."""
    bench = Bench(place, "bereaved", "grandchild")
    first = bench.pid()
    left = [pid for pid in bench.faulty.pids() if pid != first]
    reply = bench.call("write", "half")
    checks.that("a dead child is noticed though its pipe is open", failed(reply), text(reply))
    check_gone(checks, "what a dead child has started is ended", left)
    checks.that("the next call has a new child after that", bench.pid() != first, "the same pid")
    bench.peer.close()


def retries(checks, place):
    bench = Bench(place, "retried")
    for tool, how, wanted in (("read", "die-once", 2), ("idem", "die-once", 2), ("write", "die-once", 1),
                              ("read", "internal-once", 2), ("idem", "internal-once", 2), ("write", "internal-once", 1)):
        reply = bench.call(tool, how, timeout=30)
        name = f"{tool} {how}"
        checks.that(f"{name} is called {wanted} times", bench.faulty.count(tool, how) == wanted,
                    f"called {bench.faulty.count(tool, how)} times; {text(reply)}")
        checks.that(f"{name} {'succeeds' if wanted == 2 else 'fails'}", failed(reply) == (wanted == 1), text(reply))
        if how == "internal-once" and wanted == 1:
            error = reply.get("error", {})
            checks.that("an internal error keeps its code and message",
                        error.get("code") == -32603 and "Internal error" in error.get("message", ""), text(reply))
    # The last child may have died because of the previous call, which must not reduce the number of calls.
    before = bench.faulty.count("read", "die")
    reply = bench.call("read", "die", timeout=60)
    tried = bench.faulty.count("read", "die") - before
    checks.that("a call that always fails is given up", failed(reply) and 2 <= tried <= 10, f"{tried} tries; {text(reply)}")
    bench.peer.close()


def hanging(checks, place):
    bench = Bench(place, "hanging", env=SHORT)
    first = bench.pid()
    start = time.monotonic()
    reply = bench.call("write", "hang", timeout=30)
    took = time.monotonic() - start
    checks.that("a call that hangs is ended", failed(reply) and took < ANSWER_SECONDS, f"after {took:.1f} s {text(reply)}")
    checks.that("a call that hangs is cancelled at the server",
                places.until(lambda: bench.faulty.lines("cancelled"), 10), "no notifications/cancelled")
    checks.equal("a call that hangs is made once", bench.faulty.count("write", "hang"), 1)
    second = bench.pid()
    checks.that("a call that hangs does not cost its server", second == first, f"pid {first}, then {second}")
    reply = bench.call("read", "creep", timeout=30, token="creep")
    checks.that("progress keeps a long call alive", not failed(reply) and pid_of(reply) == first, text(reply))
    several = [bench.peer.start("tools/call", {"name": "hanging__write", "arguments": {"how": "hang"}}) for _ in range(4)]
    reply = bench.call("read", "ok")
    checks.that("calls that hang do not hold up others", pid_of(reply) == first, text(reply))
    for pending in several:
        try:
            pending.wait(ANSWER_SECONDS)
        except peers.Lost:
            break  # Reported above.
    checks.equal("the server outlives several of them", bench.pid(), first)
    bench.peer.close()


def noise(checks, place):
    bench = Bench(place, "noisy")
    first = bench.pid()
    for how in ("flood", "garbage"):
        reply = bench.call("write", how, timeout=60)
        checks.that(f"a server with {how} is heard", not failed(reply) and pid_of(reply) == first, text(reply))
    checks.equal("and continues", bench.pid(), first)
    with open(f"/proc/{bench.peer.child.pid}/status", encoding="utf-8") as file:
        rss = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
    checks.that("a flood is not kept in memory", rss < RSS_LIMIT_KB, f"{rss} kB")
    # The log is read concurrently with the answers and may arrive after them.
    deadline = time.monotonic() + ANSWER_SECONDS
    warned = []
    while not warned and time.monotonic() < deadline:
        warned = [line for line in bench.peer.stderr if "WARN" in line and "ignoring output that is not JSON-RPC" in line]
        time.sleep(0.05)
    checks.that("the first line of garbage is in the log, and no more of it", len(warned) == 1, f"{len(warned)}: {warned[:3]}")
    checks.that("no garbage is passed on", not bench.peer.odd, lambda: report.shown(bench.peer.odd))
    stray = [one for one in bench.peer.notes if one["method"] == "notifications/progress"]
    checks.that("no stray progress is passed on", not stray, report.shown(stray))
    bench.peer.close()


def changed_tools(checks, place):
    bench = Bench(place, "changing", entry={"accept_new_tools": True})
    bench.pid()
    names = set(bench.peer.tools())
    since = len(bench.peer.notes)
    bench.faulty.set("more-tools")
    bench.call("read", "announce")
    try:
        bench.peer.note(lambda method, _: method == "notifications/tools/list_changed", since=since, timeout=10)
        checks.that("new tools are announced", True)
    except peers.Lost as problem:
        checks.that("new tools are announced", False, str(problem))
    checks.that("a new tool is listed", places.until(
        lambda: set(bench.peer.tools()) - names == {"changing__later"}, 10, 0.1),
        lambda: f"new are {sorted(set(bench.peer.tools()) - names)}")
    reply = bench.call("later", "ok")
    checks.that("a new tool can be called", not failed(reply), text(reply))

    bench.faulty.set("other-definition")
    bench.call("read", "announce")

    def held_back():
        reply = bench.call("write", "ok", text="changed")
        return reply if "docent servers approve changing" in text(reply) else None

    reply = places.until(held_back, 10, 0.1)
    checks.that("a changed tool is held back", reply and failed(reply),
                lambda: f"'docent servers approve changing' expected, saw {text(bench.call('write', 'ok'))}")
    before = bench.faulty.count("write", "ok")
    bench.call("write", "ok")
    checks.equal("a tool that is held back is not called", bench.faulty.count("write", "ok"), before)
    listed = bench.peer.tools().get("changing__write")
    checks.that("its new description is not shown", "elsewhere" not in json.dumps(listed), report.shown(listed))
    reply = bench.call("read", "ok")
    checks.that("other tools of that server still work", not failed(reply), text(reply))
    bench.peer.close()

    again = place.stdio(bench.config)
    again.open()
    places.settled(again, ["changing"])
    reply = again.call("changing__write", {"how": "ok"})
    checks.that("a changed tool is held back by the next docent too",
                failed(reply) and "docent servers approve changing" in text(reply), text(reply))
    approve(checks, place, bench.config, "changing")
    found = places.until(lambda: not failed(again.call("changing__write", {"how": "ok"})), 10, 0.2)
    checks.that("a docent that runs hears of the approval", found, "still held back 10 s later")
    again.close()
    last = place.stdio(bench.config)
    last.open()
    places.settled(last, ["changing"])
    reply = last.call("changing__write", {"how": "ok"})
    checks.that("an approved tool is called", not failed(reply), text(reply))
    last.close()


def changed_while_away(checks, place):
    """A server that returns with other tools than before."""
    bench = Bench(place, "returning", entry={"accept_new_tools": True})
    pid = bench.pid()
    since = len(bench.peer.notes)
    os.kill(pid, signal.SIGKILL)
    places.until(lambda: not places.alive(pid))
    bench.faulty.set("more-tools")
    bench.pid()
    heard = places.until(lambda: any(one["method"] == "notifications/tools/list_changed" for one in bench.peer.notes[since:]))
    checks.that("tools that a server comes back with are announced", heard, "no notification")
    checks.that("tools that a server comes back with are listed", "returning__later" in bench.peer.tools(), "not in the list")
    bench.peer.close()


def one_at_a_time(checks, place):
    """With `concurrency = 1`, a call waits for the previous one."""
    faulty = Faulty(place, "narrow")
    peer = place.stdio(place.configuration({"narrow": {**faulty.spec, "concurrency": 1}}))
    peer.open()
    places.settled(peer, ["narrow"])
    first = peer.start("tools/call", {"name": "narrow__write", "arguments": {"how": "hang"}})
    places.until(lambda: faulty.count("write", "hang"))
    second = peer.start("tools/call", {"name": "narrow__read", "arguments": {"how": "ok"}})
    # Nothing signals that a call is not made, so wait several times as long as it would take.
    time.sleep(1)
    checks.equal("a call waits for its turn", faulty.count("read", "ok"), 0)
    peer.cancel(first)
    reply = second.wait(ANSWER_SECONDS)
    checks.that("its turn comes with the end of the other", pid_of(reply), text(reply))
    peer.close()


def approve(checks, place, config, name):
    argv = [place.given.docent, "servers", "approve", name, "--config", config]
    done = subprocess.run(argv, cwd=place.root, env=place.environment(), capture_output=True, text=True, timeout=60)
    checks.that("docent servers approve", done.returncode == 0, f"exit {done.returncode}: {done.stdout} {done.stderr}")


def dead_at_start(checks, place):
    bench = Bench(place, "stillborn", "die-at-start", more={"healthy": Faulty(place, "healthy").spec})
    names = bench.peer.tools()
    checks.that("a server that dies at its start does not hide others", "healthy__read" in names, sorted(names)[-5:])
    checks.that("it lists nothing", not any(name.startswith("stillborn__") for name in names), "its tools are listed")
    reply = bench.peer.call("healthy__read", {"how": "ok"})
    checks.that("others are called beside it", not failed(reply), text(reply))
    starts = len(bench.faulty.pids())
    checks.that("it is not started again without end", starts <= 20, f"started {starts} times")
    bench.faulty.unset("die-at-start")
    found = places.until(lambda: "stillborn__read" in bench.peer.tools(), 60, 0.5)
    checks.that("it is found once it starts", found, "its tools are not listed within 60 s")
    bench.peer.close()


def checked_arguments(checks, place):
    bench = Bench(place, "checked")
    bench.pid()
    before = len(bench.faulty.lines("calls"))
    for arguments, word in (({}, "how"), ({"how": 5}, "how"), ({"how": "ok", "text": ["x"]}, "text")):
        reply = bench.peer.call("checked__write", arguments)
        checks.that(f"{json.dumps(arguments)} is refused", failed(reply) and word in text(reply),
                    f"an error that names {word} expected, saw {text(reply)}")
    reply = bench.peer.ask("tools/call", {"name": "checked__wrote", "arguments": {"how": "ok"}})
    checks.that("an unknown tool is refused, with the nearest",
                failed(reply) and "checked__write" in text(reply), text(reply))
    checks.equal("no refused call reaches the server", len(bench.faulty.lines("calls")), before)
    bench.peer.close()


# --- docent and its clients ------------------------------------------------------------------------------------------

def gone(pids):
    return [pid for pid in pids if places.alive(pid)]


def check_gone(checks, name, pids):
    places.until(lambda: not gone(pids), ORPHAN_SECONDS)
    left = gone(pids)
    checks.that(name, pids and not left, f"{len(left)} of {len(pids)} are alive after {ORPHAN_SECONDS} s: {left}")
    for pid in left:
        os.kill(pid, signal.SIGKILL)


def orphans(checks, place):
    for flags in ((), ("grandchild",), ("ignore-term", "grandchild")):
        for end in ("SIGKILL of docent", "SIGTERM of docent", "the client gone"):
            name = f"no orphan · {'+'.join(flags) or 'plain'} · {end}"
            bench = Bench(place, f"orphan{len(flags)}{end.split()[0].lower()}", *flags)
            bench.pid()
            docent = bench.peer.child.pid
            pids = sorted({*bench.faulty.pids(), *places.descendants(docent), docent})
            if end.startswith("the client"):
                bench.peer.child.stdin.close()
                bench.peer.child.stdout.close()
            else:
                os.kill(docent, signal.SIGKILL if "KILL" in end else signal.SIGTERM)
            threading.Thread(target=bench.peer.child.wait, daemon=True).start()
            ended = places.until(lambda: not places.alive(docent), END_SECONDS)
            checks.that(f"docent ends · {'+'.join(flags) or 'plain'} · {end}", ended, f"not within {END_SECONDS} s")
            check_gone(checks, name, pids)


def orphans_at_work(checks, place):
    """The same while a call is in flight."""
    bench = Bench(place, "busy", "grandchild")
    bench.pid()
    bench.peer.start("tools/call", {"name": "busy__write", "arguments": {"how": "hang"}})
    places.until(lambda: bench.faulty.count("write", "hang"))
    docent = bench.peer.child.pid
    pids = sorted({*bench.faulty.pids(), *places.descendants(docent), docent})
    os.kill(docent, signal.SIGKILL)
    threading.Thread(target=bench.peer.child.wait, daemon=True).start()
    check_gone(checks, "no orphan · a call under way · SIGKILL of docent", pids)


ROUNDS = 1000
LANES = 8
# docent, its supervisor, and the supervisor's guard.
RESTING = 3
# Idle threads end after ten seconds.
REST_SECONDS = 20


def held(docent):
    """What docent and the processes below it hold: processes, and the descriptors and threads of those that stay."""
    found = {"processes": 0, "descriptors": 0, "threads": 0}
    for pid in [docent, *places.descendants(docent)]:
        try:
            descriptors, threads = (len(os.listdir(f"/proc/{pid}/{what}")) for what in ("fd", "task"))
        except OSError:
            continue  # It has ended in the meantime.
        for what, count in (("processes", 1), ("descriptors", descriptors), ("threads", threads)):
            found[what] += count
    return found


def lane(peer, name, rounds, problems):
    """Calls a server until this many of its processes or sessions have answered, each ended before the next."""
    last, tries = None, 0
    while rounds and not problems:
        reply = call(peer, f"{name}__read", {"how": "ok"}, ANSWER_SECONDS)
        found, tries = answerer(reply), tries + 1
        if found is None or tries > 50 * ROUNDS:
            problems.append(f"{name}, {rounds} rounds before the end: {text(reply)}")
            return
        rounds, last = rounds - (found != last), found
        time.sleep(0.003)


def run_lanes(peer, names, rounds):
    problems = []
    threads = [threading.Thread(target=lane, args=(peer, name, rounds, problems)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return problems


def thousand_rounds(checks, place):
    """Programs and HTTP sessions end as soon as they are unused: of a thousand of each, nothing is left."""
    remote = FaultyHttp(place, "rounds")
    program = {"command": sys.executable, "args": ["-I", "-S", "-B", os.path.join(places.HERE, "brief.py")]}
    programs = {f"program{number}": {**program, "idle_ms": 1} for number in range(LANES)}
    sessions = {f"session{number}": {**remote.spec, "idle_ms": 1} for number in range(LANES)}
    names = [*programs, *sessions]
    peer = place.stdio(place.configuration({**programs, **sessions}))
    peer.open()
    places.settled(peer, names)
    docent = peer.child.pid
    problems = run_lanes(peer, names, 3)
    # Permanent resources exist by now; wait for temporary ones to be released.
    resting = places.until(lambda: None if held(docent)["processes"] > RESTING else held(docent), REST_SECONDS, 0.1)
    problems += [] if resting else [f"before the rounds, {held(docent)} are held"]
    before = len(remote.lines("sessions"))
    problems = problems or run_lanes(peer, names, ROUNDS // LANES)
    checks.that("a thousand starts and ends", not problems, report.shown(problems[:3]))
    opened = len(remote.lines("sessions")) - before
    checks.that("a thousand sessions", opened >= ROUNDS, f"{opened} were opened")

    def left():
        now = held(docent)
        return {what: now[what] - resting[what] for what in now if now[what] > resting[what]}

    if not problems:
        places.until(lambda: not left(), REST_SECONDS, 0.2)
        for what in resting:
            checks.that(f"no {what} left over after a thousand rounds", what not in left(),
                        lambda: f"{left()} more than {resting}")
        open_sessions = set(remote.lines("sessions")) - set(remote.lines("ended"))
        checks.that("no session left over after a thousand rounds", not open_sessions, f"{len(open_sessions)} of {opened}")
    peer.close()
    remote.listening.end()


def two_clients(checks, place):
    """The same ids at the same time: answers, progress and cancellations stay with whom they belong to."""
    faulty = Faulty(place, "shared")
    docent = places.docent_http(place, place.configuration({"shared": faulty.spec}))
    clients = [peers.Http(docent.url, first_id=1, answers={}) for _ in range(2)]
    for client in clients:
        client.open()
        places.settled(client, ["shared"])
    # The ids continue from the same number.
    for client in clients:
        client.next_id = 1000
    wrong = []

    def many(number, client):
        running = [(f"client {number} call {index}", client.start("tools/call", {
            "name": "shared__read", "arguments": {"how": "wait", "text": f"client {number} call {index}"}}))
            for index in range(60)]
        for word, pending in running:
            reply = pending.wait()
            if f" {word} by" not in places.text(reply.get("result", {})):
                wrong.append((word, text(reply)))

    threads = [threading.Thread(target=many, args=pair) for pair in enumerate(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    checks.that("two clients with the same ids get their own answers", not wrong, report.shown(wrong[:3]))
    since = [len(client.notes) for client in clients]
    running = [client.start("tools/call", {"name": "shared__read", "arguments": {"how": "creep", "text": str(number)}},
                            token="same") for number, client in enumerate(clients)]
    checks.that("their ids are the same", running[0].id == running[1].id, f"{running[0].id} {running[1].id}")
    clients[1].note(lambda method, _: method == "notifications/progress", since=since[1])
    clients[0].cancel(running[0])
    reply = running[1].wait()
    checks.that("a cancellation of one leaves the other's call", "creep 1 by" in text(reply), text(reply))
    seen = [one["params"]["progress"] for one in clients[1].notes[since[1]:] if one["method"] == "notifications/progress"]
    checks.equal("progress under the same token stays apart", seen, list(range(1, 11)))
    for client in clients:
        client.close()
    pids = [*faulty.pids(), *places.descendants(docent.child.pid)]
    checks.that("docent ends on request", docent.end() == 0, "exit code 0 expected")
    check_gone(checks, "no orphan after HTTP", pids)


# Files in a temporary folder, which confined servers can write to, are not watched; so none is confined.
FOLLOWED = {"mode": "off"}


def reload(checks, place):
    """A changed file adds, drops and restarts just what changed."""
    kept, dropped, added = (Faulty(place, name) for name in ("kept", "dropped", "added"))
    config = place.configuration({"kept": kept.spec, "dropped": dropped.spec}, **FOLLOWED)
    peer = place.stdio(config)
    peer.open()
    places.settled(peer, ["kept", "dropped"])
    first = pid_of(peer.call("kept__read", {"how": "ok"}))
    old = pid_of(peer.call("dropped__read", {"how": "ok"}))
    shutil.copy(place.configuration({"kept": kept.spec, "added": added.spec}, **FOLLOWED), config)

    def changed():
        names = set(peer.tools())
        return "added__read" in names and "dropped__read" not in names

    found = places.until(changed, 10, 0.2)
    checks.that("a changed configuration is read by itself", found, "10 s after the change, the lists are the old ones")
    if not found:
        os.kill(peer.child.pid, signal.SIGHUP)
        found = places.until(changed, 10, 0.2)
        checks.that("a changed configuration is read at SIGHUP", found, "10 s after it, the lists are the old ones")
    checks.that("what was dropped is ended", places.until(lambda: not places.alive(old), 5), f"pid {old} is alive")
    reply = peer.call("kept__read", {"how": "ok"})
    checks.equal("what did not change is not restarted", pid_of(reply), first)
    places.settled(peer, ["added"])
    reply = peer.call("added__read", {"how": "ok"})
    checks.that("what was added can be called", not failed(reply), text(reply))
    peer.close()


def registries(checks, place):
    """Servers in a file that `hub.registries` names are found, and so are those that are written into it later."""
    file = os.path.join(place.make("registry"), "servers.json")
    early, late = (Faulty(place, name) for name in ("early", "late"))

    def write(**servers):
        with open(file + ".new", "w", encoding="utf-8") as new:
            json.dump({"mcpServers": {name: server.spec for name, server in servers.items()}}, new)
        os.replace(file + ".new", file)

    write(early=early)
    peer = place.stdio(place.configuration({}, more=[f"registries = {json.dumps([file])}"], **FOLLOWED))
    peer.open()
    places.settled(peer, ["early"])
    first = pid_of(peer.call("early__read", {"how": "ok"}))
    checks.that("a server of a registry is called", first, "no answer")
    write(early=early, late=late)
    places.settled(peer, ["late"])
    checks.that("a server added to a registry is called", pid_of(peer.call("late__read", {"how": "ok"})), "no answer")
    checks.equal("the others of the registry continue", pid_of(peer.call("early__read", {"how": "ok"})), first)
    peer.close()


def reload_from_nothing(checks, place):
    """The first server is added while docent runs, and its secret is changed."""
    added = Faulty(place, "added")
    secret = os.path.join(place.root, "secret")
    with open(secret, "w", encoding="utf-8") as file:
        file.write("first-secret")
    config = place.configuration({}, **FOLLOWED)
    peer = place.stdio(config)
    peer.open()
    peer.tools()
    spec = {**added.spec, "warm": True, "env_files": {"FAULTY_SECRET": secret}}
    shutil.copy(place.configuration({"added": spec}, **FOLLOWED), config)
    found = places.until(lambda: "added__read" in peer.tools(), 10, 0.2)
    checks.that("the first server is added while docent runs", found, "10 s after the change, it is not listed")
    reply = peer.call("added__read", {"how": "ok"})
    checks.that("and can be called", not failed(reply), text(reply))
    first = pid_of(reply)
    with open(secret, "w", encoding="utf-8") as file:
        file.write("second-secret")
    changed = places.until(lambda: pid_of(peer.call("added__read", {"how": "ok"})) not in (None, first), 10, 0.2)
    checks.that("another secret restarts it", changed, f"10 s after the change, pid {first} answers")
    peer.close()


# --- HTTP servers ----------------------------------------------------------------------------------------------------

class FaultyHttp(Faulty):
    """A faulty server on a port."""

    def __init__(self, place, name):
        super().__init__(place, name)
        self.port = places.free_port()
        self.argv = [*place.scripted("faulty_http.py", self.state, self.port).values()]
        self.argv = [self.argv[0], *self.argv[1]]
        self.spec = {"url": f"http://127.0.0.1:{self.port}/mcp"}
        self.start()

    def start(self):
        self.listening = places.Listening(self.argv, self.port)


def http_faults(checks, place):
    faulty = FaultyHttp(place, "remote")
    peer = place.stdio(place.configuration({"remote": faulty.spec}), env=SHORT)
    peer.open()
    places.settled(peer, ["remote"])

    def remote(tool, how):
        return call(peer, f"remote__{tool}", {"how": how}, ANSWER_SECONDS)

    reply = remote("read", "ok")
    checks.that("a remote tool is called", not failed(reply), text(reply))
    for tool, how, wanted in (("write", "reset", 1), ("write", "reset-once", 1), ("read", "reset-once", 2)):
        reply = remote(tool, how)
        checks.that(f"remote {tool} {how} is called {wanted} times", faulty.count(tool, how) == wanted,
                    f"called {faulty.count(tool, how)} times; {text(reply)}")
        ending = "succeeds" if wanted == 2 else "fails"
        checks.that(f"remote {tool} {how} {ending}", failed(reply) == (wanted == 1), text(reply))
    reply = remote("write", "stall")
    checks.that("a remote call that stalls is ended", failed(reply), text(reply))
    checks.equal("a remote call that stalls is made once", faulty.count("write", "stall"), 1)
    reply = remote("read", "ok")
    checks.that("a remote server that stalled is called again", not failed(reply), text(reply))
    sessions = len(faulty.lines("sessions"))
    reply = remote("write", "forget")
    checks.that("the call after which sessions are dropped", not failed(reply), text(reply))
    reply = remote("read", "ok")
    checks.that("a dropped session is reopened", not failed(reply) and len(faulty.lines("sessions")) == sessions + 1,
                f"{len(faulty.lines('sessions')) - sessions} new sessions; {text(reply)}")
    remote("write", "forget")
    before = faulty.count("write", "ok")
    reply = remote("write", "ok")
    count = faulty.count("write", "ok") - before
    # A 404 means that the call was not processed: it may be retried once.
    checks.that("a call on a dropped session is made once", count == 1 and not failed(reply),
                f"{count} times; {text(reply)}")
    faulty.listening.end()
    reply = remote("read", "ok")
    checks.that("an unreachable remote server is reported", failed(reply) and "remote" in text(reply), text(reply))
    faulty.start()
    found = places.until(lambda: not failed(remote("read", "ok")), 60, 0.5)
    checks.that("a remote server that is back is called", found, "not within 60 s")
    peer.close()


# --- remote servers that disappear -----------------------------------------------------------------------------------

class Remote:
    """A strict server on a port, which can be taken away and brought back."""

    def __init__(self, place, name, revision, scheme, path):
        self.name, self.log, self.port = name, place.path(f"{name}.log"), places.free_port()
        self.spec = {"url": f"{scheme}://127.0.0.1:{self.port}{path}"}
        arguments = ["--revision", revision, "--log", self.log, "--port", self.port]
        started = place.scripted("strict.py", *arguments, *(["--websocket"] if scheme == "ws" else []))
        self.argv = [started["command"], *started["args"]]
        self.start()

    def start(self):
        self.listening = places.Listening(self.argv, self.port)

    def logged(self, **wanted):
        """The lines of its log that have these fields."""
        try:
            with open(self.log, encoding="utf-8") as file:
                lines = [json.loads(line) for line in file]
        except FileNotFoundError:
            return []
        return [line for line in lines if wanted.items() <= line.items()]


REMOTES = [("sse", "2024-11-05", "http", "/sse"), ("websocket", "2025-11-25", "ws", "/ws"),
           ("sessions", "2025-11-25", "http", "/mcp"), ("stateless", "2026-07-28", "http", "/mcp")]


def away_and_back(checks, place):
    remotes = [Remote(place, *one) for one in REMOTES]
    peer = place.stdio(place.configuration({remote.name: remote.spec for remote in remotes}), env=SHORT)
    peer.open()
    places.settled(peer, [remote.name for remote in remotes])
    for remote in remotes:
        name = remote.name

        def echo(word):
            return call(peer, f"{name}__echo", {"text": word}, ANSWER_SECONDS)

        def comes_back(how):
            found = places.until(lambda: places.text(echo(how).get("result", {})) == how, 60, 0.2)
            checks.that(f"{name} · {how}, it is called", found, lambda: text(echo(how)))

        comes_back("at first")
        pending = peer.start("tools/call", {"name": f"{name}__slow", "arguments": {}})
        places.until(lambda: remote.logged(kind="slow"))
        remote.listening.end()
        reply = pending.wait(ANSWER_SECONDS)
        checks.that(f"{name} · a call in flight when it goes down is reported", failed(reply) and name in text(reply), text(reply))
        reply = echo("away")
        checks.that(f"{name} · it is reported as unreachable", failed(reply) and name in text(reply), text(reply))
        remote.start()
        comes_back("back again")
        checks.equal(f"{name} · a call that was lost is made once", len(remote.logged(kind="call", tool="slow")), 1)
        # A restarted server does not know the session of the call.
        odd = [one for one in remote.logged(kind="violation") if not one["what"].startswith("the session is")]
        checks.equal(f"{name} · its revision is kept to", odd, [])
        os.kill(remote.listening.child.pid, signal.SIGSTOP)
        start = time.monotonic()
        reply, took = echo("stopped"), time.monotonic() - start
        checks.that(f"{name} · a call while it is stopped is ended", failed(reply) and took < ANSWER_SECONDS,
                    f"after {took:.1f} s {text(reply)}")
        os.kill(remote.listening.child.pid, signal.SIGCONT)
        comes_back("going on")
        remote.listening.end()
    peer.close()


CASES = [first_requests, killed_while_answering, survived_by_a_grandchild, retries, hanging, noise, changed_tools,
         changed_while_away, one_at_a_time, dead_at_start, checked_arguments, orphans, orphans_at_work, thousand_rounds,
         two_clients, reload, reload_from_nothing, registries, http_faults, away_and_back]


def main():
    given = places.arguments(__doc__)
    checks, place = report.Checks(given.word, limit=900), places.Place(given)
    try:
        for case in CASES:
            checks.case(case.__name__.replace("_", " "), case, checks, place)
    finally:
        place.end()
    checks.end()


if __name__ == "__main__":
    main()
