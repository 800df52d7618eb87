#!/usr/bin/env python3
"""`import expc` in a program that a study starts: what it is told, what `from trial` reads, and what is said of values that are not there.

usage: trial_test.py --expc PATH
"""
import csv
import os

from command import Command, main

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
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # expc says where its package is

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

    def test_metrics_of_a_module_are_read_from_the_trial(self):
        profiler = "import std.profiler\n" + STUDY.replace('inputs "train.py"', 'inputs "train.py"\n  metric profiler.*  from trial')
        self.study(text=profiler.replace("quality { repeat 1  epochs 3 }", "quality { repeat 1  epochs 3 }  profile { repeat 1  steps 2 }"),
                   statement="measure launch_count")
        self.expc("check", "s.exp")
        for source, said in (("tiral", "did you mean 'trial'"), ('trial("x")', "'trial' takes no text")):
            self.study(text=profiler.replace("*  from trial", f"*  from {source}"))
            told = self.expc("check", "s.exp", code=1).stderr
            self.assertIn(said, told)
            self.assertEqual(told.count("error["), 1, told)

    def test_a_folder_of_the_users_comes_before_that_of_expc(self):
        self.write("mine/expc.py", "def trial():\n    raise SystemExit('a module of the user')\n")
        self.study()
        done = self.expc("run", "s.exp", "--devices", "cpu:1", "--heat-up", "0", "--quiet", "--fail-fast", code=None, PYTHONPATH=str(self.folder / "mine"))
        self.assertIn("a module of the user", done.stdout + done.stderr)


# Each rank trains as long as its number says, and reports it.
RANKS = """import os, time
import expc
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
assert os.environ["LOCAL_RANK"] == str(rank) and os.environ["PET_MASTER_PORT"] == os.environ["MASTER_PORT"]
t = expc.trial()
assert size == t.parameters.gpus
for batch in t.steps(range(4)):
    time.sleep(0.001 + rank * 0.02)
t.metric(loss=1 + rank, core=min(os.sched_getaffinity(0)))
BODY
"""
RANKED = """workload train command ["python3", "train.py"] timeout 1min {
  inputs "train.py"
  ranks gpus
  param gpus : int in 1.. = 2
  outputs trial
  metric step_time         : Time lower
  metric step_time_slowest : Time lower
  metric step_time_spread  : Share lower
  metric loss              : float lower
  metric loss_by_rank : float lower series
  metric core_by_rank : float lower series
  metric host_memory_sampled : Bytes lower series
  metric most : Bytes = max(host_memory_sampled)
}
study s {
  workload train
  measure step_time, step_time_slowest, step_time_spread, loss, loss_by_rank, core_by_rank, host_memory_sampled, most
  criterion slow: forall *: step_time_spread >= 10%
  design { timed { repeat 1  steps 3  warmup 1 } }
  table step_time_slowest
  plot host_memory_sampled over second
  plot loss_by_rank over rank
}
"""


class Ranks(Command):
    environment = Trial.environment

    def run_study(self, body="", *words, code=0, text=RANKED):
        self.write("s.exp", text)
        self.write("train.py", RANKS.replace("BODY", body))
        return self.expc("run", "s.exp", "--devices", "cpu:2", "--heat-up", "0", "--quiet", *words, code=code)

    def values(self):
        """The metrics of the trial; one that is sampled every second has no value in a trial that is shorter."""
        rows = csv.DictReader(self.expc("export", "s.exp", "--devices", "cpu:2").stdout.splitlines())
        return {row["metric"]: float(row["value"]) for row in rows if row["value"]}

    def test_each_device_has_a_process_and_metrics_are_of_all(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one core")
        self.assertIn("PASS", self.run_study("time.sleep(2.5)").stdout)
        values = self.values()
        self.assertGreater(values["step_time_slowest"], values["step_time"])
        self.assertEqual(values["loss"], 1)
        self.assertGreater(values["most"], 4 << 20)
        series = {}
        for row in csv.DictReader(self.expc("export", "s.exp", "--devices", "cpu:2", "--table", "series").stdout.splitlines()):
            series.setdefault(row["series"], []).append(float(row["value"]))
        self.assertEqual(series["loss_by_rank"], [1, 2])
        self.assertEqual(len(set(series["core_by_rank"])), 2)
        self.assertGreaterEqual(len(series["host_memory_sampled"]), 2)

    def test_time_and_memory_are_those_of_all_ranks(self):
        """Rank 0 ends at once, and rank 1 works on."""
        text = RANKED.replace("  metric step_time  ", "  metric wall : Time lower\n  metric cpu_time : Time lower\n  metric host_memory_peak : Bytes lower\n  metric step_time  ")
        body = "if rank == 1:\n    block = bytearray(1 << 26)\n    while time.process_time() < 0.7: pass"
        self.run_study(body, code=None, text=text.replace("measure step_time,", "measure wall, cpu_time, host_memory_peak, step_time,"))
        values = self.values()
        self.assertGreaterEqual(values["wall"], 0.7)
        self.assertGreaterEqual(values["cpu_time"], 0.7)
        self.assertGreaterEqual(values["host_memory_peak"], 1 << 26)

    def test_one_rank_has_the_same_metrics(self):
        self.run_study("time.sleep(1.2)", "--timeout", "20", code=3, text=RANKED.replace("gpus : int in 1.. = 2", "gpus : int in 1.. = 1"))
        values = self.values()
        self.assertEqual(values["step_time_slowest"], values["step_time"])
        self.assertEqual(values["step_time_spread"], 0)

    def test_a_rank_that_dies_is_the_reason(self):
        done = self.run_study("if rank == 1: raise ValueError('bad rows')\ntime.sleep(60)", "--fail-fast", code=None)
        self.assertIn("rank 1: python3 exited with code 1: ValueError: bad rows", " ".join((done.stdout + done.stderr).split()))

    def test_a_timeout_says_where_each_rank_is(self):
        body = "def wait():\n    time.sleep(60)\nif rank == 0: wait()\nimport threading\nthreading.Event().wait()"
        said = " ".join((lambda done: done.stdout + done.stderr)(self.run_study(body, "--timeout", "3", "--fail-fast", code=None)).split())
        self.assertIn("not finished after 3 s", said)
        self.assertIn("rank 0: train.py:11 in wait; rank 1: train.py:14, waiting in wait", said)

    def test_before_runs_once(self):
        self.run_study("", text=RANKED.replace("ranks gpus", 'ranks gpus\n  before ["mkdir", "made"]'))

    def test_the_checker(self):
        for before, after, told in (("ranks gpus", "ranks cores", "counts its ranks by 'gpus' only"),
                                    ("  param gpus : int in 1.. = 2\n", "", "has ranks, but no parameter 'gpus'"),
                                    ("ranks gpus", "ranks gpus\n  ranks gpus", "twice")):
            self.write("s.exp", RANKED.replace(before, after))
            self.write("train.py", "")
            self.assertIn(told, self.expc("check", "s.exp", code=1).stderr)


if __name__ == "__main__":
    main()
