#!/usr/bin/env python3
"""What `expc report` costs as a study grows: seconds, memory, and the size of the page, for ten runs of each of 100 to 10,000 points.

The studies are of a command with two metrics, a comparison and a criterion over all points; a program fills their stores with drawn values.
Prints a JSON line for each size. Asserts nothing but that the page is there: read docs/measurements for what is expected.

usage: report.py --expc PATH --filler PATH [--points N...] [--blocks N]
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import time

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


def measured(command, log):
    """Seconds and peak memory (MB) of a command."""
    begin = time.monotonic()
    child = subprocess.Popen(command, stdout=log, stderr=log)
    _, status, usage = os.wait4(child.pid, 0)
    return os.waitstatus_to_exitcode(status), time.monotonic() - begin, usage.ru_maxrss / 1024


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--expc", required=True)
    arguments.add_argument("--filler", required=True)
    arguments.add_argument("--points", nargs="+", type=int, default=[100, 1000, 10000])
    arguments.add_argument("--blocks", type=int, default=10)
    options = arguments.parse_args()
    for points in options.points:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "growth.exp").write_text(STUDY.format(last=points - 1, blocks=options.blocks))
            plan = folder / "plan.json"
            plan.write_bytes(subprocess.run([options.expc, "plan", str(folder / "growth.exp"), "--format", "json"], check=True, capture_output=True).stdout)
            subprocess.run([options.filler, str(plan), str(folder / "results"), str(options.blocks)], check=True)
            page = folder / "page.html"
            with open(folder / "log", "w+") as log:
                code, seconds, memory = measured([options.expc, "report", str(folder / "growth.exp"), "--results", str(folder / "results"), "--html", str(page)], log)
                if not page.exists() or f'data-label="valid">{points * options.blocks}<' not in page.read_text(encoding="utf-8"):
                    log.seek(0)
                    raise SystemExit(f"expc report ended with {code}: {log.read()}")
            print(json.dumps({"points": points, "trials": points * options.blocks, "seconds": round(seconds, 2), "memory_mb": round(memory),
                              "page_mb": round(page.stat().st_size / 1e6, 2)}), flush=True)


if __name__ == "__main__":
    main()
