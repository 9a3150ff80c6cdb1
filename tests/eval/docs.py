"""Finds pages of PostgreSQL's manual: the whole of docent, from `docent docs sync` to `search_documentation` on stdio.

    python3 tests/eval/docs.py --docent target/release/docent --manual FOLDER --questions FILE [--queries 1000]

The folder holds the manual as HTML pages. There are two kinds of questions. The terms of the printed index ask for the
pages that the authors filed them under. The questions of the file were written from the text of the pages. Plain BM25
(bm25.py) answers the same ones over the same pages. Prints one line of JSON: how well the right page was ranked by
each, and how long docent took.
"""

import argparse
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

import bm25
import manual
from wire import ENVIRONMENT, Server

HITS = 20
PLACES = 10
# The minimum score of a displayed answer.
SURE = 0.7


def is_reported(question):
    """False for questions that the weights were trained on: the lab splits the halves by the same hash."""
    return hashlib.sha256(manual.SEED.to_bytes(8, "little") + question.encode()).digest()[0] % 2 == 1


def ask(server, question):
    """Pages, best first, each with the best score of its parts."""
    result = server.call("search_documentation", {"query": question, "max_results": HITS})
    found = {}
    for item in result.get("structuredContent", {}).get("results", []):
        found.setdefault(pathlib.PurePosixPath(item["metadata"]["source"]).name, item.get("score", 0.0))
    return list(found.items())


def rank(pages, answers):
    return next((place for place, page in enumerate(pages[:PLACES], 1) if page in answers), None)


def mean(numbers):
    return round(sum(numbers) / len(numbers), 4) if numbers else 0.0


def figures(ranks):
    return {
        "questions": len(ranks),
        "mrr10": mean([1 / place if place else 0.0 for place in ranks]),
        "recall1": mean([place == 1 for place in ranks]),
        "recall5": mean([place is not None and place <= 5 for place in ranks]),
        "recall10": mean([place is not None for place in ranks]),
    }


class Subject:
    """The pages that one program found for every question."""

    def __init__(self, name, pages):
        self.name = name
        self.pages = pages

    def row(self, of, asked):
        ranks = [rank(self.pages[question], answers) for question, answers in asked]
        return {"set": of, "subject": self.name, **figures(ranks)}


def measure(docent, root, asked):
    """docent's pages for each question, and the time it took."""
    began = time.perf_counter()
    synced = subprocess.run([docent, "docs", "sync"], cwd=root, env=ENVIRONMENT, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True, check=False)
    took = time.perf_counter() - began
    found, waits = {}, []
    with Server(docent, root) as server:
        # The first question includes startup costs, so don't time it.
        ask(server, "warm up")
        for question, _ in asked:
            began = time.perf_counter()
            found[question] = ask(server, question)
            waits.append((time.perf_counter() - began) * 1000)
    waits.sort()
    problem = synced.stderr.strip().split("\n")[0] if synced.returncode else None
    return found, {
        "sync_problem": problem,
        "sync_seconds": round(took, 2),
        "query_ms_p50": round(waits[len(waits) // 2], 2),
        "query_ms_p95": round(waits[int(len(waits) * 0.95)], 2),
    }


def rows(subjects, index_terms, written, queries):
    """One row per set of questions and subject."""
    answerable = [(one["question"], one["pages"]) for one in written if one["pages"]]
    kinds = sorted({one["kind"] for one in written if one["pages"]})
    first = index_terms[:queries]
    sets = [
        ("index terms", first),
        ("index terms of two words or more", [one for one in first if len(re.findall(r"\w+", one[0])) > 1]),
        ("index terms, the half that taught nothing", [one for one in index_terms if is_reported(one[0])]),
        ("questions", answerable),
        ("questions, the half that taught nothing", [one for one in answerable if is_reported(one[0])]),
        ("questions with a typo", [(one["question"], one["pages"]) for one in written if one.get("typo")]),
    ]
    for kind in kinds:
        sets.append((f"questions: {kind}", [(one["question"], one["pages"]) for one in written if one["kind"] == kind]))
    return [subject.row(name, asked) for name, asked in sets for subject in subjects]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docent", required=True, type=pathlib.Path)
    parser.add_argument("--manual", required=True, type=pathlib.Path)
    parser.add_argument("--questions", required=True, type=pathlib.Path)
    parser.add_argument("--queries", type=int, default=1000)
    given = parser.parse_args()
    written = json.loads(given.questions.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="docent-eval-") as place:
        root = pathlib.Path(place)
        pages = root / "docs/postgresql"
        shutil.copytree(given.manual, pages, ignore=lambda _, names: manual.LEFT_OUT.intersection(names))
        collection = {"path": "docs/postgresql", "description": "PostgreSQL 15"}
        settings = {"docs": {"collections": {"postgresql": collection}}}
        (root / "docent.json").write_text(json.dumps(settings), encoding="utf-8")
        index_terms = manual.read(given.manual)
        asked = index_terms + [(one["question"], one["pages"]) for one in written]
        found, timings = measure(given.docent.resolve(), root, asked)
        words = bm25.Pages({path.name: path.read_text(encoding="utf-8") for path in sorted(pages.glob("*.html"))})
    subjects = [
        Subject("docent", {question: [page for page, _ in hits] for question, hits in found.items()}),
        Subject("BM25", {question: words.search(question, PLACES) for question, _ in asked}),
    ]
    unanswerable = [one["question"] for one in written if not one["pages"]]
    sure = [question for question in unanswerable if any(score >= SURE for _, score in found[question])]
    answerable = [one["question"] for one in written if one["pages"]]
    print(json.dumps({
        "rows": rows(subjects, index_terms, written, given.queries),
        "terms": len(index_terms),
        "unanswerable": len(unanswerable),
        "unanswerable_without_hit": mean([question not in sure for question in unanswerable]),
        "answerable_with_hit": mean([any(score >= SURE for _, score in found[question]) for question in answerable]),
        **timings,
    }))


if __name__ == "__main__":
    main()
