#!/usr/bin/env python3
"""Whether `expc diagnose` says of claims of several assertions how often `expc report` decides them: many small studies of known truth are drawn and
judged, and their verdicts are counted beside the chances that diagnose states. No program runs: a store is written for each study, as a run would have
written it. docs/measurements/claims.md has the numbers.

usage: claims.py --expc PATH [--studies 1000]
"""
import argparse
import concurrent.futures
import json
import math
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "experiments/reference"))
import published  # noqa: E402

# A time and a size with 5 % of noise each. The true ratio of times is 1 / FASTER, that of sizes SMALLER.
STUDY = r"""workload job command ["job", options] {
  param way : int in 0..3 = 0
  outputs json("r.json")
  metric t : Time lower
  metric m : Bytes lower
}
study s {
  workload job
  factor way in 0..3  baseline 0
  compare gain = speedup(t) over way
  compare less = ratio(m)   over way
  compare overall = geomean(gain) over way
  criterion either: forall *: gain >= 1.1x or less <= 0.9x  with confidence 95%
  criterion both:   exists way: gain >= 1.1x and less <= 0.9x  with confidence 95%
  criterion most:   at least 2 of way: gain >= 1.1x  with confidence 95%
  criterion mean:   overall >= 1.1x  with confidence 95%
  design { repeat 10 }
}
"""
NOISE = 0.05
# Many blocks tell diagnose the truth and the noise of a study of ten.
PILOT = 2000


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--expc", required=True, type=pathlib.Path)
    parser.add_argument("--studies", type=int, default=1000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "s.exp").write_text(STUDY)

        def expc(*words):
            done = subprocess.run([options.expc.resolve(), *words, "--format", "json"], cwd=folder, capture_output=True, text=True)
            return json.loads(done.stdout)

        def store(results, plan, faster, smaller, draw):
            base = next(point["id"] for point in plan["points"] if point["parameters"]["way"] == 0)

            def trial(point, kind, number):
                noise = lambda: math.exp(draw.gauss(0, NOISE))  # noqa: E731
                t, m = (faster, 1e9) if point == base else (1, smaller * 1e9)
                return {"status": "valid", "metrics": {"t": t * noise(), "m": m * noise()}, "series": {}}

            shutil.rmtree(folder / results, ignore_errors=True)
            journal = published.Journal(folder / results)
            journal.run(plan, trial)
            journal.file.close()

        plan, pilot = expc("plan", "s.exp"), expc("plan", "s.exp", "-D", f"design.repeat={PILOT}")
        print("| truth | claim | passes: judged, stated | fails: judged, stated |\n| --- | --- | --- | --- |")
        for faster, smaller in ((1.1, 0.9), (1.15, 0.9), (1.15, 0.85)):
            def judged(seed):
                store(f"r{seed}", plan, faster, smaller, random.Random(f"{faster} {smaller} {seed}"))
                found = expc("report", "s.exp", "--results", f"r{seed}")["criteria"]
                shutil.rmtree(folder / f"r{seed}")
                return [(one["name"], one["verdict"]) for one in found]

            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                seen = [one for study in pool.map(judged, range(options.studies)) for one in study]
            store("pilot", pilot, faster, smaller, random.Random(f"{faster} {smaller}"))
            said = expc("diagnose", "s.exp", "--studies", "10000", "--results", "pilot")
            for criterion in said["design"]["criteria"]:
                shares = [seen.count((criterion["name"], verdict)) / options.studies for verdict in ("pass", "fail")]
                print(f"| {faster}x, {smaller}x | {criterion['name']} | {shares[0]:.1%}, {criterion['chances']['pass']:.1%} "
                      f"| {shares[1]:.1%}, {criterion['chances']['fail']:.1%} |", flush=True)


if __name__ == "__main__":
    main()
