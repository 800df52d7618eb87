#!/usr/bin/env python3
"""Weights between expc and torchvision, in both directions: no benchmark, but it needs what benchmarks install.

usage: .deps/bench/bin/python tests/bench/torchvision_weights.py EXPC_WORKER   (after tools/setup --bench)

There: torchvision's model with random weights goes through safetensors into the worker, which trains no step but classifies the test digits;
torchvision, given the same pixels, must classify the same share. Back: what the worker has trained goes through safetensors and load_state_dict
into torchvision, which must reach the accuracy that the worker reported.
"""
import pathlib
import struct
import sys
import tempfile

import torch
from safetensors.torch import load_file, save_file
from torchvision.models import mobilenet_v2

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "conformance"))
import ranks  # noqa: E402

SIZE, WIDTH = 32, 0.25
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def digits(part):
    images = (ranks.DIGITS / f"{part}-images-idx3-ubyte").read_bytes()
    labels = (ranks.DIGITS / f"{part}-labels-idx1-ubyte").read_bytes()
    _, count, rows, cols = struct.unpack(">4I", images[:16])
    pixels = torch.frombuffer(bytearray(images[16:]), dtype=torch.uint8).reshape(count, 1, rows, cols).expand(-1, 3, -1, -1)
    scaled = torch.nn.functional.interpolate(pixels.float() / 255, (SIZE, SIZE), mode="bilinear", antialias=True, align_corners=False)
    normalised = (scaled - torch.tensor(MEAN).reshape(1, 3, 1, 1)) / torch.tensor(STD).reshape(1, 3, 1, 1)
    return normalised, torch.frombuffer(bytearray(labels[8:]), dtype=torch.uint8).long()


def accuracy(model):
    images, labels = digits("t10k")
    model.eval()
    with torch.no_grad():
        return (model(images).argmax(1) == labels).double().mean().item()


def trial(worker, **parameters):
    spec = ranks.specification("quality", 1, {"epochs": 3}, size=SIZE, width=WIDTH, batch=32, schedule="cosine", warmup_epochs=1, learning_rate=0.02,
                               **parameters)
    return ranks.result(worker, spec, timeout=600)


def main():
    worker = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        trial(worker, checkpoints={"folder": [str(place / "kept")]})
        (path,) = (place / "kept").glob("*/model.safetensors")
        model = mobilenet_v2(num_classes=10, width_mult=WIDTH)
        print("load_state_dict:", model.load_state_dict(load_file(path)))

        # What torchvision saves comes back as it went.
        save_file(model.state_dict(), str(place / "again.safetensors"))
        event = trial(worker, checkpoints={"folder": [str(place / "more")]}, initial_weights={"file": [str(place / "again.safetensors")]})
        (path,) = (place / "more").glob("*/model.safetensors")
        trained = mobilenet_v2(num_classes=10, width_mult=WIDTH)
        trained.load_state_dict(load_file(path))
        ours, theirs = event["metrics"]["accuracy"], accuracy(trained)
        print(f"after training on: expc {ours:.4f}, torchvision {theirs:.4f}")
        # A first loss near the one that training ended with shows that the weights did arrive.
        fresh = trial(worker)["series"]["loss"][0]
        print(f"first loss: {event['series']['loss'][0]:.4f} from torchvision's file, {fresh:.4f} from the seed")
        # Pixels differ by rounding at most: one of 360 images may tip over.
        return 0 if abs(ours - theirs) < 1.5 / 360 and event["series"]["loss"][0] < fresh / 2 else 1


if __name__ == "__main__":
    sys.exit(main())
