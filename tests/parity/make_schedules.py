#!/usr/bin/env python3
"""Writes golden/schedules.json: learning rates of torch's schedulers, step by step (torch 2.11, CPU).

SequentialLR of a LinearLR that starts at a hundredth, as torchvision's references/classification/train.py has it, and StepLR (0.98),
CosineAnnealingLR or ConstantLR. Needs torch; only needed to make the committed file again.
"""
import json
import warnings
from pathlib import Path

import torch
from torch.optim import lr_scheduler

EPOCH = 7


def main_schedule(optimizer, kind, steps):
    if kind == "step":
        return lr_scheduler.StepLR(optimizer, step_size=EPOCH, gamma=0.98)
    if kind == "cosine":
        return lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps, eta_min=0)
    return lr_scheduler.ConstantLR(optimizer, factor=1)


def case(kind, base, warmup, total):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=base)
    after = main_schedule(optimizer, kind, total - warmup)
    scheduler = after
    if warmup:
        first = lr_scheduler.LinearLR(optimizer, start_factor=0.01, total_iters=warmup)
        scheduler = lr_scheduler.SequentialLR(optimizer, schedulers=[first, after], milestones=[warmup])
    rates = []
    for _ in range(total):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return {"kind": kind, "base": base, "warmup": warmup, "epoch": EPOCH, "rates": rates}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    cases = [case(kind, base, warmup, 40) for kind in ("constant", "step", "cosine") for base, warmup in ((0.045, 0), (0.1, 11))]
    out = Path(__file__).resolve().parent / "golden" / "schedules.json"
    out.write_text(json.dumps(cases) + "\n")
