#!/usr/bin/env python3
"""Reads what earlier versions wrote: in VERSION/ a study, its plan, its lock and its results, with the verdicts that were told then.

usage: read.py --expc PATH [--write VERSION]     --write makes such a folder with the expc at hand, before a release
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
KEPT = ("levels.exp", "levels.exp.lock", "plan.json", "results/journal")
PROGRAM = """#!/bin/sh
[ "$2" != kept ] || sleep "$3" >/dev/null 2>&1 &
echo "took $(($1 + EXPC_TRIAL % 3)) ms"
printf '{"times": [%d, %d, %d]}' "$1" "$1" $(($1 + EXPC_TRIAL % 3)) >out.json
"""


def call(folder, *words, codes=(0,)):
    """What a command printed."""
    done = subprocess.run([OPTIONS.expc, *words], cwd=folder, text=True, capture_output=True, timeout=300)
    if done.returncode not in codes:
        sys.exit(f"FAILED: {folder.name}: expc {' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def verdicts(text):
    return re.findall(r"^(?:PASS|FAIL|INCONCLUSIVE|BROKEN|NOT RUN) .*$", text, re.M)


def notes(text):
    """The notes of trials in `report --all`, each on a line of its own."""
    part = re.search(r"^Notes of trials\n((?:  .*\n)+)", text, re.M)
    return re.sub(r"\n {3,}", " ", part[1] if part else "").replace("\n  ", "\n").strip().splitlines()


def copied(version, folder):
    """A version's files where they may be written to."""
    return pathlib.Path(shutil.copytree(HERE / version, folder / version))


def read(version, folder):
    """What is wrong with what this expc reads."""
    there = copied(version, folder)
    told = (there / "verdicts.txt").read_text(encoding="utf-8").splitlines()
    merged = folder / "merged"
    call(there, "store", "merge", "results", "--results", str(merged))
    call(there, "store", "compact", "--results", str(merged))
    for what, words in {"its study": ("levels.exp",), "its plan": ("plan.json",), "its results, merged and compacted": ("levels.exp", "--results", str(merged))}.items():
        if (now := verdicts(call(there, "report", *words, codes=(3,)))) != told:
            yield f"{version}: a report of {what} says {now} and not {told}"
    noted = there / "notes.txt"  # a folder has them whose journals hold them as texts
    if noted.exists() and (now := notes(call(there, "report", "levels.exp", "--all", codes=(3,)))) != noted.read_text(encoding="utf-8").splitlines():
        yield f"{version}: its trials' notes are {now}"
    call(there, "store", "verify")
    if "nothing changed" not in (said := call(there, "plan", "levels.exp", "--diff", "levels.exp.lock")):
        yield f"{version}: its lock is another: {said}"


def write(version):
    """What `version` has to be able to read, anonymous."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copy(HERE / "levels.exp", folder)
        (folder / "draw.sh").write_text(PROGRAM)
        (folder / "draw.sh").chmod(0o755)
        call(folder, "plan", "levels.exp", "--lock")
        call(folder, "run", "levels.exp", "--devices", "cpu:1", "--heat-up", "0", "--quiet", codes=(3,))
        call(folder, "bundle", "levels.exp", "--anonymous", "--devices", "cpu:1")
        call(folder, "bundle", "levels.bundle.tar.zst", "--to", "taken-out")
        to = HERE / version
        shutil.rmtree(to, ignore_errors=True)
        to.mkdir()
        for kept in KEPT:
            source = folder / "taken-out" / kept
            (to / kept).parent.mkdir(exist_ok=True)
            (shutil.copytree if source.is_dir() else shutil.copy)(source, to / kept)
        told = verdicts(call(to, "report", "levels.exp", codes=(3,)))
        for made in (to / "results").iterdir():
            if made.name != "journal":
                made.unlink()
        (to / "verdicts.txt").write_text("".join(f"{line}\n" for line in told), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--expc", required=True)
    parser.add_argument("--write", metavar="VERSION")
    global OPTIONS
    OPTIONS = parser.parse_args()
    OPTIONS.expc = str(pathlib.Path(OPTIONS.expc).resolve())
    if OPTIONS.write:
        write(OPTIONS.write)
    versions = sorted(path.parent.name for path in HERE.glob("*/verdicts.txt"))
    faults = []
    for version in versions:
        with tempfile.TemporaryDirectory(prefix="expc-formats-") as folder:
            faults += read(version, pathlib.Path(folder))
    for fault in faults:
        print(f"FAILED: {fault}")
    print(f"files of {', '.join(versions)}: {len(faults)} faults")
    return 1 if faults or not versions else 0


if __name__ == "__main__":
    sys.exit(main())
