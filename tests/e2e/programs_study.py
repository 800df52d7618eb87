#!/usr/bin/env python3
"""Programs that are built, compared and checked, through the real binaries: a C program is built once for each level of optimisation, its
wrong output is no result, and a new program beside an old one passes or fails a gate.

usage: programs_study.py --expc PATH
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent / "programs"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fault"))
import stored  # noqa: E402

SKIPPED = 77


class Folder:
    """A copy of the programs' folder with results beside it."""

    def __init__(self, expc, path):
        self.expc, self.path = expc, pathlib.Path(path) / "programs"
        shutil.copytree(HERE, self.path)

    def run(self, study, *more):
        return subprocess.run([self.expc, "run", study, "--results", "results", "--heat-up", "0", "--format", "json", *more],
                              cwd=self.path, capture_output=True, text=True, timeout=300)

    def query(self, text):
        return stored.rows(self.expc, self.path / "results", text)

    def script(self, name, milliseconds):
        (self.path / name).write_text(f"#!/bin/sh\necho {milliseconds}\n", encoding="utf-8")
        (self.path / name).chmod(0o755)


def verdicts(result):
    assert result.returncode in (0, 1, 3, 4, 5, 6), (result.returncode, result.stderr)
    return {criterion["name"]: criterion["verdict"] for criterion in json.loads(result.stdout)["criteria"]}


def built_once(folder):
    result = folder.run("sieve.exp")
    assert verdicts(result) == {"right": "pass"}, result.stderr
    assert sorted(folder.query("SELECT DISTINCT value FROM metric_value WHERE name IN ('primes', 'bytes_used', 'written')")) == \
        [(7,), (78498,), (1000000,)]
    built = sorted((folder.path / "results/prepared").glob("*/sieve"))
    assert len(built) == 2 and built[0].read_bytes() != built[1].read_bytes()
    assert result.stderr.count("prepared sieve for level=") == 2, result.stderr
    sums = dict(folder.query("SELECT trial, value FROM metric_value WHERE name = 'all_rounds'"))
    medians = dict(folder.query("SELECT trial, value FROM metric_value WHERE name = 'round'"))
    assert all(2 * medians[trial] < sums[trial] for trial in medians)
    assert "nothing to run" in folder.run("sieve.exp").stderr


def wrong_is_invalid(folder):
    result = folder.run("sieve.exp", "--preset", "hurried")
    assert result.returncode == 6, (result.returncode, result.stderr)
    assert 'expected json("/primes") == 78498, read from \'result.json\': it is 41538' in result.stderr, result.stderr
    assert result.stderr.count("prepared sieve") == 0, "what was built is there"
    (folder.path / "largest.txt").write_text("7\n", encoding="utf-8")
    result = folder.run("sieve.exp")
    assert result.returncode == 6, (result.returncode, result.stderr)
    assert "read from 'out.txt': it differs from line 1 on (7 bytes, 2 wanted)" in result.stderr, result.stderr


def does_not_build(folder):
    (folder.path / "sieve.c").write_text("int main(void) { return nothing; }\n", encoding="utf-8")
    result = folder.run("sieve.exp")
    assert result.returncode == 1, (result.returncode, result.stderr)
    assert "preparing workload sieve for level=O0" in result.stderr, result.stderr


def gated(folder):
    folder.script("old", 100)
    folder.script("new", 120)
    result = folder.run("gate.exp")
    assert verdicts(result) == {"no_regression": "fail"}, (result.returncode, result.stdout, result.stderr)
    folder.script("new", 101)
    result = folder.run("gate.exp")
    assert verdicts(result) == {"no_regression": "pass"}, result.stderr
    counts = folder.query("SELECT point, count(*) FROM trial WHERE status = 'valid' GROUP BY point ORDER BY 2")
    assert [count for _, count in counts] == [14, 14], f"the old program stands beside the new one in each block: {counts}"
    assert "the data files have changed" in result.stderr or "other inputs or data" in result.stderr, result.stderr
    (folder.path / "new").unlink()
    result = folder.run("gate.exp")
    assert result.returncode == 1 and "is missing" in result.stderr, result.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--expc", required=True)
    expc = os.path.abspath(parser.parse_args().expc)
    with tempfile.TemporaryDirectory(prefix="expc-gate-") as path:
        gated(Folder(expc, path))
    if not shutil.which("cc"):
        print("SKIPPED: no C compiler")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory(prefix="expc-programs-") as path:
        folder = Folder(expc, path)
        for step in (built_once, wrong_is_invalid, does_not_build):
            step(folder)
            print(step.__name__)


if __name__ == "__main__":
    main()
