#!/usr/bin/env python3
"""Holds docs/reference-study.md to the studies: each row of its tables of items names a study with its criteria, tables and plots, all of
which are in the plan of the study's preset `paper` or `paper_full` for the reference study's machine, or it says why none asks. Every table,
figure and finding has a row. No criterion of these plans is left without a cell that is started, and none of these presets is its base again.

usage: reference_study.py --expc PATH
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference-study.md"
ITEMS = [*(f"Table {n}" for n in range(1, 6)), *(f"Figure {n}" for n in range(1, 18)), *(f"I{n}" for n in range(1, 12)),
         *(f"L{n}" for n in range(1, 10))]
PRESETS = ("paper", "paper_full")


def rows():
    """(item, study, criteria, shown, what differs) of each row of the tables that begin so."""
    for line in PAGE.read_text().split("| item | study |", 1)[1].splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if line.startswith("| ") and not line.startswith(("| ---", "| study | points")) and len(cells) >= 4 and cells[0] != "item":
            words = [re.findall(r"`([^`]+)`", cell) for cell in cells[1:4]]
            yield cells[0], *words, cells[4].strip("| ") if len(cells) > 4 else ""


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
        wanted = [None, *(p for p in PRESETS if re.search(rf"^\s*preset {p}\b", self.file.read_text(), re.M))]
        self.plans = {preset: self.plan(expc, preset) for preset in wanted}
        published = [plan for preset, plan in self.plans.items() if preset]
        self.criteria = {c["name"] for plan in published for c in plan["criteria"]}
        self.shown = {text for plan in published for text in shown(plan)}
        self.problems += [problem for preset in self.plans for problem in self.idle(preset)]
        for preset, plan in self.plans.items():
            if preset and all(plan.get(key) == self.plans[None].get(key) for key in ("points", "criteria", "design")):
                self.problems.append(f"{name}: preset {preset} is the study itself again")

    def plan(self, expc, preset):
        done = subprocess.run([expc, "plan", self.file, "--system", "proxima", "--format", "json", *(["--preset", preset] if preset else [])],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{self.file.name} {preset}: {done.stderr}")
        return json.loads(done.stdout)

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


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--expc", required=True)
    expc = str(pathlib.Path(arguments.parse_args().expc).resolve())
    problems, seen, studies = [], set(), {}
    for item, study, criteria, views, differs in rows():
        seen.add(item)
        if not study:
            if not differs or criteria or views:
                problems.append(f"{item}: no study is named, and nothing says why")
            continue
        for name in study:
            if name not in studies:
                studies[name] = Study(expc, name)
        named = studies[study[0]]
        problems += [f"{item}: {study[0]} has no criterion {name} under {PRESETS}" for name in criteria if name not in named.criteria]
        problems += [f"{item}: {study[0]} does not show '{view}'" for view in views if view not in named.shown]
    problems += [f"{item} has no row" for item in ITEMS if item not in seen]
    problems += [problem for study in studies.values() for problem in study.problems]
    # What is named beside these: twins, hours, and the loop of the page that says how to repeat it.
    page, loop = PAGE.read_text(), (ROOT / "docs/repeat-the-reference-study.md").read_text()
    looped = set(re.search(r"for study in ([\w\s\\]+); do", loop)[1].replace("\\", " ").split())
    hours = set(re.findall(r"^\| `(\w+)` \| \d+ \|", page, re.M))
    problems += [f"there is no study {name}" for name in {*re.findall(r"`(twin_\w+)`", page), *looped} if not (ROOT / f"experiments/{name}.exp").exists()]
    problems += [f"{name} is not in the loop of docs/repeat-the-reference-study.md" for name in studies if name not in looped]
    problems += [f"of {name} no hours are said" for name in looped - hours]
    print("\n".join(problems) or f"{len(seen)} items, {len(studies)} studies: each is asked as the page says")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
