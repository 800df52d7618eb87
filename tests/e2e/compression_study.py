#!/usr/bin/env python3
"""experiments/compression.exp with its preset `quick`, from the study to the verdicts: zstd of the distribution packs the digits.

What zstd writes is the same in every run, so the claims about sizes have known verdicts; the one about speed must only be decided.

usage: compression_study.py --expc PATH
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--expc", required=True)
    expc = str(pathlib.Path(arguments.parse_args().expc).resolve())
    if not shutil.which("zstd"):
        print("zstd is missing: tools/setup --tests installs it")
        return SKIPPED
    with tempfile.TemporaryDirectory() as results:
        command = [expc, "run", "experiments/compression.exp", "--preset", "quick", "--results", results, "--heat-up", "0", "--verdicts-ok",
                   "--format", "json"]
        first = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
        assert first.returncode == 0, first.stderr
        judged = json.loads(first.stdout)
        verdicts = {criterion["name"]: criterion["verdict"] for criterion in judged["criteria"]}
        for name in ("effort_shrinks", "quick_is_close", "some_level"):
            assert verdicts[name] == "pass", verdicts
        assert verdicts["one_part"] == "not asked", verdicts
        assert verdicts["effort_costs"] in ("pass", "fail", "inconclusive"), verdicts
        assert (pathlib.Path(results) / "compression.quick.html").stat().st_size > 1000
        # All is measured: the same command only judges, and judges the same.
        again = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
        assert again.returncode == 0, again.stderr
        assert json.loads(again.stdout)["criteria"] == judged["criteria"]
    print("zstd was measured and judged:", ", ".join(f"{name} {verdict}" for name, verdict in verdicts.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
