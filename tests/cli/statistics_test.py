#!/usr/bin/env python3
"""What keeps a claim from being surer than its data, as a user meets it: clocks with steps, limits that do not apply, arms that lose trials, copies.

usage: statistics_test.py --expc PATH
"""
import shutil

from command import Command, main

STUDY = """workload job command ["sh", "-c", {program}] {{
  param level : int in 0..1 = 0
  metric t : Time lower{exact} from stdout(unit = {unit})
}}
study s {{
  workload job
  factor level in {{ 0, 1 }} baseline 0
  compare gain = {compare}
  criterion c: {criterion} with confidence 95%
  design {{ repeat {repeat} }}
}}
"""
# The counter is the same noise in every run of the test.
NOISE = '"n=$$(($$(cat {folder}/n) + 1)); echo $$n >{folder}/n; echo $$(({base} + n * 5 % 8))"'


class Statistics(Command):
    def study(self, program, name="s.exp", compare="ratio(t) over level", criterion="forall level: gain <= 1.01x", unit="1ms", exact="",
              repeat="10"):
        self.write("n", "0")
        text = STUDY.format(program=program.replace("{folder}", str(self.folder)), compare=compare, criterion=criterion, unit=unit, exact=exact,
                            repeat=repeat)
        self.write(name, text)

    def expc(self, *words, code=0):
        done = super().expc(*words, code=code)
        return " ".join((done.stdout + done.stderr).split())

    def run_study(self, *words, name="s.exp", code=0):
        return self.expc("run", name, "--heat-up", "0", "--devices", "cpu:1", "--quiet", *words, code=code)

    def test_a_clock_that_shows_the_same_each_time_decides_nothing_within_its_step(self):
        self.study('"echo 100"')
        text = self.run_study(code=4)
        self.assertIn("t of one point was read as the same each time, so the interval is at least 100 ms wide to each side", text)
        self.assertNotIn("repeat=", text)
        self.study('"echo 100"', exact=" exact")
        self.assertNotIn("step of", self.run_study("--results", "exact"))

    def test_a_difference_of_what_was_never_measured_is_not_simulated(self):
        self.study(NOISE.replace("{base}", "100"), compare="difference(t) over level", criterion="forall level: gain <= 20ms")
        self.assertIn("so it needs measured values; `expc run --pilot` measures some", self.expc("diagnose", "s.exp", "--studies", "50"))
        self.run_study()
        self.assertNotIn("it needs measured values", self.expc("diagnose", "s.exp", "--studies", "50"))

    def test_a_limit_that_could_not_be_applied_is_noted(self):
        self.study(NOISE.replace("{base}", "100"), criterion="forall level: gain <= 3x", repeat="6 other_cpu 5%")
        self.assertIn("other_cpu is not known of it, as of trials that have a core for less than a second, so this limit was not applied",
                      self.run_study())

    def test_an_arm_that_loses_trials_stands_beside_the_verdict(self):
        self.study('"echo $$(( $$(cat {folder}/n) + 1 )) >{folder}/n; n=$$(cat {folder}/n); [ ${level} = 0 ] || [ $$((n % 3)) != 0 ] || exit 1; '
                   'echo $$((100 + n * 5 % 8))"', criterion="forall level: gain <= 3x")
        text = self.run_study()
        self.assertRegex(text, r"lost trials \(failed, disturbed or out of memory\): [1-9]\d* of \d+ at level=1, 0 of \d+ at level=0; if losses depend on")

    def test_trials_in_another_unit_are_kept_and_said(self):
        for name, unit in (("s.exp", "1ms"), ("u.exp", "1us")):
            self.study(NOISE.replace("{base}", "100"), name=name, unit=unit, criterion="forall level: gain <= 3x")
        self.run_study("--results", "a")
        self.run_study("--results", "b", name="u.exp")
        self.assertIn("a has no usable results of study s. Stored but ignored:", self.expc("compare", "u.exp", "a", "b", code=5))

    def test_a_copy_replicates_nothing(self):
        self.study(NOISE.replace("{base}", "100"), criterion="forall level: gain <= 3x")
        self.run_study()
        shutil.copytree(self.folder / "results", self.folder / "copy")
        self.expc("store", "merge", "results", "--results", "merged")
        self.expc("bundle", "s.exp")
        self.expc("bundle", "s.bundle.tar.zst", "--to", "out")
        for other in ("copy", "merged", "out/results"):
            self.assertIn("contain the same trials: a copy is not a replication",
                          self.expc("compare", "s.exp", "results", other, "--claims", code=1))
        self.run_study("--results", "again")
        self.assertIn("1 replicated", self.expc("compare", "s.exp", "results", "again", "--claims"))


if __name__ == "__main__":
    main()
