#!/usr/bin/env python3
"""Makes golden/text/scripts.model, a small byte-pair vocabulary learnt from corpus.py, and golden/text/scripts.json: what tiktoken makes of the
corpus with it and Llama 3's pattern. Needs the bench environment (tools/setup --bench).

usage: .deps/bench/bin/python tests/parity/make_text.py
"""
import base64
import collections
import importlib.metadata
import json
import pathlib

import regex
import tiktoken

import corpus

GOLDEN = pathlib.Path(__file__).parent / "golden/text"
PATTERN = json.loads((GOLDEN / "special_tokens.json").read_text())["pattern"]
TOKENS = 1500


def learn(texts):
    """Byte-pair encoding: the commonest pair of neighbours becomes the next token; the smallest bytes among equals."""
    words = collections.Counter(piece.encode() for text in texts for piece in regex.findall(PATTERN, text))
    parts = {word: [word[i:i + 1] for i in range(len(word))] for word in words}
    ranks = {bytes([byte]): byte for byte in range(256)}
    while len(ranks) < TOKENS:
        pairs = collections.Counter()
        for word, count in words.items():
            for pair in zip(parts[word], parts[word][1:]):
                pairs[pair] += count
        left, right = min(pairs, key=lambda pair: (-pairs[pair], pair))
        ranks.setdefault(left + right, len(ranks))
        for word, split in parts.items():
            at = 0
            while at + 1 < len(split):
                if (split[at], split[at + 1]) == (left, right):
                    split[at:at + 2] = [left + right]
                at += 1
    return ranks


def main():
    ranks = learn(corpus.SENTENCES + list(corpus.mixtures(200, seed=3)))
    (GOLDEN / "scripts.model").write_text("".join(f"{base64.b64encode(token).decode()} {rank}\n" for token, rank in ranks.items()))
    encoding = tiktoken.Encoding(name="scripts", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})
    cases = [{"text": text, "ids": encoding.encode_ordinary(text)} for text in corpus.SENTENCES + list(corpus.mixtures(150, seed=4))]
    cases += [{"base64": base64.b64encode(broken).decode(), "ids": encoding.encode_ordinary(broken.decode(errors="replace"))}
              for broken in corpus.BROKEN]
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    (GOLDEN / "scripts.json").write_text(f'{{"tiktoken":"{importlib.metadata.version("tiktoken")}","cases":[\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
