"""Settings of studies.py about histories, rankings and parts of a folder: how often each says something that is not so, or finds what is.

A study has 40 metrics, which are 40 independent draws: its program prints the numbers that lie beside it for its trial. Each session of
a history is a results folder with one trial. `rows` gives what was seen with its goal."""
import concurrent.futures
import json
import math
import pathlib
import random
import tempfile

METRICS = [f"m{k}" for k in range(40)]
STUDY = """workload job command ["sh", "-c", "cat $$EXPC_STUDY_FOLDER/trial-$$EXPC_TRIAL", "${{level}}"] {{
  param level : int in 0..9 = 0
  {metrics}
}}
study s {{
  workload job
  {body}
  design {{ repeat {repeat} }}
}}
"""


def correlated(draw, n, keeps):
    """Sessions of a standard deviation of 1 %, each of which keeps a share of the one before; with 1 a random walk."""
    values = [draw.gauss(0, 1)]
    while len(values) < n:
        values.append(keeps * values[-1] + (math.sqrt(1 - keeps * keeps) if keeps < 1 else 1) * draw.gauss(0, 1))
    return values


def moving(draw, n, level):
    return [draw.gauss(0, 1) + level(k) for k in range(n)]


# What a history says (`changes`, `drift` or `outlying`), and how often it should at most, or at least where that is true.
HISTORIES = {
    "16 independent sessions: a step": ("changes", "<= 5 %", lambda draw: correlated(draw, 16, 0)),
    "20 sessions that keep 0.4: a step": ("changes", "<= 5 %", lambda draw: correlated(draw, 20, 0.4)),
    "20 sessions that keep 0.7: a step": ("changes", "<= 5 %", lambda draw: correlated(draw, 20, 0.7)),
    "a random walk of 20 sessions: a step": ("changes", "<= 5 %", lambda draw: correlated(draw, 20, 1)),
    "12 sessions that drift by 0.35 sd each: a step": ("changes", "<= 5 %", lambda draw: moving(draw, 12, lambda k: 0.35 * k)),
    "16 sessions that drift by 0.35 sd each: a step": ("changes", "<= 5 %", lambda draw: moving(draw, 16, lambda k: 0.35 * k)),
    "16 sessions that drift by 0.35 sd each: a drift": ("drift", "most", lambda draw: moving(draw, 16, lambda k: 0.35 * k)),
    "a step of 2.66 sd at the 8th of 16": ("changes", "power", lambda draw: moving(draw, 16, lambda k: 2.66 * (k >= 8))),
    "a step of 1.75 sd at the 10th of 20": ("changes", "power", lambda draw: moving(draw, 20, lambda k: 1.75 * (k >= 10))),
    "a step of 6 sd at the 8th of 16": ("changes", "power", lambda draw: moving(draw, 16, lambda k: 6 * (k >= 8))),
    "the newest of 20 sessions 20 sd slower": ("outlying", "100 %", lambda draw: moving(draw, 20, lambda k: 20 * (k == 19))),
    "16 independent sessions: the newest outlying": ("outlying", "<= 5 %", lambda draw: correlated(draw, 16, 0)),
}
RANKINGS = {f"{points} equal points, {blocks} blocks: told apart": (points, blocks) for points, blocks in ((2, 2), (2, 3), (2, 6), (5, 10))}
PARTS = "the same twice, 4 --fresh runs, judged as parts"


class Histories:
    def __init__(self, bench):
        self.bench = bench

    def study(self, folder, body, repeat, trials):
        """The study's file, and the numbers of each trial beside it: of 40 metrics."""
        metrics = "\n  ".join(f'metric {name} : Time lower from regex("^{name} (.+)$", unit = 1ms)' for name in METRICS)
        file = folder / "s.exp"
        file.write_text(STUDY.format(metrics=metrics, body=body, repeat=repeat), encoding="utf-8")
        for number, values in enumerate(trials, 1):
            lines = (f"{name} {100 * math.exp(0.01 * value)!r}\n" for name, value in zip(METRICS, values))
            (folder / f"trial-{number}").write_text("".join(lines), encoding="utf-8")
        return file

    def run(self, file, results, *words):
        return self.bench.expc("run", file, "--results", results, "--heat-up", 0, "--devices", "cpu:1", "--quiet", *words)

    def history(self, folder, name, draw):
        said, _, course = HISTORIES[name]
        sessions = list(zip(*[course(draw) for _ in METRICS]))
        folders = [folder / f"r{k}" for k in range(len(sessions))]
        for results, values in zip(folders, sessions):
            self.run(self.study(folder, "measure " + ", ".join(METRICS), 1, [values]), results)
        found = []
        for metric in METRICS:
            whole = json.loads(self.bench.expc("compare", folder / "s.exp", *folders, "--by", "session", "--metric", metric, "--format", "json").stdout)
            found.append(bool(whole["courses"][0].get(said)))
        return found

    def ranking(self, folder, name, draw):
        points, blocks = RANKINGS[name]
        trials = [[draw.gauss(0, 1) for _ in METRICS] for _ in range(points * blocks)]
        body = f"factor level in 0..{points - 1}\n  measure " + ", ".join(METRICS) + "".join(f"\n  table ranking of {one}" for one in METRICS)
        self.run(self.study(folder, body, blocks, trials), folder / "r")
        whole = json.loads(self.bench.expc("report", folder / "s.exp", "--results", folder / "r", "--format", "json").stdout)
        return [(one["points"][-1]["rank"] or 1) > 1 for one in whole["description"]["rankings"]]

    def parts(self, folder, draw):
        trials = [[draw.gauss(0, 1) for _ in METRICS] for _ in range(80)]
        claims = "".join(f"\n  compare g{k} = ratio({one}) over level\n  criterion c{k}: forall *: g{k} < 1x with confidence 95%"
                         for k, one in enumerate(METRICS))
        file = self.study(folder, "factor level in 0..1 baseline 0" + claims, 10, trials)
        for k in range(4):
            self.run(file, folder / "r", *["--fresh"] * (k > 0))
        decided = set()
        for k in (1, 3):
            sides = [f"{folder / 'r'},run={run}" for run in (k, k + 1)]
            for claim in json.loads(self.bench.expc("compare", file, *sides, "--claims", "--format", "json", codes=(0, 3, 4, 5)).stdout)["verdicts"]:
                if any(side["verdict"] in ("PASS", "FAIL") for side in claim["sides"]):
                    decided.add(claim["name"])
        return [f"c{k}" in decided for k in range(len(METRICS))]

    def rows(self, studies, only=None):
        """Each setting with its goal, the share that was seen, and of how many; of `studies` draws at least."""
        settings = [(name, goal, lambda folder, draw, name=name: self.history(folder, name, draw)) for name, (_, goal, _) in HISTORIES.items()]
        settings += [(name, "<= 5 %", lambda folder, draw, name=name: self.ranking(folder, name, draw)) for name in RANKINGS]
        settings += [(PARTS, "5.5 %", self.parts)]

        def one(setting, seed):
            with tempfile.TemporaryDirectory(dir=self.bench.folder) as folder:
                return setting(pathlib.Path(folder), random.Random(seed))
        for name, goal, setting in settings:
            if only and name not in only:
                continue
            with concurrent.futures.ThreadPoolExecutor(self.bench.options.jobs) as pool:
                seeds = range(1, math.ceil(studies / len(METRICS)) + 1)
                seen = [hit for hits in pool.map(lambda seed, setting=setting: one(setting, seed), seeds) for hit in hits]
            yield {"setting": name, "goal": goal, "seen": sum(seen) / len(seen), "draws": len(seen)}
