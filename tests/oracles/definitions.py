"""Compares the definitions found with those that a language's own parser finds.

    python3 tests/oracles/definitions.py --facts target/debug/examples/facts \
        --python FOLDER --typescript FOLDER --typescript-module node_modules/typescript

Functions, classes and types, and methods; each by its group, qualified name and line. Prints a line of JSON a
language and ends with 1 where recall or precision is below the limit.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

LIMIT = 0.99
SHOWN = 10
GROUPS = {
    "function": "function",
    "method": "method",
    "class": "type",
    "interface": "type",
    "enum": "type",
    "struct": "type",
    "trait": "type",
    "type": "type",
}

Found = Counter  # Of (path, group, qualified name, line).


def facts(binary: str, folder: str, languages: set[str]) -> tuple[Found, set[str]]:
    """docent's definitions, and the files they are in."""
    lines = subprocess.run([binary, folder, "definitions"], check=True, capture_output=True, text=True).stdout
    found: Found = Counter()
    paths = set()
    for line in lines.splitlines():
        file = json.loads(line)
        if file["language"] not in languages:
            continue
        paths.add(file["path"])
        for one in file["definitions"]:
            if group := GROUPS.get(one["type"]):
                found[file["path"], group, one["qualifiedName"], one["line"]] += 1
    return found, paths


def python(folder: str) -> tuple[Found, set[str]]:
    """The definitions that `ast` finds. Files that it can't parse are skipped."""
    found: Found = Counter()
    paths = set()
    for file in sorted(Path(folder).rglob("*.py")):
        path = str(file.relative_to(folder))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(file.read_bytes())
        except SyntaxError:
            continue
        paths.add(path)
        waiting = [(tree, "", False)]
        while waiting:
            node, outer, in_class = waiting.pop()
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.ClassDef):
                    name = f"{outer}{child.name}"
                    found[path, "type", name, child.lineno] += 1
                    waiting.append((child, f"{name}.", True))
                elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    name = f"{outer}{child.name}"
                    found[path, "method" if in_class else "function", name, child.lineno] += 1
                    waiting.append((child, f"{name}.", False))
                else:
                    if sys.version_info >= (3, 12) and isinstance(child, ast.TypeAlias):
                        found[path, "type", f"{outer}{child.name.id}", child.lineno] += 1
                    waiting.append((child, outer, in_class))
    return found, paths


def typescript(folder: str, module: str) -> tuple[Found, set[str]]:
    """The definitions that the compiler's parser finds."""
    script = Path(__file__).with_name("definitions.mjs")
    return printed(["node", str(script), str(Path(module).resolve()), folder])


def printed(command: list[str]) -> tuple[Found, set[str]]:
    """A program's output: one line of JSON per file."""
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: Found = Counter()
    paths = set()
    for line in lines.splitlines():
        file = json.loads(line)
        paths.add(file["path"])
        for one in file["definitions"]:
            found[file["path"], one["group"], one["name"], one["line"]] += 1
    return found, paths


def unqualified(found: tuple[Found, set[str]]) -> tuple[Found, set[str]]:
    """Compares only the last part of names, because names of `impl<T> Trait for &mut [T]` differ legitimately."""
    short: Found = Counter()
    for (path, group, name, line), count in found[0].items():
        short[path, group, name.rsplit("::", 1)[-1], line] += count
    return short, found[1]


def compare(language: str, ours: tuple[Found, set[str]], theirs: tuple[Found, set[str]]) -> bool:
    """Prints the figures, and the differences to standard error; returns whether the figures are good enough."""
    both = ours[1] & theirs[1]
    mine = Counter({key: count for key, count in ours[0].items() if key[0] in both})
    wanted = Counter({key: count for key, count in theirs[0].items() if key[0] in both})
    same = (mine & wanted).total()
    recall = same / wanted.total() if wanted else 0.0
    precision = same / mine.total() if mine else 0.0
    figures = {
        "language": language,
        "files": len(both),
        "definitions": wanted.total(),
        "recall": round(recall, 4),
        "precision": round(precision, 4),
    }
    print(json.dumps(figures))
    for sign, rest in (("missing", wanted - mine), ("extra", mine - wanted)):
        for key in list(rest)[:SHOWN]:
            print(language, sign, *key, file=sys.stderr)
    return recall >= LIMIT and precision >= LIMIT


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", required=True)
    parser.add_argument("--python")
    parser.add_argument("--typescript")
    parser.add_argument("--typescript-module")
    parser.add_argument("--rust")
    parser.add_argument("--rust-items", help="the example rust_items")
    given = parser.parse_args()
    good = []
    if given.python:
        good.append(compare("python", facts(given.facts, given.python, {"python"}), python(given.python)))
    if given.typescript:
        if not given.typescript_module:
            parser.error("--typescript needs --typescript-module")
        ours = facts(given.facts, given.typescript, {"typescript", "tsx"})
        good.append(compare("typescript", ours, typescript(given.typescript, given.typescript_module)))
    if given.rust:
        if not given.rust_items:
            parser.error("--rust needs --rust-items")
        ours = facts(given.facts, given.rust, {"rust"})
        theirs = printed([given.rust_items, given.rust])
        good.append(compare("rust", unqualified(ours), unqualified(theirs)))
    if not good:
        parser.error("nothing to compare")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
