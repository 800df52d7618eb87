#!/usr/bin/env python3
"""How long `expc check` takes as a whole process, beside the start of an empty Python interpreter in the same run.

The peer is the floor of every planner written in Python (Hydra, JUBE, ReFrame): `python3 -c pass`, imports not counted.
Prints one JSON line. usage: check.py --expc PATH [--study FILE] [--runs N]
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def once(command):
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return (time.perf_counter() - begin) * 1e3


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--expc", required=True)
    arguments.add_argument("--study", default=str(ROOT / "experiments/precision.exp"))
    arguments.add_argument("--runs", type=int, default=50)
    options = arguments.parse_args()

    ours, peer = [options.expc, "check", options.study], ["/usr/bin/python3", "-c", "pass"]
    for command in (ours, peer):
        once(command)  # warm the page cache for both
    # Alternating, so that a drift of the machine meets both.
    times = [(once(ours), once(peer)) for _ in range(options.runs)]
    expc, python = (statistics.median(column) for column in zip(*times))
    print(json.dumps({
        "bench": "check", "study": pathlib.Path(options.study).name, "runs": options.runs,
        "expc_check_ms": {"median": round(expc, 2), "min": round(min(t[0] for t in times), 2),
                          "max": round(max(t[0] for t in times), 2)},
        "python_start_ms": {"median": round(python, 2), "min": round(min(t[1] for t in times), 2)},
        "ratio_python_over_expc": round(python / expc, 2),
    }))


if __name__ == "__main__":
    main()
