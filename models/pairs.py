"""Makes training pairs (a question and the thing that answers it) from the fetched archives.

    python3 pairs.py        one pairs/REGISTRY/NAME.jsonl for each archive in raw/index*.csv, skipping those already there

A line is [kind, question, title, path, body]. Kinds: `code` is a doc comment and the item it describes, without any doc comment left
in the item; `docs` is a heading or a first sentence and the section it stands over; `term` is a name and the text that explains it.
"""

import ast
import csv
import glob
import json
import os
import random
import re
import sys
import tarfile
import textwrap
import warnings
import zipfile
from multiprocessing import Pool

from fetch import HELD_OUT, RAW

HERE = os.path.dirname(os.path.abspath(__file__))
CAPS = {"code": 1500, "docs": 600, "term": 500}
LARGEST_FILE = 600_000
BODY_CHARACTERS = 2600
# Copies of other people's code would count twice and might be of a held-out package; tests and generated files say little.
SKIPPED = set("""vendor vendored _vendor _vendored vendors third_party thirdparty 3rdparty third-party extern externals external _external deps site-packages
    node_modules tests test testing __tests__ testdata _test spec specs fixtures locale locales migrations benchmarks umd min bower_components
    changelog changelogs""".split()) | set(HELD_OUT["pypi"]["names"])
NOTES = re.compile(r"change|history|news|licen[cs]e|authors|contribut|release|copying|security|code_of_conduct|whatsnew|todo", re.I)

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def first_paragraph(doc):
    return " ".join(re.split(r"\n\s*\n", doc.strip())[0].split())[:900]


def python(path, text):
    """Functions and classes with a docstring; every docstring is blanked before an item's text is taken."""
    tree = ast.parse(text)
    lines, found = text.split("\n"), []
    for node in ast.walk(tree):
        if not isinstance(node, DEFINITIONS + (ast.Module,)) or not node.body:
            continue
        first = node.body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            if first.lineno == getattr(node, "lineno", 0):
                continue
            for n in range(first.lineno - 1, first.end_lineno):
                lines[n] = ""
            if isinstance(node, DEFINITIONS):
                found.append((node, first.value.value))
    for node, doc in found:
        start = min([node.lineno] + [d.lineno for d in node.decorator_list])
        body = "\n".join(line for line in lines[start - 1:min(node.end_lineno, start + 80)] if line.strip())
        yield "code", first_paragraph(doc), node.name, path, body
        yield from explained(node.name, doc)


def explained(name, doc):
    prose = " ".join(textwrap.dedent(doc).split())
    if len(prose) > 120:
        yield "term", name, "", "", prose


# Per language: what may stand between the comment and the item, and how an item begins (its first non-empty group is the name).
CURLY = {
    "rs": (re.compile(r"\s*(#!?\[.*|\)\]|//[^/!].*)?$"),
           re.compile(r"\s*(?:pub(?:\([^)]*\))?\s+)?(?:default |async |unsafe |const |extern(?: \"\w+\")? )*(?:fn|struct|enum|trait|type|const|static|mod|union|macro_rules!)\s+(?:mut )?(?:r#)?(\w+)")),
    "go": (re.compile(r"$^"), re.compile(r"(?:func\s+(?:\([^)]*\)\s*)?(\w+)|(?:type|var|const)\s+(\w+))")),
    "java": (re.compile(r"\s*(@\w+.*)?$"),
             re.compile(r"\s*(?:(?:public|protected|private|static|final|abstract|default|synchronized|native|strictfp|sealed)\s+)*(?:(?:class|interface|enum|record|@interface)\s+(\w+)|(?:<[^>]+>\s*)?[\w.<>\[\],? ]+?\s+(\w+)\s*[(=;]|(\w+)\s*\()")),
    "js": (re.compile(r"\s*(@\w+.*|//.*)?$"),
           re.compile(r"\s*(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?(?:(?:async\s+)?function\s*\*?\s*([\w$]+)|(?:class|interface|enum|type|namespace)\s+([\w$]+)|(?:const|let|var)\s+([\w$]+)"
                      r"|(?:[\w$]+\.)*([\w$]+)\s*=\s*(?:async\s*)?(?:function|\(|[\w$]+\s*=>|class)|(?:(?:public|protected|private|static|readonly|async|get|set|override)\s+)*\*?#?([\w$]+)\s*[?!]?\s*(?:<[^>]*>)?\s*[(:])")),
}
NOT_NAMES = {"if", "for", "while", "switch", "return", "catch", "else", "new", "throw", "case", "require", "function", "constructor", "describe", "it"}


def comments(lines, language):
    """(text of the doc comment, number of the line after it)."""
    n = 0
    while n < len(lines):
        line = lines[n].strip()
        if language in ("rs", "go"):
            mark = "///" if language == "rs" else "//"
            if not line.startswith(mark) or line.startswith("////"):
                n += 1
                continue
            start = n
            while n < len(lines) and lines[n].strip().startswith(mark):
                n += 1
            yield "\n".join(x.strip()[len(mark):].strip() for x in lines[start:n]), n
        elif line.startswith("/**"):
            start = n
            while n < len(lines) and "*/" not in lines[n]:
                n += 1
            n += 1
            yield "\n".join(re.sub(r"^\s*(/\*\*+|\*(?!/))?|\*/.*$", "", x).strip() for x in lines[start:n]), n
        else:
            n += 1


def block(lines, start, language):
    """The item's lines up to its closing brace, without doc comments."""
    depth, opened, kept, inside = 0, False, [], False
    for line in lines[start:start + 80]:
        bare = line.strip()
        if inside or bare.startswith("/**"):
            inside = "*/" not in bare
            continue
        if bare.startswith(("///", "//!", "* ")) or not bare:
            continue
        kept.append(line)
        bare = re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'', "", bare)
        depth += bare.count("{") + bare.count("(") - bare.count("}") - bare.count(")")
        opened = opened or "{" in bare
        if depth <= 0 and (opened or bare.endswith((";", ",")) or language == "go"):
            break
    return "\n".join(kept)


def clean(doc):
    """Markup that no reader would type: links, tags, emphasis."""
    doc = re.split(r"^\s*@\w+", doc, maxsplit=1, flags=re.M)[0]
    doc = re.sub(r"\{@\w+\s+([^}]*)\}", r"\1", doc)
    doc = re.sub(r"</?p/?>", "\n\n", doc, flags=re.I)
    doc = re.sub(r"</?[a-zA-Z][^>]{0,80}>", " ", doc)
    return re.sub(r"\[([^\]]+)\](\([^)]*\)|\[[^\]]*\])?", r"\1", doc)


def curly(path, text, language):
    lines = text.split("\n")
    if max(map(len, lines)) > 3000:
        return
    between, begins = CURLY[language]
    for doc, n in comments(lines, language):
        while n < len(lines) and between.match(lines[n]) and not lines[n].strip().startswith("/**") and lines[n].strip():
            n += 1
        item = begins.match(lines[n]) if n < len(lines) else None
        name = next((g for g in item.groups() if g), None) if item else None
        if not name or name in NOT_NAMES:
            continue
        doc = clean(doc)
        yield "code", first_paragraph(doc), name, path, block(lines, n, language)
        yield from explained(name, doc)


def plain(prose):
    prose = re.sub(r"<[^>]{1,200}>|!\[[^\]]*\]\([^)]*\)|https?://\S+", " ", prose)
    prose = re.sub(r"\[([^\]]+)\](\([^)]*\)|\[[^\]]*\])", r"\1", prose)
    prose = re.sub(r":[\w:.+-]+:`~?([^`<]*?)\s*(<[^>]*>)?`", r"\1", prose)
    return " ".join(re.sub(r"^\s*(\.\. .*|:\w[\w ]*:.*|```.*|~~~.*)$", " ", prose, flags=re.M).split())


def sections(path, text):
    """(heading, the headings above it, text under it) of a Markdown or reStructuredText page."""
    lines = text.replace("\r", "").split("\n")
    marks, fenced = [], False
    for n, line in enumerate(lines):
        fenced ^= line.strip().startswith("```")
        atx = re.match(r"(#{1,4})\s+(.+?)\s*#*$", line)
        if atx and not fenced and not path.endswith(".rst"):
            marks.append((n, n + 1, len(atx[1]), atx[2]))
        under = re.match(r"([=\-~^\"'*+#.`:_])\1{2,}\s*$", line)
        if under and n and lines[n - 1].strip() and len(line.strip()) >= len(lines[n - 1].strip()) - 1 and not fenced and not lines[n - 1].startswith((" ", "|", "-", "=")):
            marks.append((n - 1, n + 1, "=-~^\"'*+#.`:_".index(under[1]) + 1, lines[n - 1].strip()))
    page = plain(marks[0][3]) if marks else ""
    for (_, start, _, heading), (end, *_) in zip(marks, marks[1:] + [(len(lines),)]):
        yield plain(heading), page, "\n".join(lines[start:end])


def prose(path, text):
    for heading, page, body in sections(path, text):
        words = plain(body)
        if len(words) < 100 or not re.search(r"[a-zA-Z]{3}", heading):
            continue
        above = page if page != heading else ""
        yield "docs", heading, above, path, words[:BODY_CHARACTERS]
        first = re.match(r"(.{30,300}?[.!?])\s+(.{150,})", words)
        if first:
            yield "docs", first[1], heading, path, first[2][:BODY_CHARACTERS]
        if above:
            yield "docs", f"{above} {heading}", "", path, words[:BODY_CHARACTERS]
    directive = r"^\.\. (?:py:|c:|js:)?(?:function|method|class|option|attribute|data|module|confval|setting|envvar|exception|describe|glossary|index|program|rst:directive)::\s*(.+)\n((?:\s*\n|[ \t]+.*\n)+)"
    for found in re.finditer(directive, text, re.M):
        if len(plain(found[2])) > 80:
            yield "term", re.sub(r"\(.*", "", found[1]).strip(), "", "", plain(found[2])[:BODY_CHARACTERS]
    for found in re.finditer(r"^\s*[-*] (?:\*\*|`|``)([^*`\n]{3,60})(?:\*\*|`|``)(?:\s*\([^)]*\))?\s*[:–—-]+\s*(.{60,}(?:\n  .+)*)", text, re.M):
        yield "term", found[1], "", "", plain(found[2])[:BODY_CHARACTERS]


def files(path):
    """(relative path, text) of the archive's files that can give pairs."""
    def wanted(name, size):
        parts = name.split("/")[1:] if not path.endswith(".whl") else name.split("/")
        stems = [p.split(".")[0].lower() for p in parts]
        endings = (".py", ".rs", ".go", ".java", ".js", ".mjs", ".ts", ".tsx", ".jsx", ".md", ".rst", ".mdx")
        return size < LARGEST_FILE and name.endswith(endings) and not SKIPPED & set(stems) and ".min." not in name

    if os.path.isdir(path):
        base = os.path.join(path, "usr/share/gocode/src")
        for folder, _, names in os.walk(base):
            for name in names:
                full = os.path.join(folder, name)
                relative = os.path.relpath(full, base)
                if os.path.isfile(full) and not os.path.islink(full) and wanted("x/" + relative, os.path.getsize(full)) and not name.endswith("_test.go"):
                    yield relative, open(full, encoding="utf-8", errors="replace").read()
    elif path.endswith((".zip", ".whl")):
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                if wanted(entry.filename, entry.file_size):
                    yield entry.filename, archive.read(entry).decode("utf-8", "replace")
    else:
        with tarfile.open(path) as archive:
            for entry in archive:
                if entry.isfile() and wanted(entry.name, entry.size):
                    yield entry.name.partition("/")[2], archive.extractfile(entry).read().decode("utf-8", "replace")


def pairs_of(path):
    for name, text in files(path):
        ending = name.rsplit(".", 1)[1]
        try:
            if ending == "py":
                yield from python(name, text)
            elif ending in ("md", "rst", "mdx"):
                if not NOTES.search(name):
                    yield from prose(name, text)
            elif "generated" not in text[:300].lower():
                yield from curly(name, text, ending if ending in CURLY else "js")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue


def useful(pair):
    kind, question, title, _, body = pair
    letters = sum(c.isascii() for c in question)
    least = {"code": 3, "docs": 1, "term": 1}[kind]
    return len(question.split()) >= least and letters > 0.9 * len(question) and len(body) > 25 and sum(c.isascii() for c in body) > 0.9 * len(body)


def extract(job):
    registry, name, path = job
    target = os.path.join(HERE, "pairs", registry, name.replace("/", "+") + ".jsonl")
    if os.path.exists(target):
        return
    warnings.simplefilter("ignore")
    kinds = {kind: {} for kind in CAPS}
    try:
        for pair in pairs_of(os.path.join(RAW, path)):
            # The same sentence twice in a package can't tell two items apart; the longer item is the one with a body.
            if useful(pair):
                known = kinds[pair[0]].get(pair[1].lower())
                if not known or len(pair[4]) > len(known[4]):
                    kinds[pair[0]][pair[1].lower()] = pair
    except Exception as error:
        print(registry, name, type(error).__name__, error, file=sys.stderr)
    with open(target + ".part", "w") as f:
        for kind, found in kinds.items():
            found = list(found.values())
            random.Random(name).shuffle(found)
            for kind, question, title, where, body in found[:CAPS[kind]]:
                f.write(json.dumps([kind, question, title, where, body[:BODY_CHARACTERS]]) + "\n")
    os.rename(target + ".part", target)


def main():
    jobs = []
    for index in sorted(glob.glob(os.path.join(RAW, "index-*.csv"))):
        for row in csv.reader(open(index)):
            if len(row) == 5:
                jobs.append((row[0], row[1], row[4]))
                os.makedirs(os.path.join(HERE, "pairs", row[0]), exist_ok=True)
    jobs = sorted(set(jobs), key=lambda j: os.path.getsize(os.path.join(RAW, j[2])))
    with Pool(2) as pool:
        for _ in pool.imap_unordered(extract, jobs, chunksize=4):
            pass


if __name__ == "__main__":
    main()
