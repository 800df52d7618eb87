#!/usr/bin/env python3
"""Costs of this expc beside another one, such as that of an earlier commit, in turns: trials of `true`, reports, plans, `check` and `diagnose`.

Both binaries have their workers and `expc-report-bench` beside them, and the study files are valid for both. A figure is the processor time of
all processes of a command; where others use the machine, the least is the one to compare. `chrt -f 1` before this script keeps others away.
Prints a table, then one JSON line.

usage: beside.py --expc PATH --old PATH [--runs N] [--trials N...] [--points N] [--only WORD]
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import tempfile

import planner
import report
import trials
from timed import timed

ROOT = pathlib.Path(__file__).resolve().parent


class Side:
    """One of the two binaries, with a folder of its own."""

    def __init__(self, path, folder, options):
        self.path, self.folder = path.absolute(), folder
        folder.mkdir()
        self.write("growth", report.STUDY.format(last=options.points - 1, blocks=10))
        self.write("some", report.STUDY.format(last=19, blocks=10))
        self.write("grid", planner.study(1_000_000))
        for count in options.trials:
            self.write(f"true{count}", trials.STUDY.format(repeat=count // 10))

    def write(self, name, text):
        (self.folder / f"{name}.exp").write_text(text, encoding="utf-8")

    def fill(self):
        """The store of the report; its filler is that of the binary, since stores differ."""
        report.fill(self.path, self.path.parent / "expc-report-bench", self.folder, 10)

    def expc(self, *arguments):
        # Verdicts may fail or stay open.
        return timed([self.path, *arguments], allowed=(0, 3, 4), cwd=self.folder, env={**os.environ, "EXPC_DEVICE_LOCKS": "none"})

    def trials(self, count):
        shutil.rmtree(self.folder / "r", ignore_errors=True)
        return self.expc("run", f"true{count}.exp", "--results", "r", "--devices", "cpu:1", "--heat-up", "0", "--html", "page.html")


def costs(options):
    """The measurements: a name, the divisor of the figures, and a function of a side."""
    for count in options.trials:
        yield f"a trial of `true`, {count:,} trials", count, lambda side, count=count: side.trials(count)
    reports = f"report of {options.points * 10:,} trials"
    yield f"{reports}, text", 1, lambda side: side.expc("report", "growth.exp", "--results", "results")
    yield f"{reports}, with its page", 1, lambda side: side.expc("report", "growth.exp", "--results", "results", "--html", "page.html")
    yield f"{reports}, JSON", 1, lambda side: side.expc("report", "growth.exp", "--results", "results", "--format", "json")
    yield "plan of 1,000,000 points, text", 1, lambda side: side.expc("plan", "grid.exp")
    yield "plan of 1,000,000 points, JSON Lines", 1, lambda side: side.expc("plan", "grid.exp", "--format", "jsonl")
    yield "`check`, 50 lines", 1, lambda side: side.expc("check", ROOT / "planner/fifty_lines.exp")
    yield "`diagnose`, 20 points", 1, lambda side: side.expc("diagnose", "some.exp", "--results", "none")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--expc", type=pathlib.Path, required=True)
    parser.add_argument("--old", type=pathlib.Path, required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--trials", nargs="+", type=int, default=[1000, 3000])
    parser.add_argument("--points", type=int, default=10000)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory(prefix="expc-beside-") as name:
        sides = [Side(path, pathlib.Path(name) / folder, options) for path, folder in ((options.old, "old"), (options.expc, "new"))]
        if options.only in "report":
            for side in sides:
                side.fill()
        print("| what | old: processor ms, least | median | wall ms, least | MiB | new: processor ms, least | median | wall ms, least | MiB | new / old |")
        print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|", flush=True)
        for what, divisor, run in costs(options):
            if options.only not in what:
                continue
            runs = [[], []]
            for _ in range(options.runs):
                for side, times in zip(sides, runs):
                    times.append(run(side))
            figures = []
            for times in runs:
                wall, used, mib = zip(*times)
                figures.append([1e3 * value / divisor for value in (min(used), statistics.median(used), min(wall))] + [max(mib)])
            ratio = figures[1][0] / figures[0][0]
            found[what] = {"old": figures[0], "new": figures[1], "ratio": ratio}
            cells = [f"{value:.{2 if value < 10 else 0}f}" for value in figures[0] + figures[1]]
            print(f"| {what} | {' | '.join(cells)} | {ratio:.2f} |", flush=True)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
