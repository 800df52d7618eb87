#!/usr/bin/env python3
"""Fills stores with what the reference study printed (experiments/reference/published.py), and judges them: each criterion of its claims passes, none
fails and each is decided. With every direction reversed none passes. Studies of one family of workloads share points, so a family's numbers are in
one store. The reversed ones are in a store for each study, since a report reads all of its store.

usage: published.py --expc PATH
"""
import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "experiments/reference"))
import published  # noqa: E402


def judged(expc, folder, preset, plan):
    """(criterion, verdict) of a preset's report."""
    done = subprocess.run([expc, "report", ROOT / f"experiments/{plan['study']}.exp", "--preset", preset, "--results", folder, "--format", "json"],
                          capture_output=True, text=True, check=False)
    return [(one["name"], one["verdict"]) for one in json.loads(done.stdout)["criteria"]]


def problems(expc, folder, reverse):
    claims = published.claimed()

    def subfolder(plan):
        return plan["study"] if reverse else plan["workloads"][0]["name"].partition(".")[2]

    filled = published.fill(expc, folder, reverse=reverse, subfolder=subfolder)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for (preset, plan), found in zip(filled, pool.map(lambda one: judged(expc, f"{folder}/{subfolder(one[1])}", *one), filled)):
            for name, verdict in found:
                said = (plan["study"], name) in claims or name in published.READINGS
                if verdict == "fail" and not reverse or said and (verdict == "pass") == reverse:
                    yield f"{plan['study']} {preset}: {name} is '{verdict}' with {'everything reversed' if reverse else 'the published numbers'}"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--expc", required=True)
    expc = str(pathlib.Path(arguments.parse_args().expc).resolve())
    with tempfile.TemporaryDirectory() as folder:
        found = [problem for reverse in (False, True) for problem in problems(expc, f"{folder}/{reverse}", reverse)]
    print("\n".join(found) or "the published numbers pass, and their opposites do not")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
