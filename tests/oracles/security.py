"""Compares the security rules with bandit: they must find what bandit finds in a vulnerable corpus, and nothing in Django.

    python3 tests/oracles/security.py --facts target/debug/examples/facts --corpus FOLDER --django FOLDER [--bandit COMMAND]

The corpus is the `examples` folder of bandit's own source archive, which is not kept here:
`pip download --no-binary :all: --no-deps bandit`, then unpack it. Prints one line of JSON; exits 1 when a finding of
high severity is missed, more than a fifth of those of medium severity, or Django has more than one finding in 2,000 lines.
With --verbose, what was missed goes to standard error.
"""

import argparse
import json
import os
import subprocess
import sys

LINES_FOR_ONE = 2000
MEDIUM_SHARE = 0.8

# Findings of bandit that are not weaknesses of the code: (test, file, line) and why.
EXCEPTIONS = {}


def bandit(command, folder):
    """Every finding: (severity, test, file, lines)."""
    done = subprocess.run([command, "-q", "-r", "-f", "json", folder], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{command} failed: {done.stderr}")
    for one in json.loads(done.stdout)["results"]:
        path = os.path.relpath(one["filename"], folder)
        lines = one["line_range"] or [one["line_number"]]
        yield one["issue_severity"], one["test_id"], path, (min(lines), max(lines)), one["line_number"]


def facts(program, folder):
    """The rules' findings: file -> [(first line, last line, rule)], in all files that are read."""
    done = subprocess.run([program, folder, "security"], capture_output=True, text=True, check=True)
    found = {}
    for line in done.stdout.splitlines():
        one = json.loads(line)
        found[one["path"]] = [(f["line"], f["endLine"], f["rule"]) for f in one["security"]]
    return found


def is_found(lines, number, ours):
    """Whether two findings are on the same or adjacent lines, or share a line of one statement."""
    near = lambda first, last: abs(first - number) <= 1 or first <= number <= last
    shared = lambda first, last: lines[0] <= first <= lines[1] or first <= lines[0] <= last
    return any(near(first, last) or shared(first, last) for first, last, _ in ours)


def count_lines(folder, paths):
    total = 0
    for path in paths:
        with open(os.path.join(folder, path), "rb") as file:
            total += file.read().count(b"\n")
    return total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--facts", required=True)
    parser.add_argument("--corpus", required=True, nargs="+")
    parser.add_argument("--django", required=True)
    parser.add_argument("--bandit", default="bandit")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()

    total = {"HIGH": 0, "MEDIUM": 0}
    hit = {"HIGH": 0, "MEDIUM": 0}
    for folder in options.corpus:
        ours = facts(options.facts, folder)
        for severity, test, path, lines, number in bandit(options.bandit, folder):
            if severity not in total or (test, path, number) in EXCEPTIONS:
                continue
            total[severity] += 1
            if is_found(lines, number, ours.get(path, [])):
                hit[severity] += 1
            elif options.verbose:
                print(f"missed {severity} {test} {path}:{number}", file=sys.stderr)

    django = facts(options.facts, options.django)
    findings = sum(len(all) for all in django.values())
    lines = count_lines(options.django, django)
    rate = findings * LINES_FOR_ONE / max(lines, 1)
    figures = {
        "high_found": hit["HIGH"],
        "high_total": total["HIGH"],
        "medium_found": hit["MEDIUM"],
        "medium_total": total["MEDIUM"],
        "exceptions": len(EXCEPTIONS),
        "django_findings": findings,
        "django_lines": lines,
        "django_per_2000": round(rate, 3),
    }
    print(json.dumps(figures))
    # A corpus in which bandit finds nothing proves nothing.
    enough = total["HIGH"] > 0 and total["MEDIUM"] > 0
    good = hit["HIGH"] == total["HIGH"] and hit["MEDIUM"] >= MEDIUM_SHARE * total["MEDIUM"] and rate <= 1
    return 0 if enough and good else 1


if __name__ == "__main__":
    sys.exit(main())
