#!/usr/bin/env python3
"""Writes golden/init.json: initial weights of MobileNetV2 as torch draws them (torch 2.11, CPU).

Rebuilds torchvision's sequence of layers with torch.nn, in the order of its constructor, and initialises them as it does. Needs torch;
only needed to make the committed file again.
"""
import json
from pathlib import Path

import torch
from torch import nn

STAGES = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]


def rounded(v):
    n = max(8, int(v + 4) // 8 * 8)
    return n + 8 if n < 0.9 * v else n


def layers(width, classes):
    made = []

    def conv(cin, cout, kernel, stride=1, groups=1):
        made.append(nn.Conv2d(cin, cout, kernel, stride, (kernel - 1) // 2, groups=groups, bias=False))

    channels = rounded(32 * width)
    conv(3, channels, 3, 2)
    for expansion, c, repeats, stride in STAGES:
        out = rounded(c * width)
        for r in range(repeats):
            hidden = channels * expansion
            if expansion != 1:
                conv(channels, hidden, 1)
            conv(hidden, hidden, 3, stride if r == 0 else 1, hidden)
            conv(hidden, out, 1)
            channels = out
    last = rounded(1280 * max(1, width))
    conv(channels, last, 1)
    made.append(nn.Linear(last, classes))
    for m in made:
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight, mode="fan_out")
        else:
            nn.init.normal_(m.weight, 0, 0.01)
            nn.init.zeros_(m.bias)
    return made


def case(seed, width, classes):
    torch.manual_seed(seed)
    weights = [m.weight.detach() for m in layers(width, classes)]
    return {
        "seed": seed,
        "width": width,
        "classes": classes,
        "first": [w.reshape(-1)[:2].tolist() for w in weights],
        "l2": [w.double().norm().item() for w in weights],
    }


if __name__ == "__main__":
    out = Path(__file__).resolve().parent / "golden" / "init.json"
    out.write_text(json.dumps([case(0, 0.25, 10), case(1234567890123, 0.5, 10)]) + "\n")
