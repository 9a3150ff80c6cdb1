"""Plain BM25 over HTML pages. A page's score is that of its best section plus that of the whole page."""

import collections
import html
import math
import re

K1, B = 1.2, 0.75
# The title describes a section's topic.
TITLE_TIMES = 3
HIDDEN = re.compile(r"<(script|style|head)\b.*?</\1>", re.S)
# Navigation links.
NAVIGATION = re.compile(r'<div class="nav(?:header|footer)">.*?</div>', re.S)
HEADING = re.compile(r"<h[1-6]\b[^>]*>(.*?)</h[1-6]>", re.S)
TAG = re.compile(r"<[^>]+>")
STOP = set(
    "a an and are as at be but by can do does for from has have how i if in into is it its me my no not of on or so "
    "that the their then there these they this to was we what when where which who why will with you your".split()
)


def stem(word):
    """Removes plural and verb endings, as far as possible without a dictionary."""
    for ending, least in (("ies", 5), ("ing", 6), ("ed", 5), ("es", 5), ("s", 4)):
        if word.endswith(ending) and len(word) >= least and not word.endswith("ss"):
            return word[: -len(ending)] + ("y" if ending == "ies" else "")
    return word


def terms(text):
    """Words, and identifiers both complete and in parts."""
    found = []
    for word in re.findall(r"[a-z0-9_]+", text.lower()):
        parts = [part for part in word.split("_") if part]
        if len(parts) > 1:
            found.append(word)
        found += [stem(part) for part in parts if part not in STOP]
    return found


def plain(markup):
    return html.unescape(TAG.sub(" ", markup))


def sections(page):
    """The title and the text of every section of a page; text above the first heading has no title."""
    pieces = HEADING.split(NAVIGATION.sub(" ", HIDDEN.sub(" ", page)))
    for title, text in zip(pieces[1::2], pieces[2::2]):
        yield plain(title), plain(text)


class Index:
    """Documents by number."""

    def __init__(self, documents):
        self.lengths = [len(document) for document in documents]
        self.average = sum(self.lengths) / max(len(documents), 1)
        self.postings = collections.defaultdict(list)
        for number, document in enumerate(documents):
            for term, times in collections.Counter(document).items():
                self.postings[term].append((number, times))

    def scores(self, question):
        found = collections.Counter()
        for term in set(question):
            postings = self.postings.get(term, ())
            rarity = math.log(1 + (len(self.lengths) - len(postings) + 0.5) / (len(postings) + 0.5))
            for number, times in postings:
                share = self.lengths[number] / self.average
                found[number] += rarity * times * (K1 + 1) / (times + K1 * (1 - B + B * share))
        return found


class Pages:
    """Pages by name."""

    def __init__(self, pages):
        self.names, self.owners, whole, parts = list(pages), [], [], []
        for number, page in enumerate(pages.values()):
            everything = []
            for title, text in sections(page):
                document = terms(title) * TITLE_TIMES + terms(text)
                parts.append(document)
                self.owners.append(number)
                everything += document
            whole.append(everything)
        self.whole, self.parts = Index(whole), Index(parts)

    def search(self, question, places):
        asked = terms(question)
        best = collections.Counter()
        for part, score in self.parts.scores(asked).items():
            best[self.owners[part]] = max(best[self.owners[part]], score)
        for number, score in self.whole.scores(asked).items():
            best[number] += score
        # Sort ties by name, so that every run gives the same result.
        order = sorted(best.items(), key=lambda item: (-item[1], self.names[item[0]]))
        return [self.names[number] for number, _ in order[:places]]
