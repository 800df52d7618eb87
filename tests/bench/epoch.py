#!/usr/bin/env python3
"""Times loading, training and a whole epoch of both over the same images (MobileNetV2, width 1, batch 32, fp32, two threads that train and two that load
on two cores): MNIST enlarged to 100 px, JPEG files of 300 px, and the same packed, by our loaders. What counts is how much longer an epoch takes than the
slower of its parts alone: at most 5 %. Prints docs/measurements/epoch.md's table, then one JSON line.

usage: epoch.py --bench PATH --expc PATH [--rounds N] [--steps N] [--data FOLDER]
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent / "loader"
PYTHON = ROOT / ".deps/bench/bin/python"
THREADS = 2
CASES = [("mnist", "mnist", 100), ("jpeg", "folder", 300), ("packed", "packed", 300)]
LOADERS = ("native", "threads")


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--bench", required=True, help="expc-epoch-bench")
    arguments.add_argument("--expc", required=True, help="packs the JPEGs once")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--steps", type=int, default=6, help="in a row, of each part in each round")
    arguments.add_argument("--data", default="/tmp/expc-loader-bench")
    options = arguments.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
    subprocess.run([PYTHON, HERE / "make_data.py", options.data], check=True)
    if not os.path.exists(f"{options.data}/packed"):
        subprocess.run([options.expc, "data", "pack", f"{options.data}/jpeg", "--to", f"{options.data}/packed"], check=True, stdout=subprocess.DEVNULL)

    rows = []
    print("| data | loader | loading, ms | training, ms | both, ms | both / the slower |\n| --- | --- | ---: | ---: | ---: | ---: |")
    for data, kind, size in CASES:
        for loader in LOADERS:
            command = [options.bench, loader, kind, f"{options.data}/{data}", "--size", f"{size}", "--rounds", f"{options.rounds}",
                       "--steps", f"{options.steps}", "--threads", f"{THREADS}", "--workers", f"{THREADS}"]
            run = subprocess.run(command, stdout=subprocess.PIPE, text=True)
            if run.returncode != 0:
                sys.exit(f"epoch.py: {' '.join(command)} ended with {run.returncode}")
            parts = {part: statistics.median(seconds) for part, seconds in json.loads(run.stdout).items()}
            least = {part: min(seconds) for part, seconds in json.loads(run.stdout).items()}
            rows.append({"data": data, "loader": loader, "median_s": parts, "least_s": least,
                         "ratio": round(parts["both"] / max(parts["load"], parts["train"]), 3),
                         "least_ratio": round(least["both"] / max(least["load"], least["train"]), 3)})
            print(f"| {data}, {size} px | {loader} | {1e3 * parts['load']:.1f} | {1e3 * parts['train']:.0f} | {1e3 * parts['both']:.0f} | "
                  f"{rows[-1]['ratio']:.3f} ({rows[-1]['least_ratio']:.3f}) |", flush=True)
    print(json.dumps({"bench": "epoch", "threads": THREADS, "rounds": options.rounds, "steps": options.steps, "rows": rows}))


if __name__ == "__main__":
    main()
