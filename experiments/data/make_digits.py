#!/usr/bin/env python3
"""Writes experiments/data/digits from the handwritten digits that scikit-learn ships (UCI optdigits).

Only needed to make the committed files again:  pip install scikit-learn && experiments/data/make_digits.py
The result is the same bytes every time; SHA256SUMS beside them says which.
"""
import hashlib
import struct
from pathlib import Path

from sklearn.datasets import load_digits

FOLDER = Path(__file__).resolve().parent / "digits"
TEST_IMAGES = 360
IMAGES_MAGIC, LABELS_MAGIC = 0x0803, 0x0801


def test_per_class(sizes):
    """How many images of each class go into the test set: in proportion, largest remainders first."""
    total = sum(sizes)
    shares = [TEST_IMAGES * n / total for n in sizes]
    counts = [int(s) for s in shares]
    by_remainder = sorted(range(len(sizes)), key=lambda c: (counts[c] - shares[c], c))
    for c in by_remainder[: TEST_IMAGES - sum(counts)]:
        counts[c] += 1
    return counts


def split(labels):
    """Indices of the training and the test set: in each class the test images are spread evenly over the shipped order."""
    sizes = [sum(1 for y in labels if y == c) for c in range(10)]
    wanted = test_per_class(sizes)
    seen = [0] * 10
    train, test = [], []
    for i, c in enumerate(labels):
        j = seen[c]
        seen[c] += 1
        takes = (j + 1) * wanted[c] // sizes[c] > j * wanted[c] // sizes[c]
        (test if takes else train).append(i)
    return train, test


def main():
    digits = load_digits()
    labels = [int(y) for y in digits.target]
    # 0..16 dots of ink in a 4 x 4 cell, to 0..255: round(v * 255 / 16), halves up (whole numbers only).
    images = [[(int(v) * 510 + 16) // 32 for v in row] for row in digits.data]
    train, test = split(labels)
    assert (len(train), len(test)) == (1437, 360)

    FOLDER.mkdir(exist_ok=True)
    sums = []
    for name, part in (("train", train), ("t10k", test)):
        pixels = bytes(v for i in part for v in images[i])
        files = {
            f"{name}-images-idx3-ubyte": struct.pack(">IIII", IMAGES_MAGIC, len(part), 8, 8) + pixels,
            f"{name}-labels-idx1-ubyte": struct.pack(">II", LABELS_MAGIC, len(part)) + bytes(labels[i] for i in part),
        }
        for file, content in files.items():
            (FOLDER / file).write_bytes(content)
            sums.append(f"{hashlib.sha256(content).hexdigest()}  {file}\n")
    (FOLDER / "SHA256SUMS").write_text("".join(sorted(sums, key=lambda s: s.split()[1])))


if __name__ == "__main__":
    main()
