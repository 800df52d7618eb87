#!/usr/bin/env python3
"""Geometric means over four programs, measured and judged by the binary: how often intervals miss the true mean on each side, under six noises,
and how often a criterion passes beside what `expc diagnose` says.

A study has 40 metrics, which are 40 independent draws: its program prints the numbers that lie beside it for its level and trial. Both sides
have one distribution but for the effect, so that the true geometric mean is the effect.

usage: aggregates.py --expc PATH [--runs N] [--noise NAME]     (40 studies a run and noise)"""
import argparse
import concurrent.futures
import json
import math
import pathlib
import random
import tempfile

from binary import Binary

METRICS, PROGRAMS, BLOCKS, NOISE, EFFECT = 40, 4, 10, 0.03, 1.02
NAMES = [f"m{k}" for k in range(METRICS)]
STUDY = """workload job command ["sh", "-c", "cat $$EXPC_STUDY_FOLDER/${{fast}}-$$EXPC_TRIAL", "${{program}}"] {{
  param fast    : int in 0..1 = 0
  param program : int in 1..{programs} = 1
  {metrics}
}}
study s {{
  workload job
  factor fast in 0..1 baseline 0
  factor program in 1..{programs}
  {claims}
  design {{ repeat {blocks} }}
}}
"""
METRIC = 'metric {0} : Time lower from regex("{0} (.+)", unit = 1s)'
CLAIM = "compare g{0} = speedup({0}) over fast\n  compare o{0} = geomean(g{0}) over program\n  criterion c{0}: o{0} >= 1x with confidence 95%"


def heavy(draw):
    return draw.gauss(0, 1) * (20 if draw.random() < 0.1 else 1)


def states(draw):
    return draw.gauss(0, 1) + (3 if draw.random() < 0.4 else 0)


# A trial's deviation in noises; what all trials of a block share, and what those of one side share: then its parts move together.
NOISES = {
    "normal": (lambda draw: draw.gauss(0, 1), 0, 0),
    "skewed (lognormal)": (lambda draw: math.exp(0.5 * draw.gauss(0, 1)), 0, 0),
    "heavy tails (a tenth is 20 times as wide)": (heavy, 0, 0),
    "two states (40 % are 3 noises slower)": (states, 0, 0),
    "drifting (blocks lie 10 noises apart)": (lambda draw: draw.gauss(0, 1), 10, 0),
    "correlated parts (a side moves by 2 noises in a block)": (lambda draw: draw.gauss(0, 1), 0, 2),
}


def write_trials(folder, noise, seed):
    draw = random.Random(seed)
    own, block, side = NOISES[noise]
    shared = {}
    for trial in range(1, 2 * PROGRAMS * BLOCKS + 1):
        number = (trial - 1) // (2 * PROGRAMS)
        for fast in (0, 1):
            lines = []
            for name in NAMES:
                moved = block * shared.setdefault((number, name), draw.gauss(0, 1)) + side * shared.setdefault((number, name, fast), draw.gauss(0, 1))
                lines.append(f"{name} {math.exp(NOISE * (own(draw) + moved)) / (EFFECT if fast else 1)!r}\n")
            (folder / f"{fast}-{trial}").write_text("".join(lines), encoding="ascii")


class Bench(Binary):
    def study(self, folder, metrics=NAMES):
        text = STUDY.format(programs=PROGRAMS, blocks=BLOCKS, metrics="\n  ".join(METRIC.format(name) for name in metrics),
                            claims="\n  ".join(CLAIM.format(name) for name in metrics))
        (folder / "s.exp").write_text(text, encoding="utf-8")

    def run(self, noise, seed):
        """Of the studies of one run: misses below and above, without an interval, passes."""
        with tempfile.TemporaryDirectory(prefix="expc-aggregates-") as name:
            folder = pathlib.Path(name)
            self.study(folder)
            write_trials(folder, noise, seed)
            done = self.command(folder, "run", "s.exp", "--heat-up", "0", "--devices", "cpu:1")
            report = json.loads(self.command(folder, "report", "s.exp", "--format", "json").stdout or "{}")
            if "criteria" not in report:
                raise SystemExit(done.stderr)
            cells = [(criterion["cells"][0], criterion["verdict"]) for criterion in report["criteria"]]
            ends = [cell.get("interval") for cell, _ in cells]
            ends = [end and (end["low"], end["high"]) if isinstance(end, dict) else end for end in ends]
            return (sum(bool(end) and end[0] > EFFECT for end in ends), sum(bool(end) and end[1] < EFFECT for end in ends),
                    sum(not end for end in ends), sum(verdict == "pass" for _, verdict in cells))

    def predicted(self):
        with tempfile.TemporaryDirectory(prefix="expc-aggregates-") as name:
            folder = pathlib.Path(name)
            self.study(folder, NAMES[:1])
            return self.command(folder, "diagnose", "s.exp", "--noise", f"{100 * NOISE:g}%", "--effect", f"c{NAMES[0]}={EFFECT}x").stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--expc", required=True)
    parser.add_argument("--runs", type=int, default=25)
    parser.add_argument("--noise", choices=list(NOISES), action="append", help="only these")
    options = parser.parse_args()
    bench = Bench(str(pathlib.Path(options.expc).resolve()))
    print(f"{options.runs * METRICS} studies each: missed below, missed above, without an interval, passed")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for noise in options.noise or NOISES:
            seen = [sum(column) / options.runs / METRICS for column in zip(*pool.map(lambda seed, of=noise: bench.run(of, seed), range(options.runs)))]
            print(f"{noise:56}", *(f"{100 * share:6.2f} %" for share in seen), flush=True)
    print(f"\nexpc diagnose --noise {NOISE:.0%} of the first:\n{bench.predicted()}")


if __name__ == "__main__":
    main()
