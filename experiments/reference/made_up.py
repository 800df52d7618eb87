#!/usr/bin/env python3
"""Makes up what the studies of the reference study read, so that each can be planned and rehearsed without a download: MNIST's four files, colour
images of 300 and 500 px, rows of the three text sets and a vocabulary of Llama 3's size. Whatever is there already stays. Files have the form and the
rows the lengths of the true ones, and nothing can be learnt from them: take them away before a run whose accuracy or loss counts. A file MADE_UP beside them makes each verdict say so.

The first 500 rows of each text set have as many tokens as the reference study's subsets have (59,330, 28,683 and 83,544), drawn as `synthetic` of std.llm
draws them: from half the mean to 5.5 times, one in fifty beyond 1.4 times.

usage: experiments/reference/made_up.py [--to DIR] [--images N] [--rows N] [--expc PATH]
"""
import argparse
import base64
import itertools
import json
import pathlib
import random
import re
import shutil
import string
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUBSET = 500
# Tokens of the subset, columns with their shares of a row's words, and the text that the template puts around them (runtime/data/text/dataset.cpp).
SETS = {
    "instruct": (59330, {"instruction": 0.3, "input": 0, "output": 0.7},
                 ["Below is an instruction that describes a task. Write a response that appropriately completes the request.\n\n### Instruction:\n", "\n\n### Response:"]),
    "grammar": (28683, {"input": 0.5, "output": 0.5}, ["Correct this to standard English:", "---\nCorrected:"]),
    "summarize": (83544, {"dialogue": 0.8, "summary": 0.2}, ["Summarize this dialogue:", "---\nSummary:"]),
}
# Of Llama 3's pattern what ASCII needs: texts are cut into such pieces, and a piece that is a token stays whole.
PIECE = re.compile(r"[^\r\nA-Za-z0-9]?[A-Za-z]+|[0-9]{1,3}| ?[^\sA-Za-z0-9]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
FRAME = 12  # special tokens, roles and line ends around a question and an answer
TOKENS = 128000  # without the 256 special ones
FIRST = "The"  # a text's first word: no space stands before it


def pieces(text):
    return PIECE.findall(text)


def words():
    return (" " + "".join(letters) for letters in itertools.product(string.ascii_lowercase, repeat=4))


def vocabulary():
    texts = [FIRST, "user", "assistant", "\n\n", *(piece for _, _, around in SETS.values() for text in around for piece in pieces(text))]
    known = dict.fromkeys([*(bytes([byte]) for byte in range(256)), *(text.encode() for text in texts)])
    known.update(dict.fromkeys(word.encode() for word in itertools.islice(words(), TOKENS)))
    return "".join(f"{base64.b64encode(token).decode()} {rank}\n" for rank, token in enumerate(itertools.islice(known, TOKENS)))


def lengths(draw, tokens, shortest, count):
    """Of so many rows; the first 500 have `tokens` together. One row has at least `shortest`."""
    def drawn():
        share = draw.random()
        return 0.5 + 0.9 * share / 0.98 if share < 0.98 else 5.5 - 4.1 * (1 - share) / 0.02

    result = [max(shortest, round(tokens / SUBSET * drawn())) for _ in range(max(count, SUBSET))]
    while left := tokens - sum(result[:SUBSET]):
        at = draw.randrange(SUBSET)
        result[at] = max(shortest, result[at] + (1 if left > 0 else -1))
    return result[:count]


def rows(draw, name, count):
    tokens, columns, around = SETS[name]
    known = list(itertools.islice(words(), 100000))
    fixed = FRAME + sum(len(pieces(text)) for text in around)
    texts = [column for column, share in columns.items() if share]
    for length in lengths(draw, tokens, fixed + len(texts), count):
        free = length - fixed
        first = min(free - 1, max(1, round(free * columns[texts[0]])))
        row = dict.fromkeys(columns, "")
        for column, size in zip(texts, (first, free - first)):
            row[column] = FIRST + "".join(draw.choices(known, k=size - 1))
        yield json.dumps(row) + "\n"


def images(draw, folder, count):
    for name, size in (("train", count), ("t10k", max(10, count // 5))):
        (folder / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 0x803, size, 28, 28) + draw.randbytes(size * 784))
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, size) + bytes(i % 10 for i in range(size)))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--to", type=pathlib.Path, default=ROOT / "experiments/data", help="the folder to fill (default: data beside the studies)")
    arguments.add_argument("--images", type=int, default=320, help="training images of each set; four cards take 256 in a step (default 320)")
    arguments.add_argument("--rows", type=int, default=2000, help="rows of each text set (default 2000)")
    arguments.add_argument("--expc", default=shutil.which("expc") or ROOT / "build/release/bin/expc", help="what draws the colour images")
    options = arguments.parse_args()
    made = []

    def missing(name):
        path = options.to / name
        made.append(path)
        if not path.exists():
            return path
        print(f"{made.pop()} is there and stays")
        return None

    options.to.mkdir(parents=True, exist_ok=True)
    draw = random.Random(2505.22905)
    if folder := missing("mnist"):
        folder.mkdir()
        images(draw, folder, options.images)
    (options.to / "llm").mkdir(exist_ok=True)
    for name in SETS:
        if file := missing(f"llm/{name}.jsonl"):
            with open(file, "w", encoding="utf-8") as out:
                out.writelines(rows(draw, name, options.rows))
    if file := missing("llm/tokenizer.model"):
        file.write_text(vocabulary())
    for size in (300, 500):
        if folder := missing(f"mnist_{size}"):
            done = subprocess.run([options.expc, "data", "make", "shapes", "--size", f"{size}px", "--count", str(options.images), "--to", folder], check=False)
            if done.returncode:
                return done.returncode
    for folder in {path if path.is_dir() else path.parent for path in made}:
        marker = folder / "MADE_UP"
        marker.write_text("Verdicts on this data say that it is made up.\n")
        if folder not in made:
            made.append(marker)
    if made:
        print("made up; away with it before a run that counts:\n  rm -r", *made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
