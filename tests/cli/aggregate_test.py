#!/usr/bin/env python3
"""Aggregates over levels, as a user meets them: measured, judged, shown and exported.

usage: aggregate_test.py --expc PATH
"""
import json
import math

from command import Command, main

# A program that prints the time which its arguments and the seed tell. O3 halves that of `a` and lengthens that of `b` by a tenth.
PROGRAM = """import random, sys
seed, flag, program = int(sys.argv[1]), sys.argv[2], sys.argv[3]
slower = 1 if flag == "O2" else 0.5 if program == "a" else 1.1
print((2 if program == "a" else 3) * slower * random.Random(f"{seed} {flag} {program}").gauss(1, 0.01))
"""
STUDY = """enum program { a, b }
workload job command ["python3", "job.py", "${seed}", "${flag}", "${program}"] {
  inputs "job.py"
  param flag    : string = "O2"
  param program : program = a
  metric time : Time lower from regex("(.+)", unit = 1s)
}
study s {
  workload job
  factor flag in { "O2", "O3" }  baseline "O2"
  factor program
  compare gain    = speedup(time) over flag
  compare overall = geomean(gain) over program
  metric  total   = sum(time) over program
  compare faster  = speedup(total) over flag
  criterion on_average: overall >= 1.2x               with confidence 95%
  criterion each:       forall program: gain >= 1.2x  with confidence 95%
  criterion in_total:   faster >= 1.1x                with confidence 95%
  criterion at_most:    forall flag: total <= 6s      with confidence 95%
  table overall by flag
  table total by flag
  plot total over flag
  design { repeat 8  seed 7 }
}
"""


class Aggregate(Command):
    def test_a_geometric_mean_is_judged_as_one_cell(self):
        self.write("job.py", PROGRAM)
        self.write("s.exp", STUDY)
        self.expc("run", "s.exp", "--heat-up", "0", "--devices", "cpu:1", code=3)
        report = self.document("report", "s.exp", code=3)
        criteria = {criterion["name"]: criterion for criterion in report["criteria"]}
        self.assertEqual({name: one["verdict"] for name, one in criteria.items()}, {"on_average": "pass", "each": "fail", "in_total": "pass", "at_most": "pass"})
        cell, = criteria["on_average"]["cells"]
        self.assertAlmostEqual(cell["estimate"], math.sqrt(2 / 1.1), delta=0.05)
        total, = criteria["in_total"]["cells"]
        self.assertAlmostEqual(total["estimate"], 5 / 4.3, delta=0.05)
        # Terminal, page, exports and the simulation know it.
        text = self.expc("report", "s.exp", code=3).stdout
        self.assertIn("geomean(gain) over program; each block gives one value", " ".join(text.split()))
        self.assertIn("geomean(gain) over program", (self.folder / "results" / "s.html").read_text(encoding="utf-8"))
        for form in ("json", "markdown", "junit"):
            self.assertIn("overall", self.expc("export", "s.exp", "--format", form).stdout)
        diagnosis = self.document("diagnose", "s.exp", "--studies", "50", code=None)
        self.assertIn("on_average", json.dumps(diagnosis))

    def test_a_table_weighs_the_parts(self):
        self.write("job.py", PROGRAM)
        self.write("traffic.csv", "program,hits\na,300\nb,100\n")
        self.write("s.exp", STUDY.replace("study s {", 'reference traffic from "traffic.csv" { program }\nstudy s {').replace(
            "geomean(gain)", "geomean(gain, weight = traffic.hits)"))
        self.expc("run", "s.exp", "--heat-up", "0", "--devices", "cpu:1", code=3)
        report = self.document("report", "s.exp", code=3)
        cell, = next(one for one in report["criteria"] if one["name"] == "on_average")["cells"]
        self.assertAlmostEqual(cell["estimate"], math.exp((3 * math.log(2) - math.log(1.1)) / 4), delta=0.05)


if __name__ == "__main__":
    main()
