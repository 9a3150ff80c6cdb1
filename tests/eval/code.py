"""Finds code by what its doc comments said: the whole of docent, from `docent index` to `query_annotations` on stdio.

    python3 tests/eval/code.py --docent target/release/docent --tree FOLDER --package django==5.2.19 [--queries 1000]

The folder is a Python package as its wheel unpacks. In a copy of it every docstring is blanked, and each function and
class is asked for by the first paragraph of the one that it lost. Prints one line of JSON: how well the right one was
ranked, among all and among those whose name shares no word with the question, and how long docent took.
"""

import argparse
import ast
import json
import math
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

from wire import ENVIRONMENT, Server

HITS = 10
SEED = 7
LEAST_WORDS = 4
LONGEST = 900
# Folders with tests and translations, not the package itself.
LEFT_OUT = {".git", ".docent", "tests", "test", "testing", "docs", "locale", "node_modules"}
NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def docstring(node):
    """The statement that is a node's docstring, if it is on separate lines."""
    body = getattr(node, "body", None)
    if not isinstance(node, (*NAMED, ast.Module)) or not body or not isinstance(body[0], ast.Expr):
        return None
    value = body[0].value
    is_text = isinstance(value, ast.Constant) and isinstance(value.value, str)
    return body[0] if is_text and body[0].lineno != getattr(node, "lineno", 0) else None


def blank(file, path):
    """Removes the docstrings from a file, keeping line numbers; returns the questions made from them."""
    text = file.read_text(encoding="utf-8")
    lines = text.split("\n")
    questions = []
    for node in ast.walk(ast.parse(text)):
        found = docstring(node)
        if found is None:
            continue
        first, last = found.lineno - 1, found.end_lineno
        # A body must not be empty.
        lines[first:last] = [lines[first][: found.col_offset] + "pass"] + [""] * (last - first - 1)
        if isinstance(node, NAMED):
            asked = " ".join(found.value.value.strip().split("\n\n")[0].split())[:LONGEST]
            start = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            questions.append({"text": asked, "path": path, "name": node.name, "lines": range(start, node.lineno + 1)})
    file.write_text("\n".join(lines), encoding="utf-8")
    return questions


def prepare(root):
    """Removes docstrings from a tree; returns the questions that only one definition answers, in file order."""
    questions = []
    for file in sorted(root.rglob("*.py")):
        try:
            questions += blank(file, file.relative_to(root).as_posix())
        except (SyntaxError, UnicodeDecodeError):
            file.unlink()
    times = {}
    for one in questions:
        times[one["text"]] = times.get(one["text"], 0) + 1
    return [one for one in questions if times[one["text"]] == 1 and len(one["text"].split()) >= LEAST_WORDS]


def ask(server, text):
    """The definitions found, best first."""
    arguments = {"query": text, "options": {"limit": HITS, "threshold": 0.0}}
    result = server.call("query_annotations", arguments)
    for content in result["content"]:
        if content["type"] == "resource":
            return json.loads(content["resource"]["text"])
    sys.exit(f"the answer to {text!r} holds no list: {result}")


def rank(hits, question):
    for place, hit in enumerate(hits, 1):
        name = re.split(r"\.|::", hit["name"])[-1]
        if (hit["file"], name) == (question["path"], question["name"]) and hit["line"] in question["lines"]:
            return place
    return None


def words(text):
    return set(re.findall(r"[a-z]+", text.lower()))


def mean(numbers):
    return round(sum(numbers) / len(numbers), 4) if numbers else 0.0


def measure(docent, root, questions):
    began = time.perf_counter()
    subprocess.run([docent, "index", root], cwd=root, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
    indexed = time.perf_counter() - began
    ranks, waits = [], []
    with Server(docent, root) as server:
        for question in questions:
            began = time.perf_counter()
            hits = ask(server, question["text"])
            waits.append((time.perf_counter() - began) * 1000)
            ranks.append(rank(hits, question))
    gains = [1 / math.log2(place + 1) if place else 0.0 for place in ranks]
    apart = [not words(one["name"].replace("_", " ")) & words(one["text"]) for one in questions]
    blind = [gain for gain, alone in zip(gains, apart) if alone]
    waits.sort()
    return {
        "queries": len(questions),
        "ndcg10": mean(gains),
        "recall1": mean([place == 1 for place in ranks]),
        "recall10": mean([place is not None for place in ranks]),
        "ndcg10_no_shared_name_word": mean(blind),
        "no_shared_name_word": len(blind),
        "index_seconds": round(indexed, 2),
        "query_ms_p50": round(waits[len(waits) // 2], 2),
        "query_ms_p95": round(waits[int(len(waits) * 0.95)], 2),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docent", required=True, type=pathlib.Path)
    parser.add_argument("--tree", required=True, type=pathlib.Path)
    parser.add_argument("--package", required=True)
    parser.add_argument("--queries", type=int, default=1000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="docent-eval-") as place:
        root = pathlib.Path(place) / "tree"
        shutil.copytree(given.tree, root, ignore=lambda _, names: LEFT_OUT.intersection(names))
        questions = prepare(root)
        random.Random(SEED).shuffle(questions)
        questions = questions[: given.queries]
        if not questions:
            sys.exit(f"{given.tree} has no docstrings to ask for")
        figures = measure(given.docent.resolve(), root, questions)
    print(json.dumps({"package": given.package, **figures}))


if __name__ == "__main__":
    main()
