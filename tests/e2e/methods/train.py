"""Stands in for a training script: it yields what its arguments say, in the three forms that a study reads.

A file `pause` beside the study makes it take longer; a folder `seen` there lets it be faster when it has done the same before.
"""
import argparse
import csv
import json
import os
import pathlib
import random
import time

parser = argparse.ArgumentParser()
parser.add_argument("--method", required=True)
parser.add_argument("--rank", type=int)
parser.add_argument("--bits", type=int)
parser.add_argument("--noise", type=float, required=True)
parser.add_argument("--seed", type=int, required=True)
given = parser.parse_args()
assert (given.rank is None) == (given.method == "none"), "a rank where there is one, and nowhere else"
assert (given.bits is None) == (given.method != "qlora"), "likewise"
assert "RANK" not in os.environ and os.environ["EXPC_SEED"] == str(given.seed)
if given.method == "qlora":
    pathlib.Path(os.environ["EXPC_OUT_OF_MEMORY"]).write_text("no room, as asked\n", encoding="utf-8")
    raise MemoryError("as asked")
beside = pathlib.Path(os.environ["EXPC_STUDY_FOLDER"])
if (beside / "pause").exists():
    time.sleep(float((beside / "pause").read_text(encoding="utf-8")))

what = f"{given.method}-{given.rank}-{given.seed}"
step = {"none": 10.0, "lora": 12.0}[given.method] * (1 + given.noise * random.Random(what).uniform(-1, 1))
if (beside / "seen").exists():
    seen = beside / "seen" / what
    if seen.exists():
        step *= 0.7
    seen.touch()
for number in range(5):
    print(f"step {step + 4 - number:.4f} ms")
with open("out.json", "w", encoding="utf-8") as file:
    json.dump({"api": {"launch": step * 250, "names": ["a"]}}, file)
with open("log.csv", "w", newline="", encoding="utf-8") as file:
    table = csv.writer(file)
    table.writerow(["epoch", "loss"])
    for epoch in range(4):
        table.writerow([epoch, 2.0 - 0.25 * epoch - 0.01 * (given.rank or 0)])
        table.writerow([epoch, ""])
