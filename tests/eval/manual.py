"""Questions from PostgreSQL's manual: the terms of its printed index, each with the pages listed for it.

    python3 tests/eval/manual.py FOLDER [--queries 1000]

Prints them as JSON, a list of pairs, in the order in which they are asked.
"""

import argparse
import html
import json
import pathlib
import random
import re

INDEX = "bookindex.html"
# Pages that only link to others.
LEFT_OUT = {INDEX, "index.html", "biblio.html", "legalnotice.html"}
SEED = 7
# A term with more pages than this is too general.
MOST_PAGES = 5


def entries(text):
    """(depth, term, links) of every line of the printed index."""
    depth = -1
    for token in re.finditer(r"<dl>|</dl>|<dt\b[^>]*>(.*?)</dt>", text, re.S):
        if token.group(0) == "<dl>":
            depth += 1
        elif token.group(0) == "</dl>":
            depth -= 1
        else:
            body = token.group(1)
            links = re.findall(r'href="([^"]+\.html[^"]*)"', body)
            words = html.unescape(re.sub(r"<[^>]+>", " ", re.sub(r"<a\b.*?</a>", " ", body, flags=re.S)))
            yield max(depth, 0), " ".join(re.sub(r"\(see.*", "", words).split()).strip(" ,"), links


def terms(text, there):
    """(question, pages) from the printed index, in the order in which they are asked."""
    found, top = {}, ""
    for depth, term, links in entries(text):
        if depth == 0:
            top = term
        question = term if depth == 0 else f"{top} {re.sub(r'^(in|of|with|for) ', '', term)}"
        pages = {link.split("#")[0] for link in links}
        if pages:
            found.setdefault(question.strip(), set()).update(pages)
    fit = [(question, sorted(pages)) for question, pages in sorted(found.items())
           if 2 < len(question) < 100 and len(pages) <= MOST_PAGES and pages <= there]
    random.Random(SEED).shuffle(fit)
    return fit


def read(folder):
    """The terms of the manual in a folder."""
    there = {path.name for path in folder.iterdir()} - LEFT_OUT
    return terms((folder / INDEX).read_text(encoding="utf-8"), there)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--queries", type=int, default=1000)
    given = parser.parse_args()
    print(json.dumps(read(given.folder)[: given.queries]))


if __name__ == "__main__":
    main()
