#!/usr/bin/env python3
"""Images per second of our loaders beside DALI's CPU pipeline and torchvision under torch's DataLoader: same files, two threads or workers on two cores,
batches of 32, 300 x 300 x 3 normalised fp32 unless said otherwise, one contender after the other in every round.

JPEG files of 300 px; the same packed, where the peers have nothing but the JPEGs; MNIST's 28 px enlarged. Of each contender the best epoch of all rounds
counts, and the processor time of an image, which hardly depends on what else runs. "tuned" is Python with an allocator that keeps its memory. DALI's rate
is that of its faster layout. Prints docs/measurements/loaders.md's tables, then one JSON line.

usage: loaders.py --bench PATH [--expc PATH] [--rounds N] [--epochs N] [--data FOLDER]
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

import turns

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent / "loader"
PYTHON = ROOT / ".deps/bench/bin/python"
THREADS = 2
DIGITS = 2000

# What a goal compares: our contender, the peers' (the fastest counts), how many times as fast.
GOALS = [("JPEG beside DALI", "jpeg", "native", "DALI", 1.6), ("JPEG beside torchvision", "jpeg", "native", "torchvision", 5),
         ("packed beside DALI", "packed", "native, uint8", "DALI", 12), ("MNIST beside DALI", "mnist", "native", "DALI", 15),
         ("MNIST beside torchvision", "mnist", "native", "torchvision", 30)]


def contenders(options):
    """(data, name) -> command, environment."""
    result = {}

    def ours(data, name, loader, kind, path, *settings):
        command = [options.bench, loader, kind, path, "--workers", THREADS, "--epochs", options.epochs, *settings]
        result[data, name] = (command, {})

    def peer(data, name, script, *arguments):
        for label, environment in ((name, {}), (name + ", tuned", turns.TUNED)):
            result[data, label] = ([PYTHON, HERE / script, *arguments], environment)

    jpeg, mnist, packed = f"{options.data}/jpeg", f"{options.data}/mnist", f"{options.data}/packed"
    few = "--images", DIGITS
    for data, kind, path, settings in (("jpeg", "folder", jpeg, ()), ("mnist", "mnist", mnist, few)):
        ours(data, "native", "native", kind, path, *settings)
        ours(data, "native, bf16", "native", kind, path, "--element", "bf16", *settings)
        ours(data, "dataloader, threads", "threads", kind, path, "--layout", "nchw", *settings)
        ours(data, "dataloader, processes", "processes", kind, path, "--layout", "nchw", *settings)
    if os.path.exists(packed):
        for element in ("fp32", "bf16", "uint8"):
            ours("packed", f"native, {element}", "native", "packed", packed, "--element", element)
    for data, images in (("jpeg", 1000), ("mnist", DIGITS)):
        for layout in ("CHW", "HWC"):
            peer(data, f"DALI {layout}", "dali.py", data, options.data, THREADS, images, options.epochs, layout)
        for way in ("pil", "tensor"):
            peer(data, f"torchvision {way}", "torchvision_loader.py", data, options.data, THREADS, images, options.epochs, way)
    return result


def once(command, environment):
    output = subprocess.run([str(part) for part in command], env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True)
    if output.returncode != 0:
        sys.exit(f"loaders.py: {' '.join(map(str, command))} ended with {output.returncode}")
    return json.loads(output.stdout.strip().splitlines()[-1])


def fastest(results, data, prefix, key, best):
    """The best value of all contenders whose name begins so."""
    return best(row[key] for (where, name), row in results.items() if where == data and name.startswith(prefix))


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--bench", required=True, help="expc-loader-bench")
    arguments.add_argument("--expc", help="packs the JPEGs once")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--epochs", type=int, default=4)
    arguments.add_argument("--data", default="/tmp/expc-loader-bench")
    options = arguments.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])

    subprocess.run([PYTHON, HERE / "make_data.py", options.data], check=True)
    if options.expc and not os.path.exists(f"{options.data}/packed"):
        subprocess.run([options.expc, "data", "pack", f"{options.data}/jpeg", "--to", f"{options.data}/packed"], check=True, stdout=subprocess.DEVNULL)

    runs = {}
    for _ in range(options.rounds):
        for key, (command, environment) in contenders(options).items():
            runs.setdefault(key, []).append(once(command, environment))
    results = {key: {"best_img_s": max(run["best_img_s"] for run in rows), "median_img_s": sorted(run["median_img_s"] for run in rows)[len(rows) // 2],
                     "cpu_us": min(run["cpu_us_per_image"] for run in rows)} for key, rows in runs.items()}

    print("| data | loader | images/s, best epoch | median | processor time of an image, us |\n| --- | --- | ---: | ---: | ---: |")
    for (data, name), row in results.items():
        print(f"| {data} | {name} | {row['best_img_s']:,} | {row['median_img_s']:,} | {row['cpu_us']:,.0f} |")
    print("\n| goal | at least | by rate | by processor time |\n| --- | ---: | ---: | ---: |")
    ratios = {}
    for label, data, name, prefix, wanted in GOALS:
        if (data, name) not in results:
            continue
        beside = "jpeg" if data == "packed" else data
        ratios[label] = {"goal": wanted, "rate": round(results[data, name]["best_img_s"] / fastest(results, beside, prefix, "best_img_s", max), 2),
                         "cpu": round(fastest(results, beside, prefix, "cpu_us", min) / results[data, name]["cpu_us"], 2)}
        print(f"| {label} | {wanted} | {ratios[label]['rate']} | {ratios[label]['cpu']} |")
    print(json.dumps({"bench": "loaders", "threads": THREADS, "rounds": options.rounds, "ratios": ratios,
                      "results": {f"{data}: {name}": row for (data, name), row in results.items()}}))


if __name__ == "__main__":
    main()
