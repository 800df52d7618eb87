#!/usr/bin/env python3
"""`import expc` in a program that a study starts: what it is told, what `from trial` reads, and what is said of values that are not there.

usage: trial_test.py --expc PATH
"""
import csv
import os
import pathlib

from command import Command, main

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Each kind of trial reports what it was told. `rate` doubles with `wide`, so the claim is decided.
SCRIPT = """import os
import expc
t = expc.trial()
p = t.parameters
seen = 0
for batch in t.steps(range(4)):
    seen += 1
    t.metric(loss=1 / seen)
    if t.kind == "quality":
        t.metric(accuracy=0.5 if seen == 1 else 0.75)
types = [type(p[name]).__name__ for name in ("width", "lr", "wide", "mode", "pause")]
assert types == ["int", "float", "bool", "str", "float"], types
assert p.pause == 0.25 and 0 <= t.seed < 2**31
t.metric(first=3, half=4)
t.metric(seen=seen, rate=(200 if p.wide else 100) + int(os.environ["EXPC_TRIAL"]) * 0.37 % 3, nothing=None, first=2)
open(os.environ["EXPC_STUDY_FOLDER"] + "/starts", "a").write("x")
"""
STUDY = """enum modes { plain, odd }
workload train command ["python3", "train.py"] timeout 1min {
  inputs "train.py"
  param width : int = 8
  param lr    : float = 0.5
  param wide  : bool = false
  param mode  : modes = odd
  param pause : Time = 250ms
  metric rate       : float higher  from trial
  metric seen       : float higher exact  from trial
  metric half       : Time lower  from trial(unit = 500ms)
  metric first      : float lower  from max(trial)
  metric step_time  : Time lower  from trial
  metric step_times : Time lower series  from trial
  metric nothing    : float lower  from trial
  metric loss       : float lower series  from trial
  metric accuracy   : Share higher quality  from trial
  MORE
}
study s {
  workload train
  factor wide in { false, true }  baseline false
  measure rate, seen, half, first, step_time, step_times, nothing, loss, accuracy
  compare gain = ratio(rate) over wide
  criterion faster: forall *: gain >= 1.5x  with confidence 95%
  design { timed { repeat 7  steps 6  warmup 2 }  quality { repeat 1  epochs 3 } }
  STATEMENT
}
"""


class Trial(Command):
    def setUp(self):
        super().setUp()
        self.environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}

    def study(self, script=SCRIPT, more="", statement="", text=STUDY):
        self.write("s.exp", text.replace("MORE", more).replace("STATEMENT", statement))
        self.write("train.py", script)

    def run_study(self, *words, code=0):
        return self.expc("run", "s.exp", "--devices", "cpu:1", "--heat-up", "0", "--quiet", *words, code=code)

    def test_a_program_is_told_its_trial_and_reports_to_it(self):
        self.study()
        done = self.run_study()
        self.assertIn("PASS  faster", done.stdout)
        values, table = {}, self.expc("export", "s.exp", "--devices", "cpu:1").stdout
        for row in csv.DictReader(table.splitlines()):
            values.setdefault(row["metric"], set()).add(row["value"])
        # Timed trials take 2 + 6 steps over a loader of 4; quality trials, of which only `accuracy` comes, pass over it 3 times.
        self.assertEqual({name: set(map(float, values[name])) for name in ("seen", "half", "first", "accuracy")},
                         {"seen": {8}, "half": {2}, "first": {3}, "accuracy": {0.75}})
        self.assertEqual({int(float(value)) // 100 for value in values["rate"]}, {1, 2})
        series = self.expc("export", "s.exp", "--devices", "cpu:1", "--table", "series").stdout
        lengths = {}
        for row in csv.DictReader(series.splitlines()):
            lengths.setdefault((row["series"], row["trial"]), []).append(float(row["value"]))
        self.assertEqual({len(found) for (metric, _), found in lengths.items() if metric == "step_times"}, {6})
        self.assertEqual([found[:2] for (metric, _), found in lengths.items() if metric == "loss"][0], [1, 0.5])

    def test_a_value_that_is_never_reported_is_an_error_with_those_that_are(self):
        self.study(more="metric perplexity : float lower  from trial", statement="measure perplexity")
        done = self.run_study(code=6)
        self.assertIn("the program never reports the metric perplexity; it reports", done.stdout + done.stderr)
        self.assertIn("nothing, rate, seen, step_time, step_times", " ".join((done.stdout + done.stderr).split()))

    def test_a_program_that_reports_nothing_is_told_how(self):
        self.study(script="print('trained')")
        done = self.run_study(code=6)
        self.assertIn("it reported nothing: it has to `import expc`", " ".join((done.stdout + done.stderr).split()))

    def test_a_changed_parameter_needs_new_trials_although_no_argument_holds_it(self):
        starts = self.folder / "starts"
        self.study()
        self.run_study()
        self.assertEqual(len(starts.read_text()), 16)  # 2 levels, 7 timed trials and 1 of quality
        self.run_study()
        self.assertEqual(len(starts.read_text()), 16)
        self.study(text=STUDY.replace("param width : int = 8", "param width : int = 9"))
        self.run_study()
        self.assertEqual(len(starts.read_text()), 32)

    def test_the_checker(self):
        self.study()
        self.expc("check", "s.exp")
        for before, after, said in (
                ("rate       : float higher  from trial", "rate : float higher  from trail", "did you mean 'trial'"),
                ("rate       : float higher  from trial", 'rate : float higher  from trial("x")', "'trial' takes no text"),
                ('inputs "train.py"', 'inputs "train.py"\n  expect trial', "an expectation has no name")):
            self.study(text=STUDY.replace(before, after))
            self.assertIn(said, self.expc("check", "s.exp", code=1).stderr)
        # All parameters and settings reach the program, and the design need not say how many steps there are.
        self.study(text=STUDY.replace("steps 6  warmup 2", "").replace("epochs 3", ""))
        self.assertNotIn("warning", self.expc("check", "s.exp").stderr)

    def test_outputs_trial_stands_for_all_metrics(self):
        self.study(text=STUDY.replace("  from trial\n", "\n").replace('inputs "train.py"', 'inputs "train.py"\n  outputs trial'))
        self.assertIn("PASS  faster", self.run_study().stdout)


if __name__ == "__main__":
    main()
