#!/usr/bin/env python3
"""What a trial costs around the program that it measures: many trials of `true`, in one run beside hyperfine, JUBE, ReFrame and Hydra.
With exactly one argument `true` reads the locale's files, in case it is --help; all tools here give it two or none.

expc and the peers are timed as whole processes, expc and hyperfine in turns; of the other peers 200 trials are run. hyperfine keeps its
results in memory until the end; each trial of expc is on the disk before the next one starts; memory is that of its largest
process. Then a second run of the study, which finds that nothing is missing, and its report.
Prints a table, then one JSON line.

usage: trials.py --expc PATH [--sizes 100,1000,10000] [--runs N] [--python PATH]
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import tempfile
import time

from timed import timed

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent / "trials"

STUDY = """workload nothing command ["true", "level", "${{level}}"] {{
  param level : int in 1..10 = 1
  metric wall : Time lower
}}

study nothing {{
  workload nothing
  factor level in 1..10
  measure wall
  design {{ repeat {repeat} }}
}}
"""

JUBE = """<?xml version="1.0" encoding="UTF-8"?>
<jube><benchmark name="nothing" outpath="{folder}/out">
<parameterset name="trials"><parameter name="trial" type="int">{trials}</parameter></parameterset>
<step name="run"><use>trials</use><do>true</do></step>
</benchmark></jube>
"""


def expc(path, trials, folder):
    study = folder / "nothing.exp"
    study.write_text(STUDY.format(repeat=trials // 10))
    results = folder / f"results{trials}"
    shutil.rmtree(results, ignore_errors=True)
    run = [path, "run", study, "--results", results, "--devices", "cpu:1", "--heat-up", "0", "--html", folder / "page.html"]
    seconds, _, mib = timed(run, cwd=folder)
    return seconds, mib, timed(run, cwd=folder)[0], timed([path, "report", *run[2:5], "--html", folder / "page.html"], cwd=folder)[0]


def hyperfine(_, trials, folder):
    timed(["hyperfine", "-N", "--runs", trials, "--export-json", folder / "hyperfine.json", "true level 1"])


def jube(_, trials, folder):
    shutil.rmtree(folder / "out", ignore_errors=True)
    (folder / "jube.xml").write_text(JUBE.format(folder=folder, trials=",".join(map(str, range(trials)))))
    timed(["jube", "run", "--hide-animation", folder / "jube.xml"], cwd=folder)


def reframe(python, trials, folder):
    timed([python.parent / "reframe", "-c", HERE / "reframe_true.py", "-r", "--exec-policy=serial", "--prefix", folder / "reframe"], cwd=folder,
          env={**os.environ, "TRIALS": str(trials)})


def hydra(python, trials, folder):
    timed([python, HERE / "hydra_app.py", "--multirun", f"+trial=range({trials})"], cwd=folder)


PEERS = {"JUBE": jube, "ReFrame": reframe, "Hydra": hydra}


def seconds_of(run, python, trials, folder):
    begin = time.perf_counter()
    run(python, trials, folder)
    return time.perf_counter() - begin


def of_peer(run, python, trials, folder):
    """Milliseconds of a trial, without the start: from the difference of two sizes."""
    return 1e3 * (seconds_of(run, python, trials, folder) - seconds_of(run, python, 20, folder)) / (trials - 20)


def spread(values):
    return f"{statistics.median(values):.2f} | {min(values):.2f} to {max(values):.2f}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--expc", type=pathlib.Path, required=True)
    parser.add_argument("--sizes", type=lambda text: [int(part) for part in text.split(",")], default=[100, 1000, 10000])
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--python", type=pathlib.Path, default=ROOT / ".deps/bench/bin/python")
    options = parser.parse_args()
    program, python = options.expc.absolute(), options.python.absolute()
    found = {"expc": {}, "peers": {}}
    with tempfile.TemporaryDirectory(prefix="expc-trials-") as name:
        folder = pathlib.Path(name)
        print("| tool | trials | ms a trial | all runs | peak MiB | again, s | report, s |\n|---|--:|--:|--:|--:|--:|--:|", flush=True)
        for trials in options.sizes:
            # In turns, so that what else the machine does meets both.
            ours, hyperfines = [], []
            for _ in range(options.runs):
                ours.append(expc(program, trials, folder))
                hyperfines.append(of_peer(hyperfine, python, trials, folder))
            seconds, mib, again, report = zip(*ours)
            ms = [1e3 * each / trials for each in seconds]
            found["expc"][trials] = {"ms": ms, "mib": max(mib), "again": statistics.median(again), "report": statistics.median(report)}
            found["peers"].setdefault("hyperfine", {})[trials] = hyperfines
            print(f"| expc | {trials} | {spread(ms)} | {max(mib):.0f} | {statistics.median(again):.2f} | {statistics.median(report):.2f} |", flush=True)
            print(f"| hyperfine | {trials} | {spread(hyperfines)} | | | |", flush=True)
        for peer, run in PEERS.items():
            found["peers"][peer] = of_peer(run, python, 200, folder)
            print(f"| {peer} | 200 | {found['peers'][peer]:.2f} | | | | |", flush=True)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
