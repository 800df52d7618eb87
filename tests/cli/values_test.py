#!/usr/bin/env python3
"""Values that may be missing, and values of which there are many: `absent(…)` in claims, distributions and their sketches.

usage: values_test.py --expc PATH
"""
import csv
import io
import json
import math

from command import Command, main

RUN = ("--heat-up", "0", "--devices", "cpu:1")
# Prints an energy at some points only, or in some trials only, and a table of latencies whose first ten are slow.
PROGRAM = """import json, os, random, sys
counter, flaky = sys.argv[1] == "true", sys.argv[2] == "true"
draw = random.Random(os.environ["EXPC_SEED"])
out = {"time": 1 + draw.random()}
if counter and not (flaky and draw.random() < 0.5):
    out["energy"] = 3 + draw.random()
json.dump(out, open("out.json", "w"))
with open("requests.csv", "w") as file:
    print("latency", file=file)
    for number in range(500):
        print(100 if number < 10 else round(10 + 5 * draw.random(), 6), file=file)
"""
STUDY = """workload job command ["python3", "job.py", "${counter}", "${flaky}"] {
  inputs "job.py"
  param counter : bool = true
  param flaky   : bool = false
  metric time    : Time lower             from json("out.json")
  metric energy  : Energy optional lower  from json("out.json")
  metric latency : Time distribution lower  from csv("requests.csv", unit = 1ms, skip = 10)
  metric exact   : Time lower  from p99(csv("requests.csv", column = "latency", unit = 1ms), skip = 10)
  metric tail = p99(latency)
  metric rare = p99.9(latency)
}
study s {
  workload job(%s)
  factor counter in { true, false }
  %s
  design { repeat 8 }
}
"""


class Values(Command):
    def run_study(self, statements, arguments="", code=0):
        self.write("job.py", PROGRAM)
        self.write("s.exp", STUDY % (arguments, statements))
        self.expc("run", "s.exp", *RUN, code=code)
        return self.document("report", "s.exp", code=code)

    def verdicts(self, report):
        return {one["name"]: one["verdict"] for one in report["criteria"]}

    def test_a_claim_may_say_that_a_value_is_absent(self):
        report = self.run_study("""compare drop = ratio(energy) over counter against true
  criterion open:   forall counter: energy <= 5J                              with confidence 95%
  criterion frugal: forall counter: absent(energy) or energy <= 5J            with confidence 95%
  criterion strict: forall counter: absent(energy) or energy <= 2J            with confidence 95%
  criterion gone:   absent(energy[counter = false])
  criterion there:  forall counter: absent(energy)
  criterion none:   absent(drop)""", code=3)
        self.assertEqual(self.verdicts(report), {"open": "inconclusive", "frugal": "pass", "strict": "fail", "gone": "pass", "there": "fail", "none": "pass"})
        text = " ".join(self.expc("report", "s.exp", code=3).stdout.split())
        self.assertIn("'absent(energy)' in 1 of 2 configurations", text)
        self.assertIn("no value in 8 runs", text)
        self.assertIn("a value in 8 of 16 runs", text)
        self.assertNotIn("closest is no value", text)
        # The plan that is stored is the one that is read again, and simulation knows which claim no noise decides.
        diagnosis = self.document("diagnose", "s.exp", "--noise", "3%", "--studies", "50", code=None)
        self.assertEqual({one["name"] for one in diagnosis["design"]["criteria"]}, set(self.verdicts(report)))

    def test_what_only_some_trials_lack_stays_open(self):
        report = self.run_study("""criterion frugal: absent(energy[counter = true]) or energy[counter = true] <= 5J  with confidence 95%
  criterion always: absent(energy[counter = true])""", "flaky = true", code=(3, 4))
        self.assertEqual(self.verdicts(report), {"frugal": "inconclusive", "always": "fail"})

    def test_only_what_may_be_missing_can_be_absent(self):
        self.write("s.exp", STUDY % ("", "criterion c: forall counter: absent(time)"))
        said = self.expc("check", "s.exp", code=1).stderr
        self.assertIn("asks whether 'time' is absent, and no trial that counts lacks it", said)
        self.assertIn("write 'optional' here", said)
        self.write("s.exp", STUDY % ("", "criterion c: forall counter: absent(energy) with confidence 95%"))
        self.assertIn("needs no confidence: a missing value is seen", self.expc("check", "s.exp", code=1).stderr)

    def test_a_distribution_is_kept_as_a_sketch(self):
        report = self.run_study("""measure exact, rare, latency
  criterion slo: forall counter: tail <= 20ms  with confidence 95%
  plot latency over percentile by counter""")
        self.assertEqual(self.verdicts(report), {"slo": "pass"})
        for point in report["points"]:
            values = point["metrics"]
            self.assertTrue(math.isclose(values["tail"]["median"], values["exact"]["median"], rel_tol=0.005), values)
            # One number of it is its median; the slow beginning was left out.
            self.assertTrue(0.0123 < values["latency"]["median"] < 0.0127, values["latency"])
        journal = "".join(path.read_text(encoding="utf-8", errors="replace") for path in self.folder.glob("results/**/*.jsonl"))
        sketches = [json.loads(line) for line in journal.splitlines() if '"series"' in line]
        kept = [one["series"]["latency"] for one in sketches if isinstance(one.get("series"), dict) and "latency" in one["series"]]
        self.assertEqual(kept[0][0], 0.005)
        self.assertEqual(sum(kept[0][2::2]), 490)
        self.assertLess(len(json.dumps(kept[0])), 4096)
        text = " ".join(self.expc("report", "s.exp", "--all").stdout.split())
        self.assertIn("rare is p99.9 of fewer than 1000 values", text)
        rows = list(csv.DictReader(io.StringIO(self.expc("export", "s.exp", "--format", "csv", "--table", "series").stdout)))
        latencies = [row for row in rows if row["series"] == "latency"]
        self.assertEqual(len(latencies), 16 * 99)
        values = [float(row["value"]) for row in latencies[:99]]
        self.assertEqual(values, sorted(values))
        page = "".join(path.read_text(encoding="utf-8") for path in self.folder.glob("results/*.html"))
        self.assertTrue("latency over percentile" in page)
        self.assertTrue("the numbers are the median of each trial" in page)

    def test_a_distribution_is_no_single_value_and_has_no_order(self):
        for statement, message in (("criterion c: forall counter: latency <= 20ms  with confidence 95%", "'latency' is a distribution, not one value"),
                                   ("metric late = p99(latency, skip = 5)\n  measure late", "a distribution has no first and no last values"),
                                   ("metric end = last(latency)\n  measure end", "a distribution has no first and no last values"),
                                   ("metric soon = epochs_to(latency <= 1ms)  lower\n  measure soon", "'latency' is a distribution"),
                                   ("compare gap = max_gap(latency) over counter against true", "'latency' is a distribution"),
                                   ("plot latency over epoch", "the axis of 'latency' must be 'percentile'")):
            with self.subTest(statement):
                self.write("s.exp", STUDY % ("", statement))
                self.assertIn(message, self.expc("check", "s.exp", code=1).stderr)


if __name__ == "__main__":
    main()
