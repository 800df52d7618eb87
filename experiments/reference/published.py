#!/usr/bin/env python3
"""Fills a results folder with what the reference study printed, as if every trial of the studies' presets had measured it. So the studies, their
criteria and overview.py can be tried without a card. Of tables it takes each value (studies share points, and where two tables have one, the last counts); of a claim (claims.csv) the printed number, or half as much again in
its direction. With --reversed every direction is the opposite one. Nothing is measured: the worker's build is `published`.

usage: published.py [--expc PATH] [--reversed] --results DIR [STUDY...]     all studies of claims.csv without names
"""
import argparse
import collections
import csv
import functools
import itertools
import json
import math
import pathlib
import re
import struct
import subprocess
import zlib

HERE = pathlib.Path(__file__).resolve().parent
UNITS = {"x": 1, "%": 0.01, "s": 1, "ms": 0.001, "GB": 1e9, "": 1}
WORDS = {"more": 1.5, "less": 1 / 1.5, "up": 0.02, "down": -0.02}
# Claims with two readings, of which the printed value meets one and its opposite none.
READINGS = {"lora_faster": (["0.65x"], ["1.5x"]), "second_card": (["2x"], ["1.2x"])}
# The machine of std.systems, as a session records it.
SYSTEM = {"nodes": 1, "gpus": 4, "gpu.present": True, "gpu.memory": int(93.6 * 2**30), "sockets": 2, "cores": 64, "memory": 768 * 10**9}
PRESETS = ("paper", "paper_full")
STEPS = 100
WORKER = {"build": "published", "class": "published"}


def value(text):
    """A number with its unit as the language writes it, or a direction."""
    number, unit = re.fullmatch(r"(-?[\d.]+|[a-z]+)(x|%|s|ms|GB|)", text).groups()
    return WORDS[number] if number in WORDS else float(number) * UNITS[unit]


def claimed():
    """(printed, opposite) by study and criterion, as texts."""
    found = {}
    for line in csv.DictReader((HERE / "claims.csv").open()):
        for study in line["studies"].split():
            found[study, line["criterion"]] = (line["printed"].split(), line["opposite"].split())
    return found


def beyond(text, relation=""):
    """(least, most) that a text of claims.csv asks for: a direction may be exceeded, and so may the opposite of a bound with one side."""
    one = value(text)
    up = text in ("more", "up") or relation.startswith("<")
    down = text in ("less", "down") or relation.startswith(">")
    return (-math.inf if down else one), (math.inf if up else one)


def asked(criterion, bound, said, reverse):
    """(least, most) of a cell: all that is printed, the opposite of it, or what the bound admits."""
    if said and reverse:
        return beyond(said[1][0], bound["relation"])
    if said:
        sides = [beyond(text) for text in said[0]]
        return min(low for low, _ in sides), max(high for _, high in sides)
    if "high" in bound:
        middle = (bound["low"] + bound["high"]) / 2
        middle = 1 / middle if reverse and " like paper." in criterion["text"] else middle
        return middle, middle
    return (bound["low"] * 1.5, math.inf) if bound["relation"].startswith(">") else (-math.inf, bound["low"] / 1.5)


def short_hash(text):
    """BLAKE3 of at most 64 bytes, of which a store takes eight."""
    start = [0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19]
    message = struct.unpack("<16I", text.ljust(64, b"\0"))
    state = start + start[:4] + [0, 0, len(text), 1 | 2 | 8]  # one chunk that starts, ends and is the root
    turn = lambda word, by: word >> by | word << 32 - by & 0xFFFFFFFF  # noqa: E731
    for _ in range(7):
        for number, (a, b, c, d) in enumerate([(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
                                               (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)]):
            for word, right, left in ((message[2 * number], 16, 12), (message[2 * number + 1], 8, 7)):
                state[a] = state[a] + state[b] + word & 0xFFFFFFFF
                state[d] = turn(state[d] ^ state[a], right)
                state[c] = state[c] + state[d] & 0xFFFFFFFF
                state[b] = turn(state[b] ^ state[c], left)
        message = [message[i] for i in (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)]
    low, high = (state[i] ^ state[i + 8] for i in (0, 1))
    return struct.pack("<2I", low, high).hex()


def readings(plan, point, kind):
    """How a twin's metrics of a kind are read (runtime/store/match.cpp): its trials count only with these."""
    command = plan["workloads"][point.get("workload", 0)].get("command", {"metrics": []})
    kinds = {metric["name"]: metric["kind"] for metric in plan["metrics"]}
    return {metric["name"]: short_hash(f"1\n{metric['file']}\n{metric['where']}\n0x1p+0\n{str(metric['series']).lower()}".encode())
            for metric in command["metrics"] if kinds.get(metric["name"]) == kind}


def closed(term, derived, point=None):
    """A term whose metrics are measured ones of points."""
    if "metric" in term:
        point = term.get("point", point)
        return closed(derived[term["metric"]], derived, point) if term["metric"] in derived else {"metric": term["metric"], "point": point}
    inner = lambda one: closed(one, derived, point) if isinstance(one, dict) and not "low" in one else one  # noqa: E731
    return {name: [inner(each) for each in one] if isinstance(one, list) else inner(one) for name, one in term.items()}


class World:
    """Values of metrics at points, so that the terms of claims have the values that are wanted. A series is one number: its value before the first
    epoch, which each epoch halves."""

    def __init__(self):
        self.logs, self.fixed, self.read = {}, set(), set()

    def fix(self, metric, point, number):
        self.logs[metric, point] = math.log(number)
        self.fixed.add((metric, point))

    def at(self, metric, point):
        # No two values are equal at first, so that each way of moving them apart has a slope.
        self.logs.setdefault((metric, point), -0.1 - zlib.crc32((metric + point).encode()) / 2**32 / 100)
        self.read.add((metric, point))
        return math.exp(self.logs[metric, point])

    def term(self, term):
        if "metric" in term:
            return self.at(term["metric"], term["point"])
        if "constant" in term:
            return term["constant"]
        if "of" in term:
            return self.term(term["of"]) * term["scale"]
        if "first" in term:
            low = term["bound"]["low"]
            return math.log2(self.term(term["first"]) / (1 - low if term["bound"]["relation"] == ">=" else low))
        if "parts" in term:
            return math.prod(map(self.term, term["parts"])) ** (1 / len(term["parts"]))
        (name, parts), = term.items()
        join = {"ratio": lambda a, b: a / b, "quotient": lambda a, b: a / b, "difference": lambda a, b: a - b,
                "gap": lambda a, b: abs(a - b) / 2, "product": lambda a, b: a * b, "sum": lambda a, b: a + b}[name]
        return functools.reduce(join, map(self.term, parts))

    def approach(self, term, least, most):
        """One step of Kaczmarz's method on the logarithms of the values that a term reads."""
        self.read.clear()
        now, slopes = self.term(term), {}
        if not (off := min(max(now, least), most) - now):
            return
        for key in self.read - self.fixed:
            self.logs[key] += 1e-6
            slopes[key] = (self.term(term) - now) / 1e-6
            self.logs[key] -= 1e-6
        length = sum(slope * slope for slope in slopes.values())
        for key, slope in slopes.items():
            self.logs[key] += max(-1, min(1, off * slope / length)) if length else 0


class Journal:
    """The only journal of a new results folder (docs/layers/store.md), of one session."""

    def __init__(self, folder):
        path = pathlib.Path(folder) / "journal/000001.jsonl"
        path.parent.mkdir(parents=True)
        self.file, self.ids, self.blocks = path.open("x"), itertools.count(1), collections.Counter()
        self.say("opened", version=3, epoch=1, store="published", sealed={})
        self.session = next(self.ids)
        self.say("session", id=self.session, nodes=["published"], boots=["published"], workers=[WORKER], environment={"system": SYSTEM}, opened=[0, 0], seen=[0, 0])

    def say(self, entry, **fields):
        text = json.dumps({"entry": entry, **fields}, sort_keys=True, separators=(",", ":"), ensure_ascii=False)[:-1]
        self.file.write(f'{text},"sum":"{zlib.crc32(text.encode()):08x}"}}\n')

    def run(self, plan, trial):
        """All trials of a plan. `trial` gives the status, metrics and series of a point's trial in a block."""
        run, name = next(self.ids), plan["study"]
        self.say("plan", hash=plan["digest"], text=plan)
        builds = {"command" if "command" in workload else "built_in": WORKER for workload in plan["workloads"]}
        self.say("run", id=run, study=name, digest=plan["digest"], plan=plan["digest"], session=self.session, at=[0, 0], match={"digests": {}, **builds})
        points = [point for point in plan["points"] if not point.get("unavailable")]
        for kind in plan["design"]["kinds"]:
            keys = {}
            for point in points:
                keys[point["id"]] = next(self.ids)
                self.say("key", id=keys[point["id"]], point=point["id"], control="", kind=kind["kind"], settings=kind["settings"], data="",
                         readings=readings(plan, point, kind["kind"]), worker=WORKER["build"], **{"class": WORKER["class"]})
            for _ in range(kind["repeat"]):
                block, number = next(self.ids), self.blocks[name, kind["kind"]]
                self.blocks[name, kind["kind"]] += 1
                self.say("block", id=block, study=name, kind=kind["kind"], number=number, seed=block, session=self.session, settings=kind["settings"],
                         places=[point["id"] for point in points])
                for position, point in enumerate(points):
                    one = next(self.ids)
                    self.say("begin", trial=one, run=run, session=self.session, block=block, position=position, attempt=1, limit=0, started=0,
                             key=keys[point["id"]], devices=[], nodes=1)
                    self.say("end", trial=one, session=self.session, at=[0, 0], environment={}, seconds=1, **trial(point["id"], kind["kind"], number))
        self.say("run end", run=run, at=[0, 0], outcome={"kind": "complete"})


def targets(plan, claims, reverse):
    """(whether claims.csv says it, term, least, most) of each cell of a criterion that a value can meet."""
    derived = {metric["name"]: metric["derived"] for metric in plan["metrics"] if "derived" in metric}
    for criterion in plan["criteria"]:
        said = claims.get((plan["study"], criterion["name"])) or READINGS.get(criterion["name"])
        for cell in criterion["cells"] if not criterion.get("infeasible") else []:
            bound = cell.get("bound") or criterion.get("bound") or criterion["assertions"][0]["bound"]
            yield said is not None, closed(cell["term"], derived), *asked(criterion, bound, said, reverse)


def world(plans, claims, reverse):
    """One for all plans, since they share points. What claims.csv says comes last and so prevails."""
    found = World()
    for plan in plans:
        for reference in plan["references"] if not reverse else []:
            for one in reference["values"]:
                found.fix(one["metric"], one["point"], one["value"])
    wishes = sorted((wish for plan in plans for wish in targets(plan, claims, reverse)), key=lambda wish: wish[0])
    for _ in range(STEPS):
        for _, *wish in wishes:
            found.approach(*wish)
    return found


def trials(plan, world, reverse):
    """What a trial of a point is in a block: values differ by a thousandth from block to block."""
    full = {cell["points"][0] if isinstance(cell["points"][0], str) else cell["points"][0]["point"]
            for criterion in plan["criteria"] if criterion.get("infeasible") and not reverse for cell in criterion["cells"]}

    def trial(point, kind, number):
        if point in full:
            return {"status": "infeasible", "reason": "out of memory"}
        metrics, series = {}, {}
        for metric in plan["metrics"]:
            name = metric["name"]
            if metric["kind"] != kind or "derived" in metric:
                continue
            one = world.at(name, point) * (1 + (zlib.crc32(f"{name} {point} {number}".encode()) % 3 - 1) / 2000)
            if metric["series"]:
                halved = [one * 2 ** -(epoch + 0.3) for epoch in range(1, 21)]
                series[name] = [1 - each for each in halved] if name == "accuracy_curve" else halved
            else:
                metrics[name] = one
        return {"status": "valid", "metrics": metrics, "series": series}
    return trial


@functools.cache
def planned(expc, study, preset):
    done = subprocess.run([expc, "plan", HERE.parent / f"{study}.exp", "--preset", preset, "--system", "proxima", "--format", "json"],
                          capture_output=True, text=True, check=False)
    return [] if done.returncode else [(preset, json.loads(done.stdout))]  # refused: there is no such preset


def fill(expc, folder, studies=(), reverse=False, subfolder=lambda plan: "."):
    """Writes a journal for each subfolder. Returns the presets and plans."""
    claims = claimed()
    plans = [one for study in studies or sorted({study for study, _ in claims}) for preset in PRESETS for one in planned(expc, study, preset)]
    found, journals = world([plan for _, plan in plans], claims, reverse), {}
    for _, plan in plans:
        place = f"{folder}/{subfolder(plan)}"
        if place not in journals:
            journals[place] = Journal(place)
        journals[place].run(plan, trials(plan, found, reverse))
    for journal in journals.values():
        journal.file.close()
    return plans


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("studies", nargs="*")
    arguments.add_argument("--expc", default="expc")
    arguments.add_argument("--results", required=True, help="a new folder")
    arguments.add_argument("--reversed", action="store_true")
    options = arguments.parse_args()
    for preset, plan in fill(options.expc, options.results, options.studies, options.reversed):
        print(plan["study"], preset)


if __name__ == "__main__":
    main()
