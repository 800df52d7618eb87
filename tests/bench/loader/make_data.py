#!/usr/bin/env python3
"""Draws what the loader benchmarks read: 1,000 colour JPEGs of 300 x 300 (quality 85, about 22 KB each) in ten class folders below FOLDER/jpeg/train, a few
below test, and 60,000 images of 28 x 28 bytes in MNIST's layout below FOLDER/mnist. The same every time. usage: make_data.py FOLDER"""
import os
import struct
import sys

import numpy as np
from PIL import Image

IMAGES, SIDE, DIGITS = 1000, 300, 60000


def smooth(random, cells):
    image = Image.fromarray(random.integers(0, 255, (cells, cells, 3), dtype=np.uint8))
    return np.asarray(image.resize((SIDE, SIDE), Image.Resampling.BICUBIC), dtype=np.float32)


def jpegs(folder, random):
    """Large and small patches with some noise: entropy as photographs have it."""
    for i in range(IMAGES):
        pixels = 0.7 * smooth(random, 10) + 0.25 * smooth(random, 75) + random.normal(0, 4, (SIDE, SIDE, 3))
        image = Image.fromarray(pixels.clip(0, 255).astype(np.uint8))
        for part in ("train", "test")[: 2 if i < 20 else 1]:
            place = f"{folder}/jpeg/{part}/c{i % 10}"
            os.makedirs(place, exist_ok=True)
            image.save(f"{place}/{i:05d}.jpg", quality=85)


def digits(folder, random):
    os.makedirs(f"{folder}/mnist", exist_ok=True)
    for part, count in (("train", DIGITS), ("t10k", 100)):
        with open(f"{folder}/mnist/{part}-images-idx3-ubyte", "wb") as images:
            images.write(struct.pack(">4i", 0x803, count, 28, 28))
            images.write(random.integers(0, 255, (count, 28, 28), dtype=np.uint8).tobytes())
        with open(f"{folder}/mnist/{part}-labels-idx1-ubyte", "wb") as labels:
            labels.write(struct.pack(">2i", 0x801, count) + bytes(i % 10 for i in range(count)))


def main():
    folder = sys.argv[1]
    done = f"{folder}/complete"
    if not os.path.exists(done):
        random = np.random.default_rng(0)
        jpegs(folder, random)
        digits(folder, random)
        open(done, "w").close()


if __name__ == "__main__":
    main()
