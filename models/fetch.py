"""Downloads the packages that the training pairs come from.

    python3 fetch.py [--from sources.csv]

Without --from, takes the newest release of each name in packages.txt; with it, exactly the releases listed there. An archive is
kept only if the package's own metadata names a permissive licence; raw/index-*.csv records what was kept.
Where each registry answers is read from the environment, so that a mirror serves as well: PYPI_JSON, CRATES_INDEX,
CRATES_FILES, NPM_REGISTRY and PYPI_FILES are base addresses. Debian's packages come through apt-get with the options in APT_OPTIONS.
"""

import argparse
import csv
import glob
import io
import json
import os
import random
import re
import shlex
import subprocess
import sys
import tarfile
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
RAW = os.path.join(HERE, "raw")
LARGEST = 40_000_000
# How many of each are tried; some drop out for their licence or size.
GO_PACKAGES, JAVA_PACKAGES = 400, 330

# Held out for judging or for development figures; families are matched by prefix.
HELD_OUT = {
    "pypi": {"names": """flask requests scrapy celery sympy networkx rich httpx pandas scikit-learn sqlalchemy twisted aiohttp pydantic
             pydantic-core tornado django quart niquests modin kombu parsel w3lib httpcore pydantic-settings sympy-plot-backends""".split(), "prefixes": []},
    "crates": {"names": """mio aho-corasick http-body h2 serde_json rayon rayon-core image nom structopt bytes slab loom http httparse
               headers winnow""".split(), "prefixes": "tokio hyper clap regex bevy diesel tracing axum nom_ image-".split()},
    "npm": {"names": "commander zod date-fns fastify".split(), "prefixes": ["@fastify/"]},
    "go": {"names": ["golang-github-spf13-cobra", "golang-github-gin-gonic-gin"], "prefixes": ["golang-github-gin-"]},
    "java": {"names": ["libcommons-lang-java", "libcommons-lang3-java", "libcommons-text-java", "libgoogle-gson-java"], "prefixes": []},
}

# What the development figures are measured on.
DEVELOPMENT = ([("crates", n, "") for n in ("serde_json", "rayon", "image", "nom")] + [("npm", n, "") for n in ("commander", "zod", "date-fns", "fastify")]
               + [("go", n, "") for n in ("golang-github-spf13-cobra-dev", "golang-github-gin-gonic-gin-dev")]
               + [("java", n, "") for n in ("libcommons-lang3-java", "libgoogle-gson-java")] + [("pypi", "django", "5.2.19")])

PERMISSIVE = re.compile(r"(?:the )?(?:new |modified |simplified |revised )?(?:"
                        r"(?:mit|expat|x11|isc|isc license \(iscl\)|hpnd|0bsd|zlib|zlib/libpng|unlicense|cc0-1\.0)"
                        r"|mit[-/ ](?:0|cmu|x11|expat|style|license)"
                        r"|(?:(?:[234]|two|three)[- ]?clause[- ])?bsd(?:[- ][234]?(?:-clause)?(?:~google)?)?"
                        r"|apache(?:[- ]software)?(?:[- ]license)?(?:[-, ]*(?:version |v)?2(?:\.0)?)?|asl[- ]?2(?:\.0)?"
                        r"|psf(?:-2\.0|l)?|python(?:-2\.0)?|python software foundation|cnri-python|unlicense \(unlicense\)"
                        r"|.*\((?:mit|bsd-like|iscl|unlicense)\)|freely distributable|public domain)"
                        r"(?: (?:software )?licen[cs]e.*)?(?: with llvm-exception)?(?: \(bsd-like\))?")


def permissive(licence):
    """Whether some choice that the licence text offers has only permissive parts."""
    text = re.sub(r"\s+", " ", licence.lower()).strip(" .")
    # (A OR B) in front of AND is judged part by part: a part counts when one of its own choices does.
    joined = [p for p in re.split(r" and (?![^(]*\))|;", text)] if " and " in text or ";" in text else [text]
    return bool(text) and all(any(PERMISSIVE.fullmatch(c.strip(" ()\"")) or PERMISSIVE.fullmatch(c.strip()) for c in re.split(r" or |(?<!zlib)/(?!libpng|x11|cmu|expat)|\|\|", part)) for part in joined)


def held_out(registry, name):
    rule = HELD_OUT[registry]
    return name.lower() in rule["names"] or any(name.lower().startswith(p) for p in rule["prefixes"])


def get(address, limit=LARGEST):
    request = urllib.request.Request(address, headers={"User-Agent": "docent-models"})
    with urllib.request.urlopen(request, timeout=120) as reply:
        if int(reply.headers.get("Content-Length") or 0) > limit:
            raise ValueError("too large")
        return reply.read(limit + 1)


def keep(registry, name, ending, data):
    path = os.path.join(RAW, registry, name.replace("/", "+") + ending)
    with open(path, "wb") as f:
        f.write(data)
    return path


def pypi(name, version):
    base = os.environ["PYPI_JSON"].rstrip("/")
    info = json.loads(get(f"{base}/{name}/json"))
    about = info["info"]
    version = version or about["version"]
    classifiers = [c.split("::")[-1].strip() for c in about["classifiers"] or [] if c.startswith("License ::") and "OSI Approved" != c.split("::")[-1].strip()]
    stated = about.get("license_expression") or ("; ".join(classifiers)) or (about.get("license") or "").strip()[:60].split("\n")[0]
    if not permissive(stated):
        raise ValueError(f"licence {stated!r}")
    # A source archive carries docs folders; a wheel is the second choice, for those too large or without one.
    files = sorted(info["releases"].get(version) or info["urls"], key=lambda f: (f["packagetype"] != "sdist", f["size"]))
    file = next(f for f in files if f["size"] <= LARGEST and f["packagetype"] in ("sdist", "bdist_wheel"))
    ending = next(e for e in (".tar.gz", ".zip", ".whl", ".tar.bz2", ".tgz") if file["filename"].endswith(e))
    # A mirror may give addresses relative to its own pages.
    address = file["url"] if "://" in file["url"] else os.environ["PYPI_FILES"].rstrip("/") + "/" + file["url"].rsplit("packages/", 1)[1]
    return version, stated, keep("pypi", name, ending, get(address))


def crate(name, version):
    if not version:
        low = name.lower()
        prefix = {1: "1", 2: "2", 3: f"3/{low[0]}"}.get(len(low), f"{low[:2]}/{low[2:4]}")
        lines = get(f"{os.environ['CRATES_INDEX'].rstrip('/')}/{prefix}/{low}").decode().splitlines()
        usable = [json.loads(line) for line in lines]
        usable = [v["vers"] for v in usable if not v["yanked"] and "-" not in v["vers"]] or [v["vers"] for v in usable]
        version = usable[-1]
    data = get(f"{os.environ['CRATES_FILES'].rstrip('/')}/{name}/{name}-{version}.crate")
    manifest = tarfile.open(fileobj=io.BytesIO(data)).extractfile(f"{name}-{version}/Cargo.toml").read().decode()
    stated = (re.findall(r'^license\s*=\s*"([^"]*)"', manifest, re.M) or [""])[0]
    if not permissive(stated):
        raise ValueError(f"licence {stated!r}")
    return version, stated, keep("crates", name, ".tar.gz", data)


def npm(name, version):
    about = json.loads(get(f"{os.environ['NPM_REGISTRY'].rstrip('/')}/{urllib.parse.quote(name, safe='@')}/{version or 'latest'}"))
    stated = about.get("license") or ""
    stated = stated if isinstance(stated, str) else str(stated.get("type", ""))
    if not permissive(stated):
        raise ValueError(f"licence {stated!r}")
    return about["version"], stated, keep("npm", name, ".tgz", get(about["dist"]["tarball"]))


def debian_licence(text):
    """The licence of `Files: *` in a machine-readable copyright file."""
    found = re.search(r"^Files:\s*\*.*?^License:\s*([^\n]+)", text, re.M | re.S)
    return found.group(1).strip() if found else ""


def apt(*words, cwd=None):
    options = shlex.split(os.environ.get("APT_OPTIONS", ""))
    return subprocess.run([words[0], *options, *words[1:]], cwd=cwd, capture_output=True, text=True, errors="replace")


def go_names():
    """Go libraries of middling size in a fixed random order."""
    listing = apt("apt-cache", "dumpavail").stdout
    names = []
    for entry in listing.split("\n\n"):
        field = dict(re.findall(r"^(Package|Installed-Size|Version): (.*)$", entry, re.M))
        if re.match(r"golang-.*-dev$", field.get("Package", "")) and 150 <= int(field.get("Installed-Size", 0)) <= 8000:
            names.append(field["Package"])
    names = sorted(set(names))
    random.Random(1).shuffle(names)
    return [n for n in names if not held_out("go", n.removesuffix("-dev"))][:GO_PACKAGES]


def addresses(command, names):
    """Where apt would download each file from, asked in one call because each call reads the whole package list."""
    plan = apt("apt-get", *command, "--print-uris", *names)
    while unknown := re.findall(r"(?:source package for|locate package) (\S+)", plan.stderr):
        names = [n for n in names if n not in unknown]
        plan = apt("apt-get", *command, "--print-uris", *names)
    plan = plan.stdout
    return [(m[0], m[1], int(m[2])) for m in re.findall(r"^'(\S+)' (\S+) (\d+)", plan, re.M)]


def go(name, _version, files):
    address, file, _ = next(f for f in files if f[1].startswith(name + "_"))
    tree = os.path.join(RAW, "go", name)
    archive = tree + ".deb"
    with open(archive, "wb") as f:
        f.write(get(address))
    subprocess.run(["dpkg", "-x", archive, tree], check=True)
    os.remove(archive)
    stated = debian_licence(open(glob.glob(tree + "/usr/share/doc/*/copyright")[0], errors="replace").read())
    if not permissive(stated):
        subprocess.run(["rm", "-r", tree], check=True)
        raise ValueError(f"licence {stated!r}")
    return urllib.parse.unquote(file.split("_")[1]), stated, tree


def java_names():
    """Source packages of Java libraries in a fixed random order."""
    listing = apt("apt-cache", "dumpavail").stdout
    names = set()
    for entry in listing.split("\n\n"):
        field = dict(re.findall(r"^(Package|Source|Section): (.*)$", entry, re.M))
        package = field.get("Package", "")
        if re.match(r"lib.*-java$", package) and field.get("Section") == "java":
            names.add(field.get("Source", package).split()[0])
    names = sorted(names)
    random.Random(1).shuffle(names)
    return [n for n in names if not held_out("java", n) and n not in ("commons-lang3", "google-gson")][:JAVA_PACKAGES]


def stated_inside(data):
    """The licence named by the LICENSE file at the top of a source archive."""
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for entry in archive:
            if entry.isfile() and entry.name.count("/") <= 1 and re.search(r"licen[cs]e|copying", entry.name, re.I):
                text = " ".join(archive.extractfile(entry).read(3000).decode("utf-8", "replace").split())
                if "Apache License" in text and "Version 2.0" in text:
                    return "Apache-2.0"
                if "Permission is hereby granted, free of charge" in text:
                    return "MIT"
                if "Redistribution and use in source and binary forms" in text:
                    return "BSD"
    return ""


def java(name, _version, files):
    mine = [f for f in files if f[1].startswith(name + "_")]
    origin = next(f for f in mine if re.search(r"\.orig\.tar\.\w+$", f[1]))
    debian = next(f for f in mine if ".debian.tar." in f[1])
    if origin[2] > LARGEST:
        raise ValueError("too large")
    data = get(origin[0])
    try:
        with tarfile.open(fileobj=io.BytesIO(get(debian[0]))) as archive:
            stated = debian_licence(archive.extractfile("debian/copyright").read().decode("utf-8", "replace"))
    except urllib.error.HTTPError:
        stated = ""
    stated = stated or stated_inside(data)
    if not permissive(stated):
        raise ValueError(f"licence {stated!r}")
    version = next(f for f in mine if f[1].endswith(".dsc"))[1].split("_")[1].removesuffix(".dsc")
    return version, stated, keep("java", name, ".tar." + origin[1].rsplit(".", 1)[1], data)


FETCH = {"pypi": pypi, "crates": crate, "npm": npm, "go": go, "java": java}


def wanted(pinned):
    if pinned:
        return [(r["registry"], r["name"], r["version"]) for r in csv.DictReader(open(pinned)) if r["registry"] in FETCH]
    names, registry = [], None
    for line in open(os.path.join(HERE, "packages.txt")):
        if line.startswith("["):
            registry = line.strip()[1:-1]
        else:
            names += [(registry, name, "") for name in line.split()]
    names += [("go", name, "") for name in go_names()] + [("java", name, "") for name in java_names()]
    return [n for n in dict.fromkeys(names) if not held_out(n[0], n[1])]


def one(job):
    registry, name, version, *files = job
    try:
        version, licence, path = FETCH[registry](name, version, *files)
        return [registry, name, version, licence.replace("\n", " "), os.path.relpath(path, RAW)]
    except Exception as error:
        print(f"left out {registry} {name}: {type(error).__name__} {str(error)[:100]}", file=sys.stderr)
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="pinned")
    parser.add_argument("--only")
    parser.add_argument("--development", action="store_true", help="fetch the development packages into dev/ instead")
    arguments = parser.parse_args()
    if arguments.development:
        global RAW
        RAW = os.path.join(HERE, "dev")
    jobs = DEVELOPMENT if arguments.development else [j for j in wanted(arguments.pinned) if not arguments.only or j[0] == arguments.only]
    for registry in FETCH:
        os.makedirs(os.path.join(RAW, registry), exist_ok=True)
    for registry, command in (("go", ["download"]), ("java", ["source"])):
        names = [j[1] for j in jobs if j[0] == registry]
        files = addresses(command, names) if names else []
        jobs = [j + (files,) if j[0] == registry else j for j in jobs]
    with open(os.path.join(RAW, f"index-{arguments.only or 'all'}.csv"), "w", newline="") as f, ThreadPoolExecutor(16) as pool:
        rows = csv.writer(f)
        for row in pool.map(one, jobs):
            if row:
                rows.writerow(row)
                f.flush()


if __name__ == "__main__":
    main()
