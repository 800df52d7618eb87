#!/usr/bin/env python3
"""Whether `expc diagnose` says of claims of several assertions how often `expc run` decides them: many small studies of known truth are run, and
their verdicts are counted beside the chances that diagnose states. docs/measurements/claims.md has the numbers.

usage: claims.py --expc PATH [--studies 100]
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import tempfile

# A time and a size with 5 % of noise each. The true ratio of times is 1 / FASTER, that of sizes SMALLER.
STUDY = r"""workload job command ["awk", "-v", "s=${seed}", "-v", "w=${way}",
    "function g() { return sqrt(-2 * log(1 - rand())) * cos(6.283185307 * rand()) } BEGIN { srand(s % 100000007 * 8 + w); rand(); rand(); print \"t\", (w % 2 ? 1 : FASTER) * exp(0.05 * g()); print \"m\", (w % 2 ? SMALLER : 1) * exp(0.05 * g()) }"] {
  param way : int in 0..5 = 0
  metric t : Time lower from regex("t (.+)", unit = 1s)
  metric m : Bytes lower from regex("m (.+)", unit = 1GB)
}
study s {
  workload job
  factor way in { 0, 1, 3, 5 }  baseline 0
  compare gain = speedup(t) over way
  compare less = ratio(m)   over way
  compare overall = geomean(gain) over way
  criterion either: forall *: gain >= 1.1x or less <= 0.9x  with confidence 95%
  criterion both:   exists way: gain >= 1.1x and less <= 0.9x  with confidence 95%
  criterion most:   at least 2 of way: gain >= 1.1x  with confidence 95%
  criterion mean:   overall >= 1.1x  with confidence 95%
  design { repeat 10  seed SEED }
}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--expc", required=True, type=pathlib.Path)
    parser.add_argument("--studies", type=int, default=100)
    options = parser.parse_args()
    print("| truth | claim | pass: run, diagnose | fail: run, diagnose |\n| --- | --- | --- | --- |")
    for faster, smaller in ((1.1, 0.9), (1.15, 0.9), (1.15, 0.85)):
        counts = {}
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "s.exp"

            def expc(*words):
                return subprocess.run([options.expc.resolve(), *words], cwd=folder, capture_output=True, text=True,
                                      env=os.environ | {"EXPC_DEVICE_LOCKS": "none"})  # no clock decides here

            def write(seed, repeat=10):
                text = STUDY.replace("FASTER", str(faster)).replace("SMALLER", str(smaller)).replace("SEED", str(seed))
                file.write_text(text.replace("repeat 10", f"repeat {repeat}"))

            def run(results):
                expc("run", "s.exp", "--heat-up", "0", "--devices", "cpu:1", "--quiet", "--results", results)

            for seed in range(options.studies):
                write(seed)
                run(f"r{seed}")
                for criterion in json.loads(expc("report", "s.exp", "--format", "json", "--results", f"r{seed}").stdout)["criteria"]:
                    counts.setdefault(criterion["name"], []).append(criterion["verdict"])
            # Many blocks tell diagnose the truth and the noise of a study of ten.
            write(options.studies, 300)
            run("pilot")
            write(options.studies)
            said = json.loads(expc("diagnose", "s.exp", "--studies", "2000", "--format", "json", "--results", "pilot").stdout)
        for criterion in said["design"]["criteria"]:
            seen = counts[criterion["name"]]
            shares = [seen.count(verdict) / len(seen) for verdict in ("pass", "fail")]
            chances = criterion["chances"] or {"pass": math.nan, "fail": math.nan}
            print(f"| {faster}x, {smaller}x | {criterion['name']} | {shares[0]:.0%}, {chances['pass']:.0%} | {shares[1]:.0%}, {chances['fail']:.0%} |",
                  flush=True)


if __name__ == "__main__":
    main()
