#!/usr/bin/env python3
"""How long planners take to expand a grid into points with all parameters, an id and a JSON line each: expc, Hydra, JUBE, ReFrame and a
bare loop in Python, side by side in one run. Also expc with three rules, and `expc check` on a study of 50 lines.

expc is timed as a whole process, start included. Of the peers the start of the interpreter and imports do not count, and where one takes
more than --peer-seconds it does a sample, or a smaller grid, and the time of a point is used (marked ~). Memory is what a process's peak
(VmHWM) grew by beyond that of an almost empty grid. Prints docs/measurements/planner.md's tables, then one JSON line.

usage: planner.py --expc PATH [--sizes 1000,10000,…] [--runs N] [--peer-seconds S]
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent / "planner"
PYTHON = ROOT / ".deps/bench/bin/python"
REFRAME = ROOT / ".deps/bench/bin/reframe"

STUDY = """enum model {{ mobilenet_v2, llama3 }}
enum source {{ folder, packed }}
enum optim {{ sgd, adam }}
enum precision {{ fp64, fp32, bf16 }}

workload job command ["true", "${{model}}", "${{data}}", "${{optim}}", "${{seed}}", "${{rate}}", "${{gpus}}", "${{epochs}}", "${{batch}}",
                      "${{precision}}", "${{workers}}", "${{prefetch}}", "${{pin_memory}}"] {{
  param model      : model = mobilenet_v2
  param data       : source = folder
  param optim      : optim = sgd
  param seed       : int in 0..1000 = 0
  param rate       : int in 1..1000 = 1
  param gpus       : int in 1..8 = 1
  param epochs     : int in 1..1000 = 20
  param batch      : int in 1..65536 = 64
  param precision  : precision = fp32
  param workers    : int in 0..64 = 2
  param prefetch   : int in 1..64 = 2
  param pin_memory : bool = false
  metric wall : Time lower
}}

study grid {{
  workload job
  factor model in {{ mobilenet_v2, llama3 }}
  factor data  in {{ folder, packed }}
  factor optim in {{ sgd, adam }}
  factor seed  in 0..{seeds}
  factor rate  in 1..{rates}
{rules}  measure wall
  design {{ repeat 1 }}
}}
"""
RULES = """  require few_seeds: model == mobilenet_v2 or seed < 100
  exclude data == packed and optim == adam and rate > {half}
  require warm: seed > 4 or rate > 1  because "the first rates were measured before"
"""


def study(points, rules=False):
    seeds, rates = (125, points // 1000) if points >= 1000 else (points // 8, 1)
    text = RULES.format(half=rates // 2) if rules else ""
    return STUDY.format(seeds=seeds - 1, rates=rates, rules=text)


def kept_by_rules(points):
    """What RULES leave of the grid, counted by hand."""
    rates, half = points // 1000, points // 1000 // 2
    # Seeds 0..124 of mobilenet_v2 and 0..99 of llama3, two optimisers of each source; the exclusion leaves packed and adam the lower rates.
    seeds = 125 + 100
    grid = seeds * (3 * rates + half)
    # Of the rest, rate 1 loses seeds 0..4 in both models; rate 1 is in the lower half if there is one.
    return grid - 2 * 5 * (4 if half else 3)


class Watch:
    """Follows VmHWM of a process until it ends."""

    def __init__(self, pid):
        self.peak_kib = 0
        self.path = f"/proc/{pid}/status"
        self.thread = threading.Thread(target=self.follow)
        self.thread.start()

    def follow(self):
        while True:
            try:
                with open(self.path) as status:
                    line = next((line for line in status if line.startswith("VmHWM")), None)
            except OSError:
                return
            if line is None:
                return  # a zombie has no memory
            self.peak_kib = max(self.peak_kib, int(line.split()[1]))
            time.sleep(0.001)


def timed(command, **options):
    """Seconds and peak MiB of a whole process whose output is thrown away."""
    begin = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **options)
    watch = Watch(process.pid)
    errors = process.communicate()[1]
    seconds = time.perf_counter() - begin
    watch.thread.join()
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {process.returncode}:\n{errors}")
    return seconds, watch.peak_kib / 1024, errors


def reported(command, **options):
    """What a peer's script says of itself in its last line."""
    return json.loads(timed(command, **options)[2].strip().splitlines()[-1])


class Expc:
    name = "expc"

    def __init__(self, path, folder, runs):
        self.path, self.folder, self.runs = path, folder, runs
        self.start_seconds, self.start_mib = (statistics.median(values) for values in zip(*(self.plan(8)[:2] for _ in range(5))))

    def plan(self, points, rules=False):
        file = self.folder / f"grid{points}{'r' if rules else ''}.exp"
        if not file.exists():
            file.write_text(study(points, rules))
        return timed([self.path, "plan", "--format", "jsonl", file])

    def count(self, points, rules=False):
        """Lines that hold a point; their ids must differ."""
        self.plan(points, rules)
        file = self.folder / f"grid{points}{'r' if rules else ''}.exp"
        process = subprocess.Popen([self.path, "plan", "--format", "jsonl", str(file)], stdout=subprocess.PIPE, text=True)
        ids = set()
        for line in process.stdout:
            point = json.loads(line)
            if "point" in point and len(point.get("parameters", ())) == 12:
                ids.add(point["point"])
        process.wait()
        return len(ids)

    def once(self, points, _):
        seconds, mib, _ = self.plan(points)
        return {"seconds": seconds, "mib": mib - self.start_mib}


class Floor:
    name = "itertools"

    def once(self, points, _):
        return reported(["/usr/bin/python3", HERE / "floor_grid.py", points])


class Jube:
    name = "JUBE"

    def __init__(self, folder):
        self.folder = folder

    def once(self, points, _):
        return reported(["/usr/bin/python3", HERE / "jube_grid.py", points, self.folder])


class Hydra:
    name = "Hydra"

    def once(self, points, limit):
        found = reported([PYTHON, HERE / "hydra_grid.py", points, limit])
        per_point = found["compose_seconds"] / found["composed"]
        sampled = found["composed"] < points
        return {"seconds": found["expand_seconds"] + per_point * points, "mib": None if sampled else found["mib"], "sampled": sampled}


class Reframe:
    name = "ReFrame"

    def __init__(self, folder):
        self.folder = folder
        self.per_point = None
        self.start_seconds, self.start_mib = self.list(8)

    def list(self, points):
        seconds, mib, _ = timed([REFRAME, "-c", HERE / "reframe_grid.py", "-l", "--prefix", self.folder / "reframe"], cwd=self.folder,
                                env={**os.environ, "GRID_POINTS": str(points), "RFM_LOG_DIR": str(self.folder)})
        return seconds, mib

    def once(self, points, limit):
        if self.per_point and self.per_point * points > limit:
            return {"seconds": self.per_point * points, "mib": None, "sampled": True}
        seconds, mib = self.list(points)
        self.per_point = (seconds - self.start_seconds) / points
        return {"seconds": seconds - self.start_seconds, "mib": mib - self.start_mib}


def median(runs):
    return {"seconds": statistics.median(run["seconds"] for run in runs), "sampled": any(run.get("sampled") for run in runs),
            "mib": None if runs[0]["mib"] is None else max(run["mib"] for run in runs)}


def human(seconds):
    for scale, unit, digits in ((3600, "h", 1), (60, "min", 1), (1, "s", 2), (1e-3, "ms", 1)):
        if seconds >= scale:
            return f"{seconds / scale:.{digits}f} {unit}"
    return f"{seconds * 1e6:.0f} us"


def times(ratio):
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}"


def expansion(options, folder):
    """results[size][tool]; the tools take turns, so that a drift of the machine meets all of them."""
    expc = Expc(options.expc, folder, options.runs)
    tools = [expc, Floor(), Jube(folder), Reframe(folder), Hydra()]
    results = {}
    for size in options.sizes:
        runs = {tool.name: [] for tool in tools}
        for turn in range(options.runs):
            for tool in tools:
                slow = tool is not expc and runs[tool.name] and runs[tool.name][0]["seconds"] > options.peer_seconds / 4
                if turn == 0 or not slow:
                    runs[tool.name].append(tool.once(size, options.peer_seconds))
        results[size] = {name: median(found) for name, found in runs.items()}
        counted = expc.count(size)
        if counted != size:
            raise SystemExit(f"expc wrote {counted} points of {size}")
    return expc, results


def with_rules(expc, size, runs):
    counted = expc.count(size, rules=True)
    if counted != kept_by_rules(size):
        raise SystemExit(f"expc kept {counted} points, by hand {kept_by_rules(size)}")
    found = [expc.plan(size, rules=True)[:2] for _ in range(runs)]
    return {"points": size, "kept": counted, "seconds": statistics.median(seconds for seconds, _ in found),
            "mib": max(mib for _, mib in found) - expc.start_mib}


def check(options):
    file = HERE / "fifty_lines.exp"
    lines = len(file.read_text().splitlines())
    if lines != 50:
        raise SystemExit(f"{file.name} has {lines} lines")
    times = [timed([options.expc, "check", file])[0] for _ in range(51)][1:]
    return {"lines": lines, "seconds": statistics.median(times), "least": min(times)}


def table(results):
    tools = list(next(iter(results.values())))
    yield "| points | " + " | ".join(tools) + " | " + " | ".join(f"{tool} / expc" for tool in tools if tool != "expc") + " |"
    yield "| ---: |" + " ---: |" * (2 * len(tools) - 1)
    for size, found in results.items():
        mark = {tool: "~" if found[tool]["sampled"] else "" for tool in tools}
        cells = [mark[tool] + human(found[tool]["seconds"]) for tool in tools]
        ratios = [mark[tool] + times(found[tool]["seconds"] / found["expc"]["seconds"]) for tool in tools if tool != "expc"]
        yield f"| {size:,} | " + " | ".join(cells + ratios) + " |"
    yield ""
    yield "| points | " + " | ".join(f"{tool}, MiB" for tool in tools) + " |"
    yield "| ---: |" + " ---: |" * len(tools)
    for size, found in results.items():
        cells = ["-" if found[tool]["mib"] is None else f"{max(0.0, found[tool]['mib']):.1f}" for tool in tools]
        yield f"| {size:,} | " + " | ".join(cells) + " |"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--expc", required=True)
    arguments.add_argument("--sizes", default="1000,10000,100000,1000000")
    arguments.add_argument("--runs", type=int, default=5)
    arguments.add_argument("--peer-seconds", type=float, default=60)
    options = arguments.parse_args()
    options.sizes = [int(size) for size in options.sizes.split(",")]
    if not PYTHON.exists():
        raise SystemExit("the peers are not installed: run tools/setup --bench")

    with tempfile.TemporaryDirectory() as folder:
        expc, results = expansion(options, pathlib.Path(folder))
        rules = with_rules(expc, options.sizes[-1], options.runs)
    checked = check(options)
    print("\n".join(table(results)))
    print(f"\n| what | figure |\n| --- | --- |\n"
          f"| {rules['points']:,} points, three rules, {rules['kept']:,} left | {human(rules['seconds'])}, {rules['mib']:.1f} MiB |\n"
          f"| `expc plan` of 8 points | {human(expc.start_seconds)}, {expc.start_mib:.1f} MiB in all |\n"
          f"| `expc check`, a study of {checked['lines']} lines | {human(checked['seconds'])}, least {human(checked['least'])} |\n")
    print(json.dumps({"bench": "planner", "runs": options.runs, "peer_seconds": options.peer_seconds, "expansion": results, "rules": rules,
                      "start": {"seconds": expc.start_seconds, "mib": expc.start_mib}, "check": checked}))


if __name__ == "__main__":
    main()
