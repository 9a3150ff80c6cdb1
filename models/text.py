"""How text becomes pieces and pieces become a vector. The Rust side does the same, rule for rule.

    python3 text.py        runs the tests of these rules
"""

import math
import re
import struct

import numpy as np

LONGEST_WORD = 40
# Counted in words; the weight multiplies each occurrence before the square root.
NAME_WEIGHT, PATH_WEIGHT, BODY_WEIGHT, BODY_WORDS = 10.0, 1.5, 1.0, 100
TITLE_WEIGHT, PAGE_WEIGHT, PROSE_WEIGHT, PROSE_WORDS = 4.0, 2.0, 1.0, 250

_RUN = re.compile(r"[^\W_]+")
_ASCII_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def _parts(run):
    """Splits a run at lower->Upper, at the end of an acronym, and between letters and digits."""
    start = 0
    for n in range(1, len(run)):
        before, here = run[n - 1], run[n]
        after = run[n + 1] if n + 1 < len(run) else ""
        if (before.islower() and here.isupper()
                or before.isupper() and here.isupper() and after.islower()
                or before.isalpha() != here.isalpha()):
            yield run[start:n]
            start = n
    yield run[start:]


def words(text):
    found = []
    for run in _RUN.findall(text):
        parts = _ASCII_PART.findall(run) if run.isascii() else _parts(run)
        found += [part.lower()[:LONGEST_WORD] for part in parts]
    return found


class Table:
    """Pieces, and a row of numbers for each."""

    def __init__(self, pieces, rows=None):
        self.pieces, self.rows = pieces, rows
        self.plain = {p: n for n, p in enumerate(pieces) if not p.startswith("##")}
        self.further = {p[2:]: n for n, p in enumerate(pieces) if p.startswith("##")}
        self.longest = max(map(len, pieces))
        self._known = {}

    def ids(self, word):
        """Greedy longest match; a word with an unmatched position gives nothing."""
        if word not in self._known:
            self._known[word] = self._match(word)
        return self._known[word]

    def _match(self, word):
        found, start = [], 0
        while start < len(word):
            entries = self.further if start else self.plain
            for end in range(min(len(word), start + self.longest), start, -1):
                if word[start:end] in entries:
                    found.append(entries[word[start:end]])
                    start = end
                    break
            else:
                return ()
        return tuple(found)

    def bag(self, *fields):
        """fields: (words, weight). Gives {row: weighted count}."""
        counts = {}
        for some, weight in fields:
            for word in some:
                for n in self.ids(word):
                    counts[n] = counts.get(n, 0.0) + weight
        return counts

    def vector(self, bag):
        total = np.zeros(self.rows.shape[1], np.float32)
        for n, count in bag.items():
            total += np.float32(math.sqrt(count)) * self.rows[n]
        length = float(np.sqrt((total * total).sum()))
        return total / length if length > 0 else total

    def query(self, text):
        return self.bag((words(text), 1.0))

    def code(self, name, path, body):
        return self.bag((words(name), NAME_WEIGHT), (words(path), PATH_WEIGHT), (words(body)[:BODY_WORDS], BODY_WEIGHT))

    def section(self, heading, page_title, text):
        page_title = page_title if page_title != heading else ""
        return self.bag((words(heading), TITLE_WEIGHT), (words(page_title), PAGE_WEIGHT), (words(text)[:PROSE_WORDS], PROSE_WEIGHT))


def write(path, pieces, rows):
    """Quantises each row to int8 by its largest magnitude, and writes the table."""
    scales = np.maximum(np.abs(rows).max(1), 1e-12).astype("<f4") / np.float32(127)
    small = np.clip(np.rint(rows / scales[:, None]), -127, 127).astype(np.int8)
    with open(path, "wb") as f:
        f.write(b"DOCENTV1" + struct.pack("<II", *rows.shape) + scales.tobytes() + small.tobytes() + "\n".join(pieces).encode())


def read(path):
    data = open(path, "rb").read()
    if data[:8] != b"DOCENTV1":
        raise ValueError("not a table")
    count, dims = struct.unpack("<II", data[8:16])
    scales = np.frombuffer(data, "<f4", count, 16)
    small = np.frombuffer(data, np.int8, count * dims, 16 + 4 * count).reshape(count, dims)
    pieces = data[16 + 4 * count + count * dims:].decode().split("\n")
    if len(pieces) != count:
        raise ValueError("as many pieces as rows are needed")
    return Table(pieces, scales[:, None] * small.astype(np.float32))


GOLDEN = [
    "parse an HTTP header", "HTTPServer.handleRequest(fooBar)", "snake_case_name and kebab-case.name", "utf8 to utf16le, x86_64, sha256sum",
    "def read_lines(path: str) -> list[str]:", "fn main() -> Result<(), Box<dyn Error>> {", "getElementById", "XMLHttpRequest2",
    "The quick brown fox jumps over the lazy dog.", "Größe der Übersicht ändern", "Ελληνικά ΚείμενοΔύο", "日本語のテキスト", "naïve café", "",
    "a" * 60, "1234567890 3.14159 0xDEADBEEF", "MAX_RETRY_COUNT=5", "CREATE INDEX CONCURRENTLY", "IOError iPhone eBay", "émile2Zola",
    "how do I open a file and read it line by line?", "Vec<Option<&'static str>>",
]


def golden(table):
    return [{"text": t, "pieces": [table.pieces[n] for w in words(t) for n in table.ids(w)],
             "vector": [round(float(x), 6) for x in table.vector(table.query(t))[:8]]} for t in GOLDEN]


def test():
    cases = {"fooBar": "foo bar", "HTTPServer": "http server", "utf8": "utf 8", "a_b-c.d": "a b c d", "parseHTML5Doc": "parse html 5 doc",
             "x86_64": "x 86 64", "émileZola": "émile zola", "ABCdef": "ab cdef", "IO": "io", "A": "a", "": "", "ÀÉdé": "à édé"}
    for given, wanted in cases.items():
        assert words(given) == wanted.split(), (given, words(given))
        # The quick path for ASCII must agree with the rule as written.
        assert [p.lower() for r in _RUN.findall(given) for p in _parts(r)] == wanted.split(), given
    assert words("a" * 60) == ["a" * 40]
    table = Table(["un", "##able", "a", "##b", "unable"], np.eye(5, dtype=np.float32))
    assert table.ids("unable") == (4,) and table.ids("unb") == (0, 3) and table.ids("unx") == () and table.ids("ab") == (2, 3)
    assert table.bag((["a", "ab"], 2.0)) == {2: 4.0, 3: 2.0}
    assert np.allclose(table.vector({2: 4.0, 3: 4.0}), [0, 0, .5 ** .5, .5 ** .5, 0])
    write("/tmp/docent-test-table.bin", table.pieces, table.rows * 3)
    again = read("/tmp/docent-test-table.bin")
    assert again.pieces == table.pieces and np.allclose(again.rows, table.rows * 3)
    print("ok")


if __name__ == "__main__":
    test()
