"""Compares the import edges of a Python package with grimp's.

    imports.py --facts FACTS_BINARY --package NAME --folder FOLDER_THAT_HOLDS_IT

Edges are pairs of modules of the package, compared as sets. Prints one line of JSON, and the first differences on the
error output; ends with 1 where recall or precision is below the floor.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

FLOOR = 0.98
SHOWN = 20


def module_of(path):
    parts = list(pathlib.PurePosixPath(path).with_suffix("").parts)
    if parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts)


def ours(facts, folder, package):
    # Only the package is analyzed, in a separate folder: its neighbors are not part of the repository.
    with tempfile.TemporaryDirectory() as alone:
        shutil.copytree(folder / package, pathlib.Path(alone) / package)
        run = subprocess.run([facts, alone, "imports"], check=True, capture_output=True, text=True)
    edges = set()
    for line in run.stdout.splitlines():
        fact = json.loads(line)
        if fact["language"] != "python" or not fact["path"].endswith(".py"):
            continue
        source = module_of(fact["path"])
        for one in fact["imports"]:
            targets = one.get("files") or ([one["file"]] if "file" in one else [])
            edges |= {(source, module_of(target)) for target in targets if target.endswith(".py")}
    return {(a, b) for a, b in edges if a != b}


def theirs(folder, package):
    import grimp

    sys.path.insert(0, str(folder))
    graph = grimp.build_graph(package, cache_dir=None)
    return {(a, b) for a in graph.modules for b in graph.find_modules_directly_imported_by(a) if a != b}


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--facts", required=True)
    arguments.add_argument("--package", required=True)
    arguments.add_argument("--folder", required=True, type=pathlib.Path)
    given = arguments.parse_args()
    want = theirs(given.folder, given.package)
    found = ours(given.facts, given.folder, given.package)
    same = len(want & found)
    recall, precision = same / max(len(want), 1), same / max(len(found), 1)
    for mark, edges in (("missing", want - found), ("extra", found - want)):
        for edge in sorted(edges)[:SHOWN]:
            print(mark, *edge, file=sys.stderr)
    figures = {
        "package": given.package,
        "edges_grimp": len(want),
        "edges_ours": len(found),
        "recall": round(recall, 4),
        "precision": round(precision, 4),
    }
    print(json.dumps(figures))
    return 0 if want and min(recall, precision) >= FLOOR else 1


if __name__ == "__main__":
    sys.exit(main())
