#!/usr/bin/env python3
"""Verdicts that are looked at more than once, as a user meets them.

usage: looks_test.py --expc PATH
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

OPTIONS = None

# A command that draws its time: two levels, of which the second is half as much again as fast.
STUDY = """workload job command ["python3", "-c",
    "import random, sys; s, f = map(int, sys.argv[1:]); print((3 - f) * random.Random(2 * s + f).gauss(1, 0.02))", "${seed}", "${fast}"] {
  param fast : int in 0..1 = 0
  metric t : Time lower from regex("(.+)", unit = 1s)
}
study s {
  workload job
  factor fast in 0..1 baseline 0
  compare gain = speedup(t) over fast
  criterion pays: forall *: gain >= %s with confidence 95%%
  design full { repeat %s  seed 5 }
}
"""


class Looks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="expc-looks-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, repeat, bound="1.2x"):
        (self.folder / "s.exp").write_text(STUDY % (bound, repeat), encoding="utf-8")

    def expc(self, command, *more, code):
        heat_up = ["--heat-up", "0", "--devices", "cpu:1"] if command == "run" else []
        result = subprocess.run([OPTIONS.expc, command, "s.exp", *heat_up, *more], cwd=self.folder, capture_output=True,
                                text=True, timeout=300)
        self.assertEqual(result.returncode, code, result.stderr + result.stdout)
        return result

    def criterion(self, code):
        criterion, = json.loads(self.expc("report", "--format", "json", code=code).stdout)["criteria"]
        page = (self.folder / "results" / "s.html").read_text(encoding="utf-8")
        self.assertEqual("provisional</span>" in page, criterion["provisional"])
        self.assertEqual(bool(re.search(r'class="tally [^"]*"><b>1</b> \w+ \(provisional\)<', page)), criterion["provisional"])
        return criterion

    def test_a_clear_effect_ends_at_the_first_planned_look(self):
        self.write("20 looks at 8, 14")
        ended = "every criterion is decided at the look after 8 of 20 timed repetitions"
        run = self.expc("run", code=0)
        self.assertIn(ended, run.stderr)
        self.assertRegex(self.expc("report", "--all", code=0).stdout, r"look 1 \(8 of 20 repetitions now\)")
        found = self.criterion(code=0)
        self.assertEqual((found["verdict"], found["provisional"], found["look"]["now"]), ("pass", False, 8))
        self.assertEqual(found["scope"]["complete"], 8)
        self.assertIn("nothing to run: " + ended, self.expc("run", code=0).stderr)

    def test_a_look_is_paid_for_whichever_plan_asks(self):
        self.write("7", bound="1.475x")
        self.expc("run", code=4)
        more = ("-D", "design.timed.repeat=12")
        self.expc("run", *more, code=4)
        of_more, = json.loads(self.expc("report", *more, "--format", "json", code=4).stdout)["criteria"]
        of_less = self.criterion(code=4)
        for found in (of_more, of_less):
            self.assertEqual((found["look"]["before"], found["look"]["now"]), ([7], 12))
        self.assertEqual(of_more["cells"][0]["interval"], of_less["cells"][0]["interval"])

    def test_an_effect_at_the_bound_takes_all_looks(self):
        self.write("12 looks at 8", bound="1.475x")
        self.expc("run", code=4)
        found = self.criterion(code=4)
        self.assertEqual((found["look"]["before"], found["look"]["now"], found["provisional"]), ([8], 12, False))

    def test_what_an_unfinished_plan_says_is_provisional_in_text_page_json_and_code(self):
        self.write("8")
        self.expc("run", code=0)
        self.assertFalse(self.criterion(code=0)["provisional"])
        self.write("30")
        text = self.expc("report", code=4).stdout
        self.assertRegex(text, r"PASS \(provisional\) +pays")
        self.assertIn("trials that it rests on are still to come", text)
        self.assertTrue(self.criterion(code=4)["provisional"])

    def test_more_repetitions_after_a_verdict_are_a_further_look(self):
        self.write("8")
        self.expc("run", code=0)
        self.assertIsNone(self.criterion(code=0)["look"])
        self.write("12")
        self.expc("run", code=0)
        whole = self.expc("report", "--all", code=0).stdout
        self.assertRegex(re.sub(r"\s+", " ", whole), r"look 2 \(before: after 8; 12 of 12 repetitions now\): its intervals have 97")
        # Once more the same is no further look, and other bounds are looked at as often.
        self.expc("run", code=0)
        self.assertEqual(self.criterion(code=0)["look"]["before"], [8])
        self.write("12", bound="1.1x")
        self.assertEqual(self.criterion(code=0)["look"]["before"], [8])

        # On another machine it is the second look too.
        self.expc("bundle", "--devices", "cpu:1", code=0)
        subprocess.run([OPTIONS.expc, "bundle", "s.bundle.tar.zst", "--to", "elsewhere"], cwd=self.folder, check=True, timeout=120)
        report = subprocess.run([OPTIONS.expc, "report", "s.exp", "--format", "json"], cwd=self.folder / "elsewhere",
                                capture_output=True, text=True, timeout=120)
        criterion, = json.loads(report.stdout)["criteria"]
        self.assertEqual(criterion["look"]["before"], [8])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--expc", type=pathlib.Path, required=True)
    OPTIONS, rest = parser.parse_known_args()
    OPTIONS.expc = OPTIONS.expc.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
