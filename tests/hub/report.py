"""One line for each check: `ok NAME`, or `FAIL NAME: what was expected and what was seen`."""

import json
import os
import pathlib
import signal
import sys
import threading
import traceback

SHOWN = 900

# Where docent differs from a direct connection, and why. Everything else is a failure.
GAPS = json.loads((pathlib.Path(__file__).parent / "gaps.json").read_text())


def shown(value):
    """A value as text of a bounded length."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    text = text.replace("\n", "\\n")
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"


def difference(expected, seen, at="$"):
    """Describes the first difference between two values; None if they are equal."""
    if isinstance(expected, dict) and isinstance(seen, dict):
        for key in [*expected, *(key for key in seen if key not in expected)]:
            if key not in seen:
                return f"{at}.{key} is missing, and should be {shown(expected[key])}"
            if key not in expected:
                return f"{at}.{key} is {shown(seen[key])}, and should not be there"
            found = difference(expected[key], seen[key], f"{at}.{key}")
            if found:
                return found
        return None
    if isinstance(expected, list) and isinstance(seen, list):
        for index, (one, other) in enumerate(zip(expected, seen)):
            found = difference(one, other, f"{at}[{index}]")
            if found:
                return found
        if len(expected) != len(seen):
            return f"{at} has {len(seen)} elements, and should have {len(expected)}: {shown(seen)}"
        return None
    # True == 1 in Python, but not on the wire.
    if type(expected) is not type(seen) and not {type(expected), type(seen)} <= {int, float}:
        return f"{at} is {shown(seen)}, and should be {shown(expected)}"
    return None if expected == seen else f"{at} is {shown(seen)}, and should be {shown(expected)}"


class Checks:
    """Counts passed and failed checks."""

    def __init__(self, word=None, limit=600):
        self.word, self.passed, self.failed, self.lock = word, 0, 0, threading.Lock()
        self.running = "the start"
        threading.Thread(target=self._watch, args=(limit,), daemon=True).start()

    def _watch(self, limit):
        done = threading.Event()
        if not done.wait(limit):
            print(f"FAIL time: still at {self.running} after {limit} s", flush=True)
            end_children()
            os._exit(1)

    def _print(self, line, good):
        with self.lock:
            self.passed, self.failed = self.passed + good, self.failed + (not good)
            print(line, flush=True)

    def that(self, name, holds, why=""):
        """One check; `why` says what was expected and what was seen."""
        # The runner reads the name up to the first colon.
        name = name.replace(":", "·")
        why = why() if callable(why) else why
        gap = next((gap for gap in GAPS if gap["check"] in name), None)
        if gap and not holds:
            print(f"skip {name}: {gap['why']}", flush=True)
            return False
        self._print(f"ok {name}" if holds else f"FAIL {name}: {shown(why)}", bool(holds))
        return bool(holds)

    def equal(self, name, seen, expected):
        """Two JSON values are the same."""
        found = difference(expected, seen)
        return self.that(name, found is None, found or "")

    def case(self, name, body, *arguments):
        """Runs a body and returns its result; an exception is a failed check of this name."""
        if self.word and self.word not in name:
            return None
        return self.group(name, body, *arguments)

    def group(self, name, body, *arguments):
        """Like `case`, for a body with its own cases: runs those that the filter selects."""
        self.running = name
        try:
            return body(*arguments)
        except Exception as problem:  # noqa: BLE001: a broken peer must not end the other checks
            place = traceback.extract_tb(problem.__traceback__)[-1]
            said = f"{type(problem).__name__}: {problem} ({os.path.basename(place.filename)}:{place.lineno})"
            self.that(name, False, said)
            return None

    def end(self):
        """The last line, and the exit code."""
        end_children()
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        # Nothing was checked: without a filter, that is a bug in the script.
        sys.exit(1 if self.failed or not (self.passed or self.word) else 0)


CHILDREN = []


def end_children():
    """Ends every process that a script started, with its group."""
    for child in CHILDREN:
        if child.poll() is None:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            child.wait()
    CHILDREN.clear()
