"""Measures a table on the development sets, by vectors alone and fused with BM25.

    python3 evaluate.py [out/table.bin]

Django: ask for a function or class by the first paragraph of the docstring it lost; every function, method and class is a candidate.
PostgreSQL's manual: ask for a page by a term of its printed index. Rust, JavaScript, Go, Java: doc comment to item.
Half of Django's and PostgreSQL's queries choose between settings, the other half are for the figures reported.
"""

import ast
import csv
import glob
import html
import os
import pickle
import random
import re
import sys
import zipfile
from collections import Counter

import numpy as np
import scipy.sparse as sparse

import pairs
import text

HERE = os.path.dirname(os.path.abspath(__file__))
DEV = os.path.join(HERE, "dev")
CACHE = os.path.join(DEV, "analysed.pickle")
CHUNK = 200
# How much BM25 counts beside the vectors: for sections (True) and for code (False), whose words seldom are the question's.
LEXICAL = {True: 1.0, False: 0.15}
LEFT_OUT = {"tests", "test", "testing", "docs", "locale"}


def django():
    """(units, queries): a unit is (name, path, body); a query is (text, {number of the right unit}, ...)."""
    units, queries = [], []
    with zipfile.ZipFile(glob.glob(os.path.join(DEV, "django*.whl"))[0]) as archive:
        for path in sorted(archive.namelist()):
            if not path.endswith(".py") or LEFT_OUT & set(path.split("/")[:-1]):
                continue
            source = archive.read(path).decode()
            lines, found, around = source.split("\n"), [], {}
            for node in ast.walk(ast.parse(source)):
                for child in ast.iter_child_nodes(node):
                    around[child] = around.get(node, "") + (f"/{node.name}" if isinstance(node, pairs.DEFINITIONS) else "")
                if not isinstance(node, pairs.DEFINITIONS + (ast.Module,)) or not node.body:
                    continue
                first, query = node.body[0], None
                if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str) and first.lineno != getattr(node, "lineno", 0):
                    for n in range(first.lineno - 1, first.end_lineno):
                        lines[n] = ""
                    query = pairs.first_paragraph(first.value.value)
                if isinstance(node, pairs.DEFINITIONS):
                    found.append((node, query))
            for node, query in found:
                start = min([node.lineno] + [d.lineno for d in node.decorator_list])
                if query:
                    queries.append((query, {len(units)}))
                # The path goes on through the classes and functions around the item.
                units.append((node.name, path + around[node], "\n".join(lines[start - 1:node.end_lineno])[:6000]))
    return units, distinct(queries)


def distinct(queries):
    count = Counter(q[0] for q in queries)
    return [q for q in queries if count[q[0]] == 1 and len(q[0].split()) >= 4]


def language(registry):
    units, queries = [], []
    for row in csv.reader(open(os.path.join(DEV, "index-all.csv"))):
        if row[0] == registry:
            known = set()
            for kind, query, name, path, body in pairs.pairs_of(os.path.join(DEV, row[4])):
                if kind == "code" and (name, query) not in known:
                    known.add((name, query))
                    queries.append((query, {len(units)}))
                    units.append((name, path, body))
    return units, distinct(queries)


def postgresql():
    folder = os.path.join(DEV, "pg/usr/share/doc/postgresql-doc-15/html")
    units, of_page = [], {}
    for path in sorted(glob.glob(folder + "/*.html")):
        page = os.path.basename(path)
        if page in ("bookindex.html", "index.html", "biblio.html", "legalnotice.html"):
            continue
        source = open(path, encoding="utf-8").read()
        source = re.sub(r'<div[^>]*class="nav(header|footer)".*?</table>', " ", source, flags=re.S)
        parts = re.split(r"<h[123]\b[^>]*>(.*?)</h[123]>", source[source.find("<body"):], flags=re.S)
        strip = lambda s: " ".join(html.unescape(re.sub(r"<[^>]+>", " ", s)).split())
        title = ""
        for n in range(1, len(parts), 2):
            heading = re.sub(r"^([0-9A-Z]+\.)+([0-9]+\.)*|^(Chapter|Appendix) \w+\.", "", strip(parts[n])).replace("#", " ").strip()
            title = title or heading
            # A long section is several chunks under one heading, so that its end can be found too.
            words = strip(parts[n + 1]).split(" ")
            for at in range(0, len(words), CHUNK):
                of_page.setdefault(page, []).append(len(units))
                units.append((heading, page, " ".join(words[at:at + CHUNK]), title))
    queries, top = {}, ""
    for depth, term, links in index_entries(open(folder + "/bookindex.html", encoding="utf-8").read()):
        top = term if depth == 0 else top
        query = term if depth == 0 else f"{top} {re.sub(r'^(in|of|with|for) ', '', term)}"
        queries.setdefault(query.strip(), set()).update(link.split("#")[0] for link in links)
    queries = [(q, p) for q, p in sorted(queries.items()) if p and 2 < len(q) < 100 and len(p) <= 5 and p <= set(of_page)]
    return units, queries


def index_entries(source):
    depth = -1
    for token in re.finditer(r"<dl>|</dl>|<dt\b[^>]*>(.*?)</dt>", source, re.S):
        if token.group(0) in ("<dl>", "</dl>"):
            depth += 1 if token.group(0) == "<dl>" else -1
            continue
        body = token.group(1)
        words = html.unescape(re.sub(r"<[^>]+>", " ", re.sub(r"<a\b.*?</a>", " ", body, flags=re.S)))
        yield max(depth, 0), re.sub(r"\s+", " ", re.sub(r"\(see.*", "", words)).strip(" ,"), re.findall(r'href="([^"]+\.html[^"]*)"', body)


def sets():
    """name -> (units as word lists, queries), analysed once and kept."""
    if os.path.exists(CACHE):
        return pickle.load(open(CACHE, "rb"))
    made = {}
    for name, (units, queries) in {"django": django(), "postgresql": postgresql(), **{r: language(r) for r in ("crates", "npm", "go", "java")}}.items():
        random.Random(7).shuffle(queries)
        queries = queries[:3000]
        pages = [u[1] for u in units]
        # A section is (heading, the page's own title where it differs, text).
        units = [(text.words(u[0]), text.words(u[1] if len(u) == 3 else u[3] if u[3] != u[0] else ""), text.words(u[2])[:400]) for u in units]
        made[name] = (units, [(text.words(q), right) for q, right in queries], pages, bm25(units, [text.words(q) for q, _ in queries]).astype(np.float16))
    pickle.dump(made, open(CACHE, "wb"))
    return made


def matrix(bags, columns):
    counts = [len(b) for b in bags]
    data = np.fromiter((v for b in bags for v in b.values()), np.float32, sum(counts))
    index = np.fromiter((k for b in bags for k in b), np.int32, sum(counts))
    return sparse.csr_matrix((data, index, np.concatenate([[0], np.cumsum(counts)])), shape=(len(bags), columns))


def bm25(units, queries, k=1.2, b=0.75):
    """Scores of every unit for every query, as z-scores. The name counts three times, as it does for vectors."""
    known = {}
    number = lambda words: Counter(known.setdefault(w, len(known)) for w in words)
    documents = [number(a * 3 + b_ + c) for a, b_, c in units]
    asked = [number(set(q)) for q in queries]
    counts = matrix(documents, len(known))
    length = np.asarray(counts.sum(1)).ravel()
    found = np.asarray((counts > 0).sum(0)).ravel()
    weight = np.log(1 + (len(units) - found + .5) / (found + .5)).astype(np.float32)
    rows = np.repeat(np.arange(len(units)), np.diff(counts.indptr))
    norm = k * (1 - b + b * length / length.mean())
    counts.data = (counts.data * (k + 1) / (counts.data + norm[rows]) * weight[counts.indices]).astype(np.float32)
    return standard((matrix(asked, len(known)) @ counts.T).toarray())


def standard(scores):
    return ((scores - scores.mean(1, keepdims=True)) / (scores.std(1, keepdims=True) + 1e-9)).astype(np.float32)


def vectors(table, bags):
    sums = matrix(bags, len(table.pieces)).sqrt() @ table.rows
    return sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)


def ranks(scores, queries, pages, by_page):
    found = []
    for row, (_, right) in zip(scores, queries):
        if not by_page:
            target = next(iter(right))
            better = int((row > row[target]).sum())
            found.append(better + 1)
            continue
        best = {}
        for n in np.argsort(-row)[:60]:
            best.setdefault(pages[n], len(best) + 1)
        found.append(min([best[p] for p in right if p in best] or [99]))
    return np.array(found)


def figures(found, by_page):
    ten = found <= 10
    if by_page:
        return {"mrr": float((ten / found).mean()), "r10": float(ten.mean())}
    return {"ndcg": float((ten / np.log2(found + 1)).mean())}


def measure(table, only=None, fuse=True, weights=None):
    """{set/half/how: figure}."""
    w = dict(name=text.NAME_WEIGHT, path=text.PATH_WEIGHT, body=text.BODY_WEIGHT, words=text.BODY_WORDS,
             title=text.TITLE_WEIGHT, prose=text.PROSE_WEIGHT, prose_words=text.PROSE_WORDS, page=text.PAGE_WEIGHT) | (weights or {})
    result = {}
    for name, (units, queries, pages, lexical) in sets().items():
        if only and name not in only:
            continue
        by_page = name == "postgresql"
        if by_page:
            bags = [table.bag((a, w["title"]), (b, w["page"]), (c[:w["prose_words"]], w["prose"])) for a, b, c in units]
        else:
            bags = [table.bag((a, w["name"]), (b, w["path"]), (c[:w["words"]], w["body"])) for a, b, c in units]
        scores = vectors(table, [table.bag((q, 1.0)) for q, _ in queries]) @ vectors(table, bags).T
        for how, some in (("vectors", scores), ("fused", standard(scores) + LEXICAL[by_page] * lexical.astype(np.float32)) if fuse else (None, None)):
            if how is None:
                continue
            found = ranks(np.asarray(some, np.float32), queries, pages, by_page)
            half = len(found) // 2
            parts = {"choose": found[:half], "report": found[half:]} if name in ("django", "postgresql") else {"all": found}
            for part, these in parts.items():
                for figure, value in figures(these, by_page).items():
                    result[f"{name} {part} {how} {figure}"] = round(value, 4)
    return result


def main():
    table = text.read(sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "out/table.bin"))
    for key, value in measure(table).items():
        print(f"{key:40} {value:.4f}")


if __name__ == "__main__":
    main()
