#!/usr/bin/env python3
"""Whole studies of a known truth through the binary: how often they pass, fail and cover, beside what `expc diagnose` says.

Each study runs a program that draws its time (studies/draw.c), has a results folder of its own and is reported on as any other. Designs:
one look, two more looks that are planned, repetitions that adapt, noise of unequal shapes, a control, and a second look that nobody planned. At
the bound a claim that is false must not pass ("faster", > 1x) and one that is true must not fail ("keeps", >= 1x), each in 2.5 % at
most; beyond it the share that passes is compared with the one that `diagnose` foretells. Prints a table, then one JSON line.

usage: studies.py --expc PATH [--studies N] [--jobs N] [--only DESIGN]
"""
import argparse
import concurrent.futures
import json
import math
import pathlib
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent / "studies"

STUDY = """workload job command ["{draw}", "${{seed}}", "${{side}}", "{shape}", "{effect}"] {{
  param side : int in 0..1 = 0
  metric t : Time lower from regex("(.+)", unit = 1s)
}}
study s {{
  workload job
  factor side in 0..1 baseline 0
  compare gain = speedup(t) over side
  criterion faster: forall *: gain > 1x with confidence 95%
  criterion keeps:  forall *: gain >= 1x with confidence 95%
  {control}
  design full {{ repeat {repeat}  seed 1 }}
}}
"""

# name: repetitions, shape, a control, repetitions before (a look that was not planned)
DESIGNS = {
    "one look, 10 pairs": ("10", "normal", "", None),
    "planned looks at 8 and 14 of 20": ("20 looks at 8, 14", "normal", "", None),
    "10 to 20 pairs until narrow": ("10..20 until half_width(gain) <= 1.8%", "normal", "", None),
    "unequal shapes, 20 pairs": ("20", "unequal", "", None),
    "a control, 10 pairs": ("10", "normal", "control again = [side = 0]", None),
    "10 pairs, then 10 more": ("20", "normal", "", "10"),
}
EFFECTS = (1.0, 1.025, 1.1)


def centre_of_unequal():
    """The pseudo-median of the ratio where side 1 has the tail: of exp(0.02 (N - E + log 2)), by numerical integration."""
    tail = [-math.log((i + 0.5) / 200) for i in range(200)]

    def below(x):  # P(the mean of two of N - E + log 2 <= x)
        return sum(0.5 * math.erfc(-(x + (e + f) / 2 - math.log(2))) for e in tail for f in tail) / len(tail) ** 2
    low, high = -3.0, 3.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) < 0.5 else (low, middle)
    return math.exp(0.02 * low)


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.draw = folder / "draw"
        subprocess.run(["cc", "-O2", "-o", self.draw, HERE / "draw.c", "-lm"], check=True)
        # Where the centre of the ratios is not the ratio of the centres, the effect is stated of the former.
        self.shift = {"normal": 1.0, "unequal": centre_of_unequal()}

    def write(self, design, effect):
        repeat, shape, control, before = DESIGNS[design]
        files = []
        for n, repetitions in enumerate([before, repeat] if before else [repeat]):
            path = self.folder / f"{abs(hash((design, effect)))}.{n}.exp"
            path.write_text(STUDY.format(draw=self.draw, shape=shape, effect=effect / self.shift[shape], control=control,
                                         repeat=repetitions), encoding="utf-8")
            files.append(path)
        return files

    def expc(self, *words):
        result = subprocess.run([self.options.expc, *map(str, words)], cwd=self.folder, capture_output=True, text=True, timeout=600)
        if result.returncode not in (0, 3, 4):
            raise SystemExit(f"{words}: {result.returncode}\n{result.stderr}")
        return result

    def study(self, files, seed):
        """What one study says: of each criterion its verdict, and the interval and pairs of its cell."""
        with tempfile.TemporaryDirectory(dir=self.folder) as results:
            for path in files:
                said = self.expc("run", path, "-D", f"design.seed={seed}", "--results", results, "--heat-up", 0, "--devices",
                                 "cpu:1", "--no-device-lease", "--format", "json")
        found = {}
        for criterion in json.loads(said.stdout)["criteria"]:
            cell, = criterion["cells"]
            # What a control leaves untrusted counts as open.
            verdict = "open" if criterion.get("untrusted") or criterion["provisional"] else criterion["verdict"]
            found[criterion["name"]] = (verdict, cell["interval"], cell["scope"]["complete"])
        return found

    def foretold(self, file, effect):
        said = self.expc("diagnose", file, "--noise", "2%", "--effect", f"faster={effect}x", "--effect",
                         f"keeps={effect}x", "--format", "json", "--results", self.folder / "none")
        return json.loads(said.stdout)["design"]

    def row(self, design, effect):
        files = self.write(design, effect)
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            studies = list(pool.map(lambda seed: self.study(files, seed), range(1, self.options.studies + 1)))
        n = len(studies)
        share = lambda criterion, verdict: sum(one[criterion][0] == verdict for one in studies) / n
        ends = [one["keeps"][1] for one in studies]
        row = {"design": design, "effect": effect, "studies": n,
               "covered": sum(end["low"] <= effect <= end["high"] for end in ends) / n,
               "passes": share("faster", "pass"), "fails": share("keeps", "fail"),
               "pairs": sum(one["keeps"][2] for one in studies) / n}
        # Unequal shapes are no noise that --noise can state; a second look that nobody planned is no design.
        if design not in ("unequal shapes, 20 pairs", "10 pairs, then 10 more"):
            told = self.foretold(files[-1], effect)
            criteria = {one["name"]: one for one in told["criteria"]}
            row["foretold"] = {"passes": criteria["faster"]["chances"]["pass"], "fails": criteria["keeps"]["chances"]["fail"],
                               "pairs": told["blocks"]["timed"]}
        return row


def agrees(row, studies_foretold=1000):
    """Whether what was seen and what was foretold differ by less than four standard errors."""
    for name in ("passes", "fails"):
        p, q = row[name], row["foretold"][name]
        pooled = (p * row["studies"] + q * studies_foretold) / (row["studies"] + studies_foretold)
        error = math.sqrt(max(pooled * (1 - pooled), 1 / row["studies"] / 4) * (1 / row["studies"] + 1 / studies_foretold))
        if abs(p - q) > 4 * error:
            return False
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--expc", type=pathlib.Path, required=True)
    parser.add_argument("--studies", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", action="append", choices=list(DESIGNS))
    parser.add_argument("--effects", type=float, nargs="+", default=EFFECTS)
    options = parser.parse_args()
    options.expc = options.expc.resolve()
    rows = []
    with tempfile.TemporaryDirectory(prefix="expc-studies-") as folder:
        bench = Bench(options, pathlib.Path(folder))
        print(f"{'design':<34}{'true':>7}{'studies':>9}{'covered':>10}{'passes':>9}{'fails':>8}{'pairs':>7}   foretold passes, fails, pairs")
        for design in options.only or DESIGNS:
            for effect in options.effects:
                row = bench.row(design, effect)
                rows.append(row)
                told = row.get("foretold")
                said = f"{told['passes']:8.1%}{told['fails']:8.1%}{told['pairs']:7.1f}{'' if agrees(row) else '  DISAGREES'}" if told else ""
                print(f"{design:<34}{effect:>6}x{row['studies']:>9}{row['covered']:>10.1%}{row['passes']:>9.1%}{row['fails']:>8.1%}"
                      f"{row['pairs']:>7.1f}   {said}", flush=True)
    print(json.dumps({"studies": rows}))
    return 0 if all(agrees(row) for row in rows if "foretold" in row) else 1


if __name__ == "__main__":
    raise SystemExit(main())
