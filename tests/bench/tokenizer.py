#!/usr/bin/env python3
"""Our tokenizer beside Python's tiktoken on Llama 3's vocabulary (of the PyPI package llama-models): first that both give the same tokens, then how fast
each is, one thread, one after the other in every round.

Equal on: every code point in three surroundings, texts in many scripts, bytes that are no UTF-8, random mixtures, long runs, Python's own library; and the same
through a tokenizer.json made of the vocabulary. Small vocabularies in that form, with merges that decide and with other patterns, are compared with Hugging Face's
tokenizers, on what has no letter newer than PCRE2's Unicode (splitter.h) and names no special token. Timed: the library's code, prose of its documentation strings, texts in many scripts. Times are processor
time, the best of all rounds; "numpy" is tiktoken without its list of Python integers. Prints a table and one JSON line; ends with 1 where tokens differ.

usage: .deps/bench/bin/python tests/bench/tokenizer.py --bench build/release/bin/expc-tokenizer-bench [--rounds N]
"""
import argparse
import array
import ast
import base64
import itertools
import json
import pathlib
import struct
import subprocess
import sys
import sysconfig
import tempfile
import time

import llama_models
import tiktoken
import tokenizers

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/parity"))
import corpus  # noqa: E402

VOCABULARY = pathlib.Path(llama_models.__file__).parent / "llama3/tokenizer.model"
PATTERN = json.loads((ROOT / "tests/parity/golden/text/special_tokens.json").read_text())["pattern"]
LONGEST_TEXT, LONGEST_RUN = 400_000, 25_000


def load():
    ranks = {}
    for line in VOCABULARY.read_bytes().splitlines():
        token, rank = line.split()
        ranks[base64.b64decode(token)] = int(rank)
    return tiktoken.Encoding(name="llama3", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={}), ranks


def cut(text):
    """The recipes' cuts: every 400,000 characters, and after 25,000 that are all white space or all not."""
    for start in range(0, len(text), LONGEST_TEXT):
        part = text[start:start + LONGEST_TEXT]
        begin, run, space = 0, 0, part[0].isspace()
        for at, character in enumerate(part):
            if character.isspace() != space:
                run, space = 1, not space
                continue
            run += 1
            if run > LONGEST_RUN:
                yield part[begin:at]
                begin, run = at, 1
        yield part[begin:]


def encode(encoding, document):
    text = document.decode(errors="replace")
    if len(text) <= LONGEST_RUN:
        return encoding.encode_ordinary(text)
    return [token for part in cut(text) for token in encoding.encode_ordinary(part)]


def write_documents(path, documents):
    with open(path, "wb") as file:
        for document in documents:
            file.write(struct.pack("<I", len(document)) + document)


class Ours:
    def __init__(self, bench, vocabulary):
        self.process = subprocess.Popen([bench, vocabulary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.load_s = float(self.answer())

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit("tokenizer.py: our side ended")
        return line

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def ids(self, documents, folder):
        write_documents(f"{folder}/ids.in", documents)
        self.ask("ids", f"{folder}/ids.in", f"{folder}/ids.out")
        # Another name the next time: the bench keeps a file that it has read.
        numbers = array.array("i", pathlib.Path(f"{folder}/ids.out").read_bytes())
        pathlib.Path(f"{folder}/empty").write_bytes(b"")
        self.ask("ids", f"{folder}/empty", f"{folder}/ids.out")
        at = 0
        while at < len(numbers):
            yield list(numbers[at + 1:at + 1 + numbers[at]])
            at += 1 + numbers[at]


def library(names, limit):
    """Files of Python's own library, in a fixed order."""
    folder = pathlib.Path(sysconfig.get_path("stdlib"))
    taken, size = [], 0
    for path in sorted(folder.glob(names)):
        if size > limit:
            break
        taken.append(path.read_bytes())
        size += len(taken[-1])
    return taken


def prose(files):
    """What documentation strings say, as one document for each file."""
    for source in files:
        try:
            nodes = ast.walk(ast.parse(source))
        except (SyntaxError, ValueError):
            continue
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
        said = [ast.get_docstring(node) for node in nodes if isinstance(node, kinds)]
        text = "\n\n".join(filter(None, said))
        if text:
            yield text.encode(errors="replace")


def probes():
    """name -> documents."""
    points = [chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000]
    groups = ["".join(f"a{p}b 1{p}2 !{p}{p}\n" for p in points[at:at + 64]).encode() for at in range(0, len(points), 64)]
    yield "every code point", groups
    yield "sentences", [sentence.encode() for sentence in corpus.SENTENCES]
    yield "no UTF-8", corpus.BROKEN + [s.encode()[1:-1] + b for s, b in zip(itertools.cycle(corpus.SENTENCES), corpus.BROKEN * 3)]
    yield "mixtures", [text.encode() for text in corpus.mixtures(30_000, seed=1)]
    yield "long runs", [text.encode() for text in corpus.long_texts()]
    yield "Python's library", library("**/*.py", 12_000_000)


def compare(ours, encoding, folder):
    counted = {}
    for name, documents in probes():
        for document, got in zip(documents, ours.ids(documents, folder), strict=True):
            wanted = encode(encoding, document)
            if got != wanted:
                at = next((i for i, (a, b) in enumerate(zip(got, wanted)) if a != b), min(len(got), len(wanted)))
                sys.exit(f"tokenizer.py: {name}: token {at} of {document[:200]!r} differs: ours {got[at:at + 5]}, tiktoken {wanted[at:at + 5]}")
            counted[name] = counted.get(name, 0) + len(got)
    return counted


def one_split(ranks, token):
    """The two tokens that `token` is merged from, by the ranks below its own; all splits into tokens would do as well."""
    rank = ranks[token]
    parts = [token[i:i + 1] for i in range(len(token))]
    while len(parts) > 2:
        best, at = min((ranks.get(parts[i] + parts[i + 1], rank), i) for i in range(len(parts) - 1))
        if best >= rank:
            return []
        parts[at:at + 2] = [parts[at] + parts[at + 1]]
    return [tuple(parts)] if len(parts) == 2 else []


def all_splits(ranks, token):
    return [(token[:i], token[i:]) for i in range(1, len(token)) if token[:i] in ranks and token[i:] in ranks]


def write_json(ranks, path, splits=one_split, pattern=PATTERN, whole=True):
    """The vocabulary in Hugging Face's form. Without a pattern ByteLevel's own; without `whole` only merges make tokens."""
    shown = [b for b in range(256) if 0x21 <= b <= 0x7E or 0xA1 <= b <= 0xAC or b >= 0xAE]
    table = {b: chr(b) for b in shown}
    table |= {b: chr(256 + i) for i, b in enumerate(b for b in range(256) if b not in table)}
    text = lambda token: "".join(table[byte] for byte in token)  # noqa: E731
    by_rank = sorted(ranks, key=ranks.get)
    merges = [[text(left), text(right)] for token in by_rank for left, right in splits(ranks, token)]
    names = json.loads((ROOT / "tests/parity/golden/text/special_tokens.json").read_text())["llama3"]
    added = [{"id": len(ranks) + i - 128000, "content": name, "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
             for name, i in names.items()]
    steps = [{"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False},
             {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    pathlib.Path(path).write_text(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None, "post_processor": None, "decoder": level,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps} if pattern else level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False,
                  "byte_fallback": False, "ignore_merges": whole, "vocab": {text(token): rank for token, rank in ranks.items()}, "merges": merges}}))


def compare_small(bench, folder):
    """Small vocabularies beside Hugging Face's tokenizers."""
    ranks = {}
    for line in (ROOT / "tests/parity/golden/text/scripts.model").read_bytes().splitlines():
        token, rank = line.split()
        ranks[base64.b64decode(token)] = int(rank)
    newer = set(corpus.SENTENCES[-1]) - set(" :abcdefghijklmnopqrstuvwxyz")
    texts = [text for text in corpus.SENTENCES + list(corpus.mixtures(20_000, seed=9)) if "<|" not in text and not newer & set(text)]
    count = 0
    for splits, pattern, whole in ((one_split, PATTERN, True), (all_splits, PATTERN, False), (all_splits, None, False), (all_splits, r"[\p{L}\p{M}]+|\s", False)):
        path = f"{folder}/small.json"
        write_json(ranks, path, splits, pattern, whole)
        theirs = tokenizers.Tokenizer.from_file(path)
        for text, got in zip(texts, Ours(bench, path).ids([text.encode() for text in texts], folder), strict=True):
            wanted = theirs.encode(text, add_special_tokens=False).ids
            if got != wanted:
                sys.exit(f"tokenizer.py: pattern {pattern}: {text[:200]!r} differs: ours {got[:20]}, Hugging Face's {wanted[:20]}")
            count += len(got)
    return count


def timed(ours, encoding, rounds, folder):
    files = library("*.py", 6_000_000)
    sets = {"code": files, "prose": list(prose(files)),
            "many scripts": [text.encode() for text in corpus.mixtures(4_000, seed=2, pieces=60)]}
    rows = {}
    for name, documents in sets.items():
        path = f"{folder}/{name.replace(' ', '_')}"
        write_documents(path, documents)
        texts = [document.decode(errors="replace") for document in documents]
        size = sum(map(len, documents))
        best = {"ours": 1e9, "tiktoken": 1e9, "numpy": 1e9}
        for _ in range(rounds):
            seconds, count = ours.ask("time", path).split()
            best["ours"] = min(best["ours"], float(seconds))
            for peer, encode_one in (("tiktoken", encoding.encode_ordinary), ("numpy", encoding.encode_to_numpy)):
                begin = time.process_time()
                for text in texts:
                    encode_one(text) if peer == "tiktoken" else encode_one(text, disallowed_special=())
                best[peer] = min(best[peer], time.process_time() - begin)
        rows[name] = {"mb": round(size / 1e6, 2), "tokens": int(count), **{f"{k}_mb_s": round(size / 1e6 / s, 1) for k, s in best.items()},
                      "ratio": round(min(best["tiktoken"], best["numpy"]) / best["ours"], 2)}
    return rows


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--bench", required=True, help="expc-tokenizer-bench")
    arguments.add_argument("--rounds", type=int, default=5)
    options = arguments.parse_args()
    begin = time.process_time()
    encoding, ranks = load()
    load_s = time.process_time() - begin
    with tempfile.TemporaryDirectory() as folder:
        ours = Ours(options.bench, VOCABULARY)
        equal = compare(ours, encoding, folder)
        write_json(ranks, f"{folder}/tokenizer.json")
        from_json = Ours(options.bench, f"{folder}/tokenizer.json")
        equal_json = compare(from_json, encoding, folder)
        equal_small = compare_small(options.bench, folder)
        rows = timed(ours, encoding, options.rounds, folder)
    print("equal tokens:", ", ".join(f"{name} {count:,}" for name, count in equal.items()))
    print("from tokenizer.json:", f"{sum(equal_json.values()):,} equal; small ones beside Hugging Face's tokenizers: {equal_small:,} equal")
    print(f"loading: ours {ours.load_s:.3f} s, tokenizer.json {from_json.load_s:.3f} s, tiktoken {load_s:.3f} s")
    for name, row in rows.items():
        print(f"{name}: {row}")
    print(json.dumps({"bench": "tokenizer", "equal": sum(equal.values()), "load_s": round(ours.load_s, 3), "load_tiktoken_s": round(load_s, 3), **rows}))


if __name__ == "__main__":
    main()
