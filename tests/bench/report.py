#!/usr/bin/env python3
"""What `expc report` costs as a study grows: seconds, memory, and the size of the page, for ten runs of each of 100 to 10,000 points.

The studies are of a command with two metrics, a comparison and a criterion over all points; a program fills their stores with drawn values.
Prints a JSON line for each size. Asserts nothing but that the page is there: read docs/measurements for what is expected.

usage: report.py --expc PATH --filler PATH [--points N...] [--blocks N]
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

from timed import timed

STUDY = """workload job command ["true", "${{level}}"] {{
  param level : int in 0..1000000 = 0
  metric wall : Time lower
  metric rate : Time lower from regex("(.+)", unit = 1s)
}}
study growth {{
  workload job
  factor level in 0..{last} baseline 0
  measure wall, rate
  compare gain = speedup(wall) over level
  criterion slow: forall *: gain <= 1.5x with confidence 95%
  design {{ repeat {blocks}  seed 1 }}
}}
"""


def fill(expc, filler, folder, blocks):
    """Fills the store `results` of the study growth.exp in the folder, which has as many blocks."""
    with open(folder / "plan.json", "wb") as plan:
        subprocess.run([expc, "plan", "growth.exp", "--format", "json"], cwd=folder, check=True, stdout=plan, stderr=subprocess.DEVNULL)
    subprocess.run([filler, "plan.json", "results", str(blocks)], cwd=folder, check=True)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--expc", type=pathlib.Path, required=True)
    arguments.add_argument("--filler", type=pathlib.Path, required=True)
    arguments.add_argument("--points", nargs="+", type=int, default=[100, 1000, 10000])
    arguments.add_argument("--blocks", type=int, default=10)
    options = arguments.parse_args()
    expc, filler = options.expc.absolute(), options.filler.absolute()
    for points in options.points:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "growth.exp").write_text(STUDY.format(last=points - 1, blocks=options.blocks))
            fill(expc, filler, folder, options.blocks)
            page = folder / "page.html"
            # Verdicts may fail or stay open.
            seconds, _, memory = timed([expc, "report", "growth.exp", "--results", "results", "--html", page], allowed=(0, 3, 4), cwd=folder)
            if f'data-label="valid">{points * options.blocks}<' not in page.read_text(encoding="utf-8"):
                raise SystemExit(f"{page} does not count {points * options.blocks} valid trials")
            print(json.dumps({"points": points, "trials": points * options.blocks, "seconds": round(seconds, 2), "memory_mb": round(memory),
                              "page_mb": round(page.stat().st_size / 1e6, 2)}), flush=True)


if __name__ == "__main__":
    main()
