#!/usr/bin/env python3
"""What counts: a trial is what was started, and what does not count says why.

usage: counting_test.py --expc PATH
"""
import pathlib
import random

from command import Command, main

STUDY = """workload bench command [{arguments}] {{
  inputs {inputs}
  {clauses}
  {parameters}
  metric t : Time lower from regex("took (\\\\S+) ms", unit = 1ms)
}}
study {study} {{
  workload bench
  {factor}
  measure t
  design {{ repeat 3 }}
}}
"""


class Counting(Command):
    def setUp(self):
        super().setUp()
        self.write("bench.sh", "#!/bin/sh\nfor a; do last=$a; done\necho took ${last}0 ms\n").chmod(0o755)

    def study(self, parameters="param level : int in 1..9 = 1", factor="factor level in { 1, 5 }", arguments='"./bench.sh", "${level}"',
              clauses="", inputs='"bench.sh"', study="s", file="s.exp"):
        self.write(file, STUDY.format(parameters=parameters, factor=factor, arguments=arguments, clauses=clauses, inputs=inputs, study=study))

    def expc(self, command, *words, file="s.exp", **more):
        return super().expc(command, file, "--devices", "cpu:1", *words, **more)

    def run_study(self, *words, code=0, **more):
        return " ".join(self.expc("run", "--heat-up", "0", *words, code=code, **more).stderr.split())

    def values(self, file="s.exp"):
        points = self.document("report", file=file)["points"]
        return {point["levels"].get("level", ""): point["metrics"]["t"]["values"] for point in points}

    def test_a_default_that_is_changed_is_another_trial(self):
        self.study()
        self.run_study()
        self.assertEqual(self.values(), {"1": [0.01] * 3, "5": [0.05] * 3})
        self.study("param level : int in 1..9 = 5")
        self.assertIn("started otherwise: ", self.run_study())
        self.assertEqual(self.values(), {"1": [0.01] * 3, "5": [0.05] * 3})
        self.study("param level : int in 1..9 = 1")  # what was measured first is still there
        self.assertIn("nothing to run", self.run_study())

    def test_each_level_is_what_its_program_was_started_with(self):
        draw = random.Random(7)
        for step in range(5):
            levels = draw.sample(range(1, 10), 2)
            default, other = draw.choice(range(1, 10)), draw.choice(range(1, 10))
            self.study(f"param level : int in 1..9 = {default}\n  param other : int in 1..9 = {other}",
                       f"factor level in {{ {levels[0]}, {levels[1]} }}", '"./bench.sh", "--other", "${other}", "${level}"')
            self.run_study()
            self.assertEqual(self.values(), {str(level): [level / 100] * 3 for level in levels}, step)

    def test_what_changes_nothing_that_is_started_keeps_the_trials(self):
        one = "param level : int in 1..9 = 1"
        self.study(one)
        self.run_study()
        self.study(one + "\n  param unused : int = 3")
        self.assertIn("nothing to run", self.run_study())
        self.study(one, arguments='"./bench.sh", options "--{name}={value}", "--", "${level}"')
        self.assertNotIn("nothing to run", self.run_study())

    def test_an_option_that_is_added_is_another_trial_and_named(self):
        one = "param level : int in 1..9 = 1"
        options = '"./bench.sh", options "--{name}={value}", "${level}"'
        self.study(one + "\n  param a : int = 1", arguments=options)
        self.run_study()
        self.study(one + "\n  param a : int = 1\n  param b : int = 2", arguments=options)
        self.assertIn("started otherwise: --b=2 is new", self.run_study())
        self.study(one + "\n  param a : int = 7\n  param b : int = 2", arguments=options)
        self.assertIn("started otherwise: --a=1 is gone, --a=7 is new", self.run_study())

    def test_a_computed_argument_is_what_its_formula_says(self):
        def computed(formula):
            self.study(f"param level : int in 1..9 = 1\n  let twice = {formula}", arguments='"./bench.sh", "${twice}"')
        computed("2 * level")
        self.run_study()
        self.assertEqual(self.values(), {"1": [0.02] * 3, "5": [0.1] * 3})
        computed("level + level")
        self.assertIn("nothing to run", self.run_study())
        computed("3 * level")
        self.assertIn("started otherwise: ", self.run_study())
        self.assertEqual(self.values(), {"1": [0.03] * 3, "5": [0.15] * 3})

    def test_a_default_that_only_prepare_reads_counts_too(self):
        def prepared(value):
            self.study(f"param opt : int = {value}", "", '"./bench.sh", "2"', 'prepare ["sh", "-c", "echo $$0 > $EXPC_TRIAL_FOLDER/x", "${opt}"]'
                       .replace("$E", "$$E"))
        prepared(1)
        self.run_study()
        prepared(2)
        self.assertNotIn("nothing to run", self.run_study())

    def test_a_second_study_with_other_defaults_has_trials_of_its_own(self):
        self.study(factor="", study="one", file="one.exp")
        self.study("param level : int in 1..9 = 4", factor="", study="two", file="two.exp")
        self.run_study(file="one.exp")
        self.assertNotIn("nothing to run", self.run_study(file="two.exp"))
        self.assertEqual(self.values("two.exp"), {"": [0.04] * 3})

    def test_files_that_are_others_are_named(self):
        self.write("a.cfg", "1")
        self.write("b.cfg", "1")
        self.study(inputs='"*.cfg"')
        self.run_study()
        self.write("a.cfg", "2")
        (self.folder / "b.cfg").unlink()
        self.write("c.cfg", "1")
        changed = "other inputs or data: a.cfg has changed, b.cfg is gone, c.cfg is new"
        plan = " ".join(self.expc("plan").stdout.split())
        self.assertIn(f"Stored but ignored: 6 trials: measured with another program, {changed}", plan)
        self.assertIn(changed, self.run_study())

    def test_a_plan_says_what_is_stored_what_is_left_and_what_is_missing(self):
        self.study()
        before = " ".join(self.expc("plan").stdout.split())
        self.assertIn("Trials 6 ", before)
        self.assertIn("no forecast before a trial of each kind is stored", before)
        self.run_study("-D", "design.timed.repeat=2")
        text = " ".join(self.expc("plan").stdout.split())
        self.assertRegex(text, r"Trials 6: 4 stored, 2 to run Time forecast \d+ .*?\(from stored trials\)")
        self.assertNotIn("ignored", text)
        done = super().expc("plan", "s.exp", "--system", "proxima", code=None)
        self.assertTrue(done.stdout.startswith("Plan of s (s.exp, for proxima)"), done.stdout + done.stderr)
        (self.folder / "bench.sh").unlink()
        self.assertIn("Cannot run yet: the workload bench: the program './bench.sh' does not exist",
                      " ".join(self.expc("plan").stdout.split()))
        self.expc("plan", "--can-run", code=1)
        self.expc("plan", "--can-run", "--format", "json", code=2)
        self.assertIn("--can-run is about a run on this machine", super().expc("plan", "s.exp", "--can-run", "--system", "proxima", code=2).stderr)

    def test_variables_that_are_others_are_named(self):
        self.study()
        self.run_study(LC_ALL="C", TZ="UTC")
        said = self.run_study(LC_ALL="C.UTF-8", TZ="UTC")
        self.assertIn("LC_ALL was 'C', now 'C.UTF-8'", said)
        self.assertNotIn("TZ", said)

        common = ":".join(f"/opt/number{number}/bin" for number in range(9)) + ":/usr/bin:/bin"
        self.run_study("--results", "paths", PATH="/a:" + common)
        self.assertIn("PATH was '/a…', now '/b…'", self.run_study("--results", "paths", PATH="/b:" + common))

    def test_points_that_became_others_say_by_what(self):
        self.study()
        self.run_study()
        moved = "Stored but ignored: 6 trials: measured at points that the study no longer has: "
        for change, why in [({"arguments": '"./bench.sh", "-v", "${level}"'}, "argument 2 was '${level}', now '-v', argument 3 is new ('${level}')"),
                            ({"clauses": "version 2"}, "version was '1', now '2'"),
                            ({"parameters": "param other : int in 1..9 = 1", "factor": "factor other in { 1, 5 }",
                              "arguments": '"./bench.sh", "${other}"'}, "factor level is gone, factor other is new")]:
            self.study(**change)
            self.assertIn(moved + why, " ".join(self.expc("plan").stdout.split()))

    def test_a_pattern_takes_nothing_of_ours(self):
        self.study(inputs='"*"', factor="")
        self.study(inputs='"**"', factor="", study="deep", file="deep.exp")
        for file in ("s.exp", "deep.exp"):
            for results in ("first", "second"):
                said = self.run_study("--results", results, file=file)
                parquet = any(pathlib.Path(__file__).resolve().parents[2].glob(".deps/python/lib/python3*/site-packages/pyarrow"))
                for format in ("junit", "markdown", "csv", "json", *["parquet"] * parquet):
                    self.expc("export", "--results", results, "--format", format, "--to", f"{results}.{format}", file=file)
                self.expc("report", "--results", results, "--html", f"{results}.page.html", file=file)
                self.expc("bundle", "--results", results, "--to", f"{results}.{file}.bundle.tar.zst", file=file)
                super().expc("store", "export", f"{results}.{file}.sqlite", "--results", results)
                self.write("s.exp", "// a comment\n" + (self.folder / "s.exp").read_text())
                self.assertIn("nothing to run", self.run_study("--results", results, file=file))

    def test_a_variable_that_expc_sets_is_not_passed(self):
        self.study()
        for name in ("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "TMPDIR", "EXPC_SEED"):
            self.assertIn(f"--pass-env {name}: expc sets this variable", self.run_study("--pass-env", name, code=1, **{name: "7"}))


if __name__ == "__main__":
    main()
