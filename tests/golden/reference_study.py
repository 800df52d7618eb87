#!/usr/bin/env python3
"""Holds docs/reference-study.md to the studies: each of its 107 rows names a study with its criteria, tables and plots, all of which are in
the plan of the study's preset `paper` or `paper_full` for the reference study's machine, or says why none asks. These plans have the paper's
settings. Each bound admits what the paper printed (experiments/reference/claims.csv) and refuses the opposite; those that ask for agreement
with a table have a cell for each of its values. No criterion is left without a cell that is started, and no preset is its base again.

usage: reference_study.py --expc PATH
"""
import argparse
import csv
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "experiments/reference"))
import hours  # noqa: E402
import overview  # noqa: E402
from published import value  # noqa: E402
PAGE = ROOT / "docs/reference-study.md"
CLAIMS = ROOT / "experiments/reference/claims.csv"
ITEMS = ["T1", "T2.1", "T2.2", "T2.3", "T2.4", "T3.1", "T3.2", "T3.3", "T4", "T5.1", "T5.2", *(f"F{n}" for n in range(1, 18)), "F8b",
         *(f"I{n}" for n in range(1, 12)), *(f"L{n}" for n in range(1, 10)), "L7b", *(f"P{n}" for n in range(1, 58))]
ASKED = 95  # rows at least
# The paper's settings, by workload. A factor may vary one of them, and a study say why it does not have it.
SETTINGS = {"image.mobilenet_v2": {"numa": "any", "kernels": "plain", "cudnn_benchmark": True, "host_waits": "both", "transfer_dtype": "compute"},
            "torch.mobilenet_v2": {"host_waits": "both", "transfer_dtype": "compute"},
            "llm.finetune": {"precision": "fp32", "batch": 2, "max_length": 8192, "accumulation": 1, "activation_checkpointing": False, "warmup_steps": 100},
            "torchtune.finetune": {"precision": "fp32", "batch": 2, "max_length": 8192}}
PRESETS = ("paper", "paper_full")
# What the paper does not have: claims of ours, and readings of which one must hold.
OURS = {"fits", "more_than_lora", "doubles", "fits_two", "same_training", "costs_little", "ours_keeps_up", "ours_beyond_tuned",
        "ours_on_average", "starts_sooner", "qat_fits", "lora_faster", "second_card"}


def admits(bound, number):
    low = bound["low"]
    return {">=": number >= low, ">": number > low, "<=": number <= low, "<": number < low,
            "within": low <= number <= bound.get("high", low)}[bound["relation"]]


def shown(plan):
    """Tables and plots of a plan in the language's words."""
    for kind in ("table", "plot"):
        for one in plan[kind + "s"]:
            over = f" over {one['over']}" if "over" in one else ""
            by = f" by {', '.join(one['by'])}" if one["by"] else ""
            yield f"{kind} {one['subject']}{over}{by}"


class Study:
    def __init__(self, expc, name):
        self.file = ROOT / "experiments" / f"{name}.exp"
        self.problems = []
        # A part of another file may have the preset.
        plans = {preset: self.plan(expc, preset) for preset in [None, *PRESETS]}
        self.plans = {preset: plan for preset, plan in plans.items() if plan}
        published = [plan for preset, plan in self.plans.items() if preset]
        self.criteria = {c["name"]: c for plan in published for c in plan["criteria"]}
        self.shown = {text for plan in published for text in shown(plan)}
        self.problems += [problem for preset in self.plans for problem in self.idle(preset)]
        self.problems += [problem for preset in PRESETS if preset in self.plans for problem in self.settings(preset)]
        for preset, plan in self.plans.items():
            if preset and not name.startswith("twin_") and all(plan.get(key) == self.plans[None].get(key) for key in ("points", "criteria", "design")):
                self.problems.append(f"{name}: preset {preset} is the study itself again")

    def plan(self, expc, preset):
        done = subprocess.run([expc, "plan", self.file, "--system", "proxima", "--format", "json", *(["--preset", preset] if preset else [])],
                              capture_output=True, text=True, check=False)
        if preset and f"unknown preset '{preset}'" in done.stderr:
            return None
        if done.returncode:
            raise SystemExit(f"{self.file.name} {preset}: {done.stderr}")
        return json.loads(done.stdout)

    def settings(self, preset):
        """Points with a setting that is not the paper's."""
        plan = self.plans[preset]
        varied = {factor["name"] for factor in plan["factors"]}
        wanted = {name: value for workload in plan["workloads"] for name, value in SETTINGS[workload["name"]].items() if name not in varied}
        for name, value in wanted.items():
            found = {point["parameters"].get(name, value) for point in plan["points"]}
            if found != {value}:
                yield f"{self.file.name} {preset}: {name} is {found}, the paper's is {value}"

    def idle(self, preset):
        """Criteria of which no cell is started. Points of which a criterion claims that they run out of memory are."""
        plan = self.plans[preset]
        stays = {p["id"] for p in plan["points"] if p.get("unavailable") or p.get("expected_infeasible")}
        read = lambda cell: {p if isinstance(p, str) else p["point"] for p in cell["points"]}  # noqa: E731
        stays -= {point for c in plan["criteria"] if c.get("infeasible") for cell in c["cells"] for point in read(cell)}
        for criterion in plan["criteria"]:
            if criterion.get("not_asked") and preset in PRESETS:
                yield f"{self.file.name} {preset}: criterion {criterion['name']} is not asked"
            elif criterion["cells"] and all(read(cell) & stays for cell in criterion["cells"]):
                yield f"{self.file.name} {preset}: no cell of criterion {criterion['name']} is started"


def claims(studies):
    """Bounds that do not admit what the paper printed, or admit its opposite; criteria without a line, and lines without a criterion."""
    seen = set()
    for line in csv.DictReader(CLAIMS.open()):
        for study in line["studies"].split():
            seen.add((study, line["criterion"]))
            criterion = studies[study].criteria.get(line["criterion"])
            if not criterion:
                yield f"claims.csv: {study} has no criterion {line['criterion']}"
                continue
            for text, wanted in [(text, True) for text in line["printed"].split()] + [(text, False) for text in line["opposite"].split()]:
                if admits(criterion["bound"], value(text)) != wanted:
                    yield f"{study} {line['criterion']} {criterion['bound']['text']}: {'refuses' if wanted else 'admits'} {text} ({line['from']})"
    for name, study in studies.items():
        for criterion in study.criteria.values():
            like = [cell["bound"] for cell in criterion["cells"]] if " like paper." in criterion["text"] else []
            if like and all(admits(bound, 2 / (bound["low"] + bound["high"])) for bound in like):
                yield f"{name} {criterion['name']}: admits the opposite of what was printed"
            if not like and not criterion.get("infeasible") and (name, criterion["name"]) not in seen and criterion["name"] not in OURS:
                yield f"{name}: claims.csv says nothing of {criterion['name']}"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--expc", required=True)
    expc = str(pathlib.Path(arguments.parse_args().expc).resolve())
    problems, seen, asked, studies = [], set(), set(), {}
    for _, item, _, study, criteria, views, differs in overview.rows():
        seen.add(item)
        if not study:
            if not differs or criteria or views:
                problems.append(f"{item}: no study is named, and nothing says why")
            continue
        for name in study:
            if name not in studies:
                studies[name] = Study(expc, name)
        asked.add(item)
        named = studies[study[0]]
        problems += [f"{item}: {study[0]} has no criterion {name} under {PRESETS}" for name in criteria if name not in named.criteria]
        problems += [f"{item}: {study[0]} does not show '{view}'" for view in views if view not in named.shown]
    problems += [f"{item} has no row" for item in ITEMS if item not in seen]
    problems += [f"{len(asked)} rows are asked, fewer than {ASKED}"] if len(asked) < ASKED else []
    for twin in {study for line in csv.DictReader(CLAIMS.open()) for study in line["studies"].split()} - set(studies):
        studies[twin] = Study(expc, twin)
    problems += claims(studies)
    problems += [problem for study in studies.values() for problem in study.problems]
    # What is named beside these: twins, hours, and the loop of the page that says how to repeat it.
    page, loop = PAGE.read_text(), (ROOT / "docs/repeat-the-reference-study.md").read_text()
    looped = {study for each in re.findall(r"for study in ([\w\s\\]+); do", loop) for study in each.replace("\\", " ").split()}
    said = {cells[0]: cells[1:] for cells in re.findall(r"^\| `(\w+)` \| (\d+) \| ([\d.]+) \| \d+ \| ([\d.]*) ?\|", page, re.M)}
    for name, (points, each, of_day) in said.items():
        for presets, wanted in ((["paper"], each), (["paper", "day"], of_day)):
            plan = hours.plan(expc, name, presets) if wanted else None
            if plan and (abs(hours.hours(plan) - float(wanted)) > 0.06 or wanted is each and len(plan["points"]) != int(points)):
                problems.append(f"{name} {presets}: the page says {points} points and {wanted} h, hours.py {len(plan['points'])} and {hours.hours(plan):.1f}")
            if plan and not 0.97 < hours.stated(plan) / hours.hours(plan) < 1.03:
                problems.append(f"{name} {presets}: by its design it takes {hours.stated(plan):.2f} h, by hours.py {hours.hours(plan):.2f} ({hours.takes(plan)})")
    problems += [f"there is no study {name}" for name in {*re.findall(r"`(twin_\w+)`", page), *looped} if not (ROOT / f"experiments/{name}.exp").exists()]
    problems += [f"{name} is not in the loop of docs/repeat-the-reference-study.md" for name in studies if name not in looped and not name.startswith("twin_")]
    problems += [f"of {name} no hours are said" for name in looped - set(said)]
    print("\n".join(problems) or f"{len(asked)} of {len(seen)} items are asked as the page says, by {len(studies)} studies")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
