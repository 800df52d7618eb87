#!/usr/bin/env python3
"""Compares what `expc plan` expands the project's experiments to with what was counted by hand, in counts/NAME.txt for each study:
    PLAN --system proxima              more arguments for `expc plan FILE --format json`; the lines below hold for that plan
    COUNT points 12 = 3 strategies x 4 gpus
    COUNT cells gain 8 = ...           of a comparison
    COUNT criterion fp32_pays 4 = ...  instances of a claim
    COUNT pairs fp32_pays 40 = ...     its cells x the blocks of their kind
    COUNT trials | product | removed | expected_infeasible | unavailable
Each must also check cleanly, as it is and with each of its presets, and every comparison and criterion must be counted in the first
plan of its study.

usage: counts.py --expc PATH [PATTERN...]
"""
import argparse
import json
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLAN = re.compile(r"PLAN\b(?P<arguments>.*)$")
COUNT = re.compile(r"COUNT (?P<what>\w+)(?: (?P<name>[A-Za-z_].*?))? (?P<number>\d+)(?: = .*)?$")
NAMED = {"cells", "criterion", "pairs"}
PLAIN = {"product", "points", "removed", "trials", "expected_infeasible", "unavailable"}


def studies():
    return sorted((ROOT / "experiments").glob("*.exp"))


def counts_of(study):
    """Where the counts of a study stand."""
    return ROOT / "tests/golden/counts" / f"{study.stem}.txt"


def plans(study):
    """What was counted of a study: (arguments, {(what, name): number}) for each PLAN line."""
    file = counts_of(study)
    found = []
    if not file.exists():
        return found
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if match := PLAN.match(line):
            found.append((shlex.split(match["arguments"]), {}))
        elif line.startswith("COUNT"):
            match = COUNT.match(line)
            if not match or not found or (match["what"] in NAMED) != (match["name"] is not None) or match["what"] not in NAMED | PLAIN:
                raise SystemExit(f"{file}:{number}: this test cannot read: {line}")
            found[-1][1][match["what"], match["name"]] = int(match["number"])
    return found


def expc(options, *arguments):
    return subprocess.run([options.expc, *arguments], cwd=ROOT, capture_output=True, text=True)


def place(point):
    return point if isinstance(point, str) else point["point"]


def counted(plan):
    """The same numbers of a plan."""
    repeats = {kind["kind"]: kind["repeat"] for kind in plan["design"]["kinds"]}
    claimed = {place(p) for c in plan["criteria"] if c.get("infeasible") for cell in c["cells"] for p in cell["points"]}
    runnable = [p for p in plan["points"] if not p.get("unavailable") and (not p.get("expected_infeasible") or p["id"] in claimed)]
    numbers = {
        ("product", None): plan["product"],
        ("points", None): len(plan["points"]),
        ("removed", None): sum(group["count"] for group in plan["removed"]),
        ("expected_infeasible", None): sum(1 for p in plan["points"] if p.get("expected_infeasible")),
        ("unavailable", None): sum(1 for p in plan["points"] if p.get("unavailable")),
        ("trials", None): len(runnable) * sum(repeats.values()),
    }
    for comparison in plan["comparisons"]:
        numbers["cells", comparison["name"]] = len(comparison["cells"])
    for criterion in plan["criteria"]:
        numbers["criterion", criterion["name"]] = len(criterion["cells"])
        numbers["pairs", criterion["name"]] = sum(repeats[cell["kind"]] for cell in criterion["cells"])
    return numbers


def problems_of(options, file):
    name = file.relative_to(ROOT)
    expected = plans(file)
    if not expected:
        yield f"{name}: nothing was counted by hand in {counts_of(file).relative_to(ROOT)}"
        return
    # A part of another file may have a preset, and a part of this one may be used by others only.
    for preset in (None, "quick", "paper", "day", "paper_full"):
        checked = expc(options, "check", str(name), *(["--preset", preset] if preset else []))
        if preset and f"unknown preset '{preset}'" in checked.stderr + checked.stdout:
            continue
        if checked.returncode != 0 or checked.stderr.strip() != f"{name}: no mistakes found":
            yield f"{name} {preset or ''}: does not check cleanly:\n{checked.stderr}{checked.stdout}"
    for position, (arguments, hand) in enumerate(expected):
        where = " ".join([str(name), *arguments])
        planned = expc(options, "plan", str(name), "--format", "json", *arguments)
        if planned.returncode != 0:
            yield f"{where}: cannot be planned:\n{planned.stderr}"
            continue
        numbers = counted(json.loads(planned.stdout))
        for key, number in hand.items():
            if key not in numbers:
                yield f"{where}: the plan has no {' '.join(filter(None, key))}"
            elif numbers[key] != number:
                yield f"{where}: {' '.join(filter(None, key))} is {numbers[key]}, by hand {number}"
        if position == 0:
            for what, which in numbers:
                if what in ("cells", "criterion") and (what, which) not in hand:
                    yield f"{where}: {what} {which} was not counted by hand"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--expc", required=True)
    arguments.add_argument("patterns", nargs="*")
    options = arguments.parse_args()
    options.expc = str(pathlib.Path(options.expc).resolve())
    files = [file for file in studies() if not options.patterns or any(p in str(file) for p in options.patterns)]
    if not files:
        raise SystemExit("no study matches")
    total = sum(len(hand) for file in files for _, hand in plans(file))
    problems = [problem for file in files for problem in problems_of(options, file)]
    studied = {counts_of(file) for file in studies()}
    problems += [f"{counts.relative_to(ROOT)}: there is no such study" for counts in (ROOT / "tests/golden/counts").iterdir() if counts not in studied]
    print("\n".join(problems) or f"{total} numbers of {len(files)} studies are what was counted by hand")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
