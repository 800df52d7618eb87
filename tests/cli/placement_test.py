#!/usr/bin/env python3
"""Variables and placement of a command as factors: the example of docs/language.md, run.

usage: placement_test.py --expc PATH
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

OPTIONS = None
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "language.md"


class Placement(unittest.TestCase):
    @unittest.skipUnless({0, 1} <= os.sched_getaffinity(0), "two cores are needed")
    def test_the_example_of_the_page_sets_what_it_says(self):
        section = PAGE.read_text(encoding="utf-8").split("**Variables, placement and images**")[1]
        text = re.search(r"```exp\n(.*?)```", section, re.S).group(1)
        seen = 'metric threads_seen : float lower from regex("threads ([0-9]+)")\n  metric cores_seen : float lower from regex("cores ([0-9]+)")\n  metric wall'
        text = text.replace("metric wall", seen, 1).replace("compare gain", "measure threads_seen, cores_seen\n  compare gain")
        with tempfile.TemporaryDirectory(prefix="expc-placement-") as name:
            folder = pathlib.Path(name)
            (folder / "s.exp").write_text(text, encoding="utf-8")
            solve = folder / "solve"
            solve.write_text("#!/bin/sh\necho threads $OMP_NUM_THREADS\necho cores $(unset OMP_NUM_THREADS; nproc)\n")
            solve.chmod(0o755)
            done = subprocess.run([OPTIONS.expc, "run", "s.exp", "--devices", "cpu:1", "--heat-up", "0", "--format", "json"], cwd=folder,
                                  capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            for point in json.loads(done.stdout)["points"]:
                levels, metrics = point["levels"], point["metrics"]
                self.assertEqual(metrics["threads_seen"]["values"], [float(levels["threads"])] * 7)
                self.assertEqual(metrics["cores_seen"]["values"], [2.0 if "," in levels["cores"] else 1.0] * 7)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--expc", required=True)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
