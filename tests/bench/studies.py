#!/usr/bin/env python3
"""Whole studies of a known truth through the binary: how often they pass, fail and cover, beside what `expc diagnose` says.

Each study runs a program that draws its time (studies/draw.c), has a results folder of its own and is reported on as any other. Designs:
one look, two more looks that are planned, repetitions that adapt, noise of unequal shapes, a control, trials that time out, looks that
nobody planned (more pairs, --fresh, a smaller design), sessions that treat the sides differently or are alike, and levels and sides
whose noise is correlated over trials; and histories, rankings and parts of a folder (histories.py). A design may have a goal: what
its row is to reach.
At the bound a claim that is false must not pass ("faster", > 1x) and one that is true must not fail ("keeps", >= 1x), each in 2.5 % at
most; beyond it the share that passes is compared with the one that `diagnose` foretells. Prints a table, then one JSON line.

usage: studies.py --expc PATH [--studies N] [--jobs N] [--only DESIGN] [--histories]     (sessions of their own: as root)
"""
import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import statistics
import subprocess
import tempfile
import uuid

import histories

HERE = pathlib.Path(__file__).resolve().parent / "studies"

STUDY = """workload job command ["{draw}", "${{seed}}", "${{side}}", "{shape}", "{effect}"] timeout 1s {{
  param side : int in 0..1 = 0
  metric t : Time lower from regex("(.+)", unit = 1s)
}}
study s {{
  workload job
  {claims}
  design {{ repeat {repeat}  seed {seed} }}
}}
"""
PAIRS = """factor side in 0..1 baseline 0
  compare gain = speedup(t) over side
  criterion faster: forall *: gain > 1x with confidence 95%
  criterion keeps:  forall *: gain >= 1x with confidence 95%"""
COVERED = "covers 92 % of what is judged"
LEVEL = """criterion faster: t > 1s with confidence 95%
  criterion keeps:  t >= 1s with confidence 95%"""


# One claim twice: it is false at the bound, where values tie.
ITEMS = """criterion faster: t > 1s with confidence 95%
  criterion keeps:  t > 1s with confidence 95%"""


class Design:
    """What a study claims and how often it runs: `runs` gives the words of each run, the last of which is judged. Only what `diagnose` can be
    told, one run of noise that is the same on both sides, has `foretold`. How often trials time out, and in which steps values come, is told by stored ones: of `seen` pairs.
    `sessions` is how many a study is told to be measured in. A design of several `folders` runs in each of them, in a session of its own and
    with a verdict of its own; all are merged into the first, and judged."""

    def __init__(self, repeat, shape="normal", claims=PAIRS, runs=((),), foretold=False, seen=0, goal="", effects=None, sessions=1, folders=1):
        self.repeat, self.shape, self.claims, self.runs, self.foretold, self.seen = repeat, shape, claims, runs, foretold, seen
        self.goal, self.effects = goal, effects or ([1.0] if claims in (LEVEL, ITEMS) else None)
        self.sessions, self.folders = sessions, folders


def stops(*trials):
    """The end of a shape: the run is interrupted at these trials, and goes on in a session of its own."""
    return "@" + ",".join(map(str, trials))


DESIGNS = {
    "one look, 10 pairs": Design("10", foretold=True),
    "planned looks at 8 and 14 of 20": Design("20 looks at 8, 14", foretold=True),
    "10 to 20 pairs until narrow": Design("10..20 until half_width(gain) <= 1.8%", foretold=True),
    "unequal shapes, 20 pairs": Design("20", "unequal"),
    "a control, 10 pairs": Design("10", claims=PAIRS + "\n  control again = [side = 0]", foretold=True),
    "a tenth times out, 10 pairs": Design("10", "late:0.1", foretold=True, seen=1000),
    "10 pairs, then 10 more": Design("20", runs=(("-D", "design.timed.repeat=10"), ())),
    "4 times --fresh, 10 pairs each": Design("10", runs=((), *[("--fresh",)] * 3)),
    "20 pairs, then judged as 10": Design("10", runs=(("-D", "design.timed.repeat=20"), ())),
    "3 sessions, offsets of 2 % by side": Design("18", "arms:0.02" + stops(12, 24), sessions=3, goal=COVERED),
    "6 sessions, offsets of 2 % by side": Design("24", "arms:0.02" + stops(8, 16, 24, 32, 40), sessions=6, goal=COVERED),
    **{f"sides correlated with themselves {rho}, {n} pairs": Design(str(n), f"own:{rho}", effects=[1.0], goal="covers 90 % of what is judged")
       for n in (10, 20, 40) for rho in (0.5, 0.8, 0.95)},
    "2 sessions, offsets of 2 % by side": Design("20", "arms:0.02" + stops(20), sessions=2, effects=[1.0], goal="refuses, or says its condition"),
    **{f"{folders} folders of 10 pairs, merged": Design("10", "arms:0", folders=folders, effects=[1.0, 1.025], goal="passes as the first folder")
       for folders in (1, 2, 3)},
    "3 folders of 10 pairs, offsets of 2 % by side": Design("10", "arms:0.02", folders=3, effects=[1.0], goal=COVERED),
    "2 sessions that are alike, 10 pairs each": Design("20", "arms:0" + stops(20), sessions=2, effects=[1.0, 1.025], goal="passes as one session"),
    "3 sessions that are alike, 7 pairs each": Design("21", "arms:0" + stops(14, 28), sessions=3, effects=[1.0, 1.025], goal="passes as one session"),
    **{f"a level, {n} trials": Design(str(n), claims=LEVEL, goal="at most 1.2 times as wide as Student's") for n in (10, 20, 40)},
    **{f"a level, correlated {rho}, {n} trials": Design(str(n), f"drift:{rho}", claims=LEVEL, goal=COVERED)
       for rho, n in ((0.5, 20), (0.8, 6), (0.8, 10), (0.8, 20), (0.95, 20), (0.95, 50))},
    "a level, a random walk of 20 trials": Design("20", "walk", claims=LEVEL, goal=COVERED),
    "a level, 2 sessions of 6, 2 % apart": Design("12", "arms:0.02" + stops(6), claims=LEVEL, sessions=2, goal=COVERED),
    "a level, sessions of 2 and 10, 2 % apart": Design("12", "arms:0.02" + stops(2), claims=LEVEL, sessions=2, goal=COVERED),
    "a level, 3 sessions of 8, 2 % apart": Design("24", "arms:0.02" + stops(8, 16), claims=LEVEL, sessions=3, goal=COVERED),
}
# What `diagnose` foretells has to be what the binary does: over restarts of the machine, and where values tie.
DESIGNS |= {
    "18 pairs in 3 sessions alike": Design("18", "normal" + stops(12, 24), foretold=True, sessions=3),
    "2 sessions until narrow": Design("8..30 until half_width(gain) <= 1.5%", "normal" + stops(20), foretold=True, sessions=2),
    "a share of 50 items, 20 trials": Design("20", "items:50", claims=ITEMS, foretold=True, seen=400),
}
EFFECTS = (1.0, 1.025, 1.1)

# Controls beside a claim of 5 %: blocks, noise of a trial, what a run leaves for a later one of its block, and the least share of verdicts
# that must be trusted (untrusted where something is left). 27 blocks are what `expc diagnose` says a control needs at 3 % noise.
CONTROLLED = """factor side in 0..1 baseline 0
  compare gain = speedup(t) over side
  criterion near: forall *: gain >= 0.95x with confidence 95%
  control again = [side = 0]"""
CONTROLS = [(12, 0.02, 0.03, 0.8), (12, 0.02, 0, 0.95), (12, 0.03, 0, 0.95), (27, 0.03, 0.03, 0.8), (12, 0.01, 0, 0.95)]


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
        self.shift = {"unequal": centre_of_unequal()}

    def write(self, folder, design, effect, seed):
        file = folder / "study.exp"
        file.write_text(STUDY.format(draw=self.draw, shape=design.shape, effect=effect / self.shift.get(design.shape, 1), claims=design.claims,
                                     repeat=design.repeat, seed=seed), encoding="utf-8")
        return file

    def expc(self, *words, boot=None, codes=(0, 3, 4)):
        """`boot`: a file with the name of another boot of the machine, so that what it runs is a session of its own; root may do that."""
        elsewhere = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"', boot] if boot else []
        process = subprocess.Popen([*elsewhere, self.options.expc, *map(str, words)], cwd=self.folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env={**os.environ, "EXPC_DEVICE_LOCKS": "none"})
        if boot:
            (boot.parent / "pid").write_text(f"{process.pid}\n", encoding="utf-8")
        stdout, stderr = process.communicate(timeout=600)
        if process.returncode not in (*codes, *([130] if boot else [])):
            raise SystemExit(f"{words}: {process.returncode}\n{stderr}")
        return subprocess.CompletedProcess(words, process.returncode, stdout, stderr)

    def study(self, design, effect, seed):
        """What one study says: of each criterion its verdict, and the interval and trials of its cell."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            file = self.write(pathlib.Path(folder), design, effect, seed)
            session = 0
            runs = [(words, f"results-{number}", seed + 100_000 * number) for number in range(design.folders) for words in design.runs]
            boot = file.parent / "boot" if "@" in design.shape or design.folders > 1 else None
            for words, results, own_seed in runs:
                interrupted = True
                while interrupted:
                    (file.parent / "session").write_text(f"{seed} {session}", encoding="utf-8")
                    session += 1
                    if boot:
                        boot.write_text(f"{uuid.uuid4()}\n", encoding="utf-8")
                    said = self.expc("run", file, *words, "-D", f"design.seed={own_seed}", "--results", file.parent / results, "--heat-up", 0,
                                     "--devices", "cpu:1", "--format", "json", boot=boot)
                    interrupted = said.returncode == 130
            if design.folders > 1:
                for number in range(1, design.folders):
                    self.expc("store", "merge", file.parent / f"results-{number}", "--results", file.parent / "results-0")
                said = self.expc("report", file, "-D", f"design.seed={seed}", "--results", file.parent / "results-0", "--format", "json")
        found = {}
        for criterion in json.loads(said.stdout)["criteria"]:
            cell, = criterion["cells"]
            # What a control leaves untrusted counts as open.
            verdict = "open" if criterion.get("untrusted") or criterion["provisional"] else criterion["verdict"]
            ends = {end: float(cell["interval"][end]) for end in ("low", "high")} if cell["interval"] else None  # "inf" of a timeout
            found[criterion["name"]] = (verdict, ends, cell["scope"]["complete"])
        return found

    def foretold(self, file, effect, design):
        seen = design.seen
        stored = self.folder / (f"seen-{effect}" if seen else "none")
        if seen:  # of a study of its own, so that what is known is not of one that is judged
            self.expc("run", file, "-D", f"design.timed.repeat={seen}", "--results", stored, "--heat-up", 0, "--devices", "cpu:1")
        unit = "s" if design.claims == ITEMS else "x"
        noise = [] if design.claims == ITEMS else ["--noise", "2%"]
        said = self.expc("diagnose", file, *noise, "--sessions", design.sessions, "--effect", f"faster={effect}{unit}", "--effect",
                         f"keeps={effect}{unit}", "--format", "json", "--results", stored)
        return json.loads(said.stdout)["design"]

    def row(self, name, effect):
        design = DESIGNS[name]
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            studies = list(pool.map(lambda seed: self.study(design, effect, seed), range(1, self.options.studies + 1)))
        n = len(studies)
        share = lambda criterion, verdict: sum(one[criterion][0] == verdict for one in studies) / n
        ends = [one["keeps"][1] for one in studies if one["keeps"][1]]
        row = {"design": name, "effect": effect, "studies": n, "judged": len(ends) / n,
               "covered": sum(end["low"] <= effect <= end["high"] for end in ends) / max(len(ends), 1),
               "passes": share("faster", "pass"), "fails": share("keeps", "fail"),
               "half_width": statistics.median([(end["high"] - end["low"]) / 2 for end in ends]) if ends else None,
               "blocks": sum(one["keeps"][2] for one in studies) / n, "goal": design.goal}
        if design.foretold and not self.options.no_forecast:
            told = self.foretold(self.write(self.folder, design, effect, n + 1), effect, design)
            criteria = {one["name"]: one for one in told["criteria"]}
            row["foretold"] = {"passes": criteria["faster"]["chances"]["pass"], "fails": criteria["keeps"]["chances"]["fail"],
                               "blocks": told["blocks"]["timed"]}
        return row

    def moved(self):
        """How many of the comparisons of a folder with another, of one session each and of the same program, say that something moved."""
        def one(seed):
            with tempfile.TemporaryDirectory(dir=self.folder) as folder:
                for side, name in enumerate("ab"):
                    file = self.write(pathlib.Path(folder), Design("10", "arms:0.02"), 1.0, 2 * seed + side)
                    (file.parent / "session").write_text(f"{2 * seed + side} 0", encoding="utf-8")
                    self.expc("run", file, "--results", file.parent / name, "--heat-up", 0, "--devices", "cpu:1")
                return self.expc("compare", file, file.parent / "a", file.parent / "b").returncode
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            codes = list(pool.map(one, range(1, self.options.studies + 1)))
        return {"comparisons": len(codes), "exit codes": {code: codes.count(code) for code in sorted(set(codes))}}

    def controlled(self, blocks, noise, left, goal):
        """How many verdicts of a study with a control are trusted, or untrusted where something is left."""
        def one(seed):
            with tempfile.TemporaryDirectory(dir=self.folder) as folder:
                file = self.write(pathlib.Path(folder), Design(str(blocks), f"left:{left}:{noise}", claims=CONTROLLED), 1.0, seed)
                (file.parent / "session").write_text(f"{seed} 0", encoding="utf-8")
                said = self.expc("run", file, "--results", file.parent / "results", "--heat-up", 0, "--devices", "cpu:1", "--format", "json")
            criterion, = json.loads(said.stdout)["criteria"]
            return (criterion["verdict"] in ("pass", "fail"), bool(criterion.get("untrusted")))
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            decided = [untrusted for is_decided, untrusted in pool.map(one, range(1, self.options.studies + 1)) if is_decided]
        share = sum(untrusted == bool(left) for untrusted in decided) / max(len(decided), 1)
        return {"blocks": blocks, "noise": noise, "left": left, "decided": len(decided), "goal": goal, "measured": share}


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
    parser.add_argument("--only", action="append", choices=[*DESIGNS, "controls", *histories.HISTORIES, *histories.RANKINGS, histories.PARTS])
    parser.add_argument("--histories", action="store_true", help="of histories, rankings and parts alone")
    parser.add_argument("--no-forecast", action="store_true", help="of what `expc diagnose` says of the designs")
    parser.add_argument("--effects", type=float, nargs="+", default=EFFECTS)
    options = parser.parse_args()
    options.expc = options.expc.resolve()
    rows = []
    with tempfile.TemporaryDirectory(prefix="expc-studies-") as folder:
        bench = Bench(options, pathlib.Path(folder))
        print(f"{'design':<46}{'true':>7}{'studies':>9}{'judged':>9}{'covered':>9}{'passes':>9}{'fails':>8}{'blocks':>8}{'half-width':>12}   foretold passes, fails, blocks")
        for design in [] if options.histories else [one for one in DESIGNS if one in (options.only or DESIGNS)]:
            for effect in DESIGNS[design].effects or options.effects:
                row = bench.row(design, effect)
                rows.append(row)
                told = row.get("foretold")
                said = f"{told['passes']:8.1%}{told['fails']:8.1%}{told['blocks']:8.1f}{'' if agrees(row) else '  DISAGREES'}" if told else ""
                print(f"{design:<46}{effect:>6}x{row['studies']:>9}{row['judged']:>9.1%}{row['covered']:>9.1%}{row['passes']:>9.1%}"
                      f"{row['fails']:>8.1%}{row['blocks']:>8.1f}{row['half_width'] or 0:>12.2%}   {said or row['goal']}", flush=True)
        controls = []
        for one in CONTROLS if not options.histories and (not options.only or "controls" in options.only) else []:
            controls.append(row := bench.controlled(*one))
            print(f"a control, {row['blocks']} blocks, {row['noise']:.0%} noise, {row['left']:.0%} left: "
                  f"{'untrusted' if row['left'] else 'trusted'} {row['measured']:.1%} of {row['decided']}, goal {row['goal']:.0%}", flush=True)
        others = []
        for row in histories.Histories(bench).rows(options.studies, options.only):
            others.append(row)
            print(f"{row['setting']:<52}{row['draws']:>6}{row['seen']:>8.1%}   goal {row['goal']}", flush=True)
        print(json.dumps({"studies": rows, "controls": controls, "histories": others,
                          **({} if options.only or options.histories else {"compare": bench.moved()})}))
    return 0 if all(agrees(row) for row in rows if "foretold" in row) else 1


if __name__ == "__main__":
    raise SystemExit(main())
