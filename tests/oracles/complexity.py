"""Compares the complexity of Python functions with radon, lizard and complexipy.

    pip install radon lizard complexipy
    python3 tests/oracles/complexity.py --facts target/debug/examples/facts --folder FOLDER

Functions are matched by file and line. Prints one line of JSON with the share of functions on which both agree, and
exits 1 below 0.96 (cyclomatic, the better of radon and lizard) or 0.95 (cognitive).
"""

import argparse
import collections
import contextlib
import io
import json
import pathlib
import subprocess
import sys

import complexipy
import lizard
from radon.complexity import cc_visit

CYCLOMATIC = 0.96
COGNITIVE = 0.95


def ours(facts, folder):
    """Path -> line -> figures."""
    run = subprocess.run([facts, folder, "complexity"], check=True, capture_output=True, text=True)
    files = {}
    for line in run.stdout.splitlines():
        file = json.loads(line)
        if file["language"] == "python":
            files[file["path"]] = {one["line"]: one for one in file["complexity"]["functions"]}
    return files


def of_radon(source):
    """Line -> cyclomatic complexity, closures included."""
    found = {}

    def add(block):
        found[first_line(source, block.lineno)] = block.complexity
        for closure in block.closures:
            add(closure)

    for block in cc_visit(source):
        if hasattr(block, "closures"):
            add(block)
    return found


def first_line(source, line):
    """Corrects for versions that report the line of the first decorator."""
    lines = source.splitlines()
    for at in range(line - 1, len(lines)):
        if lines[at].lstrip().startswith(("def ", "async def ")):
            return at + 1
    return line


def of_lizard(path, source):
    with contextlib.redirect_stderr(io.StringIO()):
        found = lizard.analyze_file.analyze_source_code(path, source)
    return {one.start_line: one.cyclomatic_complexity for one in found.function_list}


def of_complexipy(source):
    found = complexipy.code_complexity(source).functions
    return {first_line(source, one.line_start): one.complexity for one in found}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--facts", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--show", type=int, default=0, help="how many disagreements to print, to stderr")
    options = parser.parse_args()
    files = ours(options.facts, options.folder)
    oracles = ["cyclomatic_radon", "cyclomatic_lizard", "cognitive_complexipy"]
    same, seen = collections.Counter(), collections.Counter()
    functions = sum(map(len, files.values()))
    differing = []
    for path, known in sorted(files.items()):
        source = (pathlib.Path(options.folder) / path).read_text(encoding="utf-8", errors="replace")
        try:
            found = [of_radon(source), of_lizard(path, source), of_complexipy(source)]
        except (SyntaxError, ValueError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            continue
        for oracle, theirs in zip(oracles, found):
            figure = oracle.split("_")[0]
            for line, one in known.items():
                if line in theirs:
                    seen[oracle] += 1
                    same[oracle] += one[figure] == theirs[line]
                    if one[figure] != theirs[line]:
                        differing.append((oracle, path, line, one["name"], one[figure], theirs[line]))
    for one in [one for one in differing if one[0] != "cyclomatic_lizard"][: options.show]:
        print(*one, file=sys.stderr)
    shares = {oracle: round(same[oracle] / max(seen[oracle], 1), 4) for oracle in oracles}
    print(json.dumps({"functions": functions, "matched": dict(seen), **shares}))
    cyclomatic = max(shares["cyclomatic_radon"], shares["cyclomatic_lizard"])
    return int(cyclomatic < CYCLOMATIC or shares["cognitive_complexipy"] < COGNITIVE)


if __name__ == "__main__":
    sys.exit(main())
