#!/usr/bin/env python3
"""What `expc diagnose` says of a design, as a user meets it.

usage: diagnose_test.py --expc PATH
"""
import re

from command import Command, main

STUDY = """workload job command ["python3", "-c",
    "import random, sys; s, f = map(int, sys.argv[1:]); print((3 - f) * random.Random(2 * s + f).gauss(1, 0.02))", "${seed}", "${fast}"] {
  param fast : int in 0..1 = 0
  metric t : Time lower from regex("(.+)", unit = 1s)
}
study s {
  workload job
  factor fast in 0..1 baseline 0
  compare gain = speedup(t) over fast
  criterion pays: forall *: gain >= 1.2x with confidence 95%
  design { repeat 10  seed 5 }
}
"""


LATE = """workload job command ["sh", "-c",
    "[ $$0 = 1 ] && [ $$((EXPC_TRIAL % 3)) = 0 ] && sleep 60; echo $$((3 - $$0)).0$$EXPC_TRIAL", "${fast}"] timeout 2s {
""" + STUDY[STUDY.index("  param"):]


class Diagnose(Command):
    def setUp(self):
        super().setUp()
        self.write("s.exp", STUDY)

    def criterion(self, *more):
        said = self.document("diagnose", "s.exp", *more)
        self.assertEqual(said["schema"], "expc.diagnosis/1")
        return said, said["design"]["criteria"][0]

    def test_nothing_is_stored_and_nothing_is_left_behind(self):
        text = self.expc("diagnose", "s.exp", "--studies", "200").stdout
        self.assertIn("noise of one trial: t 1 % assumed", text)
        self.assertIn("the true value is unknown", text)
        self.assertRegex(text, r"power 80 %: pass if the true value is at least 1\.2\d+x, fail if the true value is at most 1\.1\d+x")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["s.exp"])

    def test_no_design_passes_at_a_share_above_all(self):
        (self.folder / "s.exp").write_text("""workload job command ["true"] {
  metric accuracy : Share higher from regex("(.+)", unit = 1%)
}
study s {
  workload job
  criterion good: accuracy >= 99% with confidence 95%
  design { repeat 10 }
}
""", encoding="utf-8")
        text = " ".join(self.expc("diagnose", "s.exp", "--studies", "200", "--noise", "accuracy=3%").stdout.split())
        self.assertIn("cannot pass, because that would need an impossible value", text)
        self.assertNotRegex(text, r"10\d\.\d %")

    def test_few_blocks_have_two_numbers_of_further_ones(self):
        noisy = STUDY.replace("gauss(1, 0.02)", "lognormvariate(0, 0.3)").replace("repeat 10", "repeat 6").replace("1.2x", "1.5x")
        self.write("s.exp", noisy)
        self.expc("run", "s.exp", "--heat-up", "0", "--devices", "cpu:1", code=4)
        step = self.document("report", "s.exp", code=4)["criteria"][0]["next"]
        self.assertLess(step["at_estimate"], step["blocks"])
        _, pays = self.criterion("--studies", "200")
        self.assertEqual(pays["next"], step)
        numbers = rf"{step['blocks']} more blocks .*{step['at_estimate']} are enough if the estimate is the true value"
        for command in (("diagnose", "--studies", "200"), ("report",)):
            self.assertRegex(" ".join(self.expc(command[0], "s.exp", *command[1:], code=None).stdout.split()), numbers)
        _, larger = self.criterion("--studies", "400", "-D", f"design.timed.repeat={6 + step['at_estimate']}")
        self.assertAlmostEqual(larger["chances"]["pass"] + larger["chances"]["fail"], 0.8, delta=0.2)

    def test_a_stated_effect_and_noise(self):
        said, pays = self.criterion("--noise", "2%", "--effect", "pays=1.3x", "--studies", "400")
        self.assertEqual(said["noise"][0]["from"], "stated")
        self.assertEqual(pays["known"], {"from": "stated", "least": 1.3, "most": 1.3})
        self.assertGreater(pays["chances"]["pass"], 0.92)  # chance makes some of ten pairs look correlated
        self.assertGreater(pays["coverage"], 0.93)
        at_bound, = [sweep["chances"] for sweep in pays["sweeps"] if sweep["half_widths"] == 0]
        self.assertLess(at_bound["pass"], 0.06)
        self.assertLess(said["larger"]["criteria"][0]["passes_from"], pays["passes_from"])
        again, _ = self.criterion("--noise", "2%", "--effect", "pays=1.3x", "--studies", "400")
        self.assertEqual(said, again)

    def test_what_the_study_expects_is_stated_and_locked(self):
        self.write("e.exp", STUDY.replace("  design", "  expected gain = 1.3x  noise 2%\n  design"))
        said = self.document("diagnose", "e.exp", "--studies", "200")
        pays = said["design"]["criteria"][0]
        self.assertEqual(said["noise"][0]["from"], "stated")
        self.assertEqual(pays["known"], {"from": "stated", "least": 1.3, "most": 1.3})
        other = self.document("diagnose", "e.exp", "--studies", "200", "--effect", "pays=1.2x", "--noise", "1%")
        self.assertEqual(other["design"]["criteria"][0]["known"]["least"], 1.2)
        self.expc("plan", "e.exp", "--lock", "--devices", "cpu:1")
        lock = (self.folder / "e.exp.lock").read_text()
        self.assertIn('"text": "1.3x noise 2%"', lock)
        self.write("e.exp", STUDY.replace("  design", "  expected gain = 1.4x  noise 2%\n  design"))
        stale = self.expc("plan", "e.exp", "--diff", "e.exp.lock", "--devices", "cpu:1", code=None)
        self.assertIn("what is expected of gain changed: 1.3x noise 2% -> 1.4x noise 2%", stale.stdout + stale.stderr)

    def test_stored_trials_say_noise_and_effect_and_plan_quotes_them(self):
        self.expc("run", "s.exp", "--heat-up", "0", "--devices", "cpu:1")
        said, pays = self.criterion()
        self.assertEqual((said["noise"][0]["from"], said["noise"][0]["trials"]), ("measured", 20))
        self.assertAlmostEqual(said["noise"][0]["noise"], 0.02, delta=0.01)
        self.assertEqual(pays["known"]["from"], "measured")
        self.assertAlmostEqual(pays["known"]["least"], 1.5, delta=0.05)
        self.assertGreater(pays["chances"]["pass"], 0.95)
        self.assertGreater(said["design"]["seconds"], 0)
        self.assertRegex(self.expc("plan", "s.exp").stdout, r"gain >= 1\.2x; ±\S+ % at the noise of stored trials\n")
        text = self.expc("plan", "s.exp", "--all").stdout
        self.assertRegex(text, r"expected resolution ±\S+ % at the noise of stored trials\n")
        self.assertRegex(text, r"if the true value is 1\.\d+x \(measured\): pass (100|9\d\.?\d?) %, fail 0 %, undecided \d\.?\d? % of 200 simulated\s+studies")

    def test_sessions_cost_power_and_are_named(self):
        words = ("--noise", "2%", "--effect", "pays=1.24x", "--studies", "300")
        shares = [self.criterion(*words, "--sessions", number)[1]["chances"]["pass"] for number in ("1", "3")]
        self.assertLess(shares[1] + 0.1, shares[0])
        said = lambda *more: " ".join(self.expc("diagnose", "s.exp", *words, *more).stdout.split())
        self.assertIn("All trials come from one session.", said())
        self.assertIn("The trials come from 2 sessions, which do not differ; how much they would is not measured.", said("--sessions", "2"))
        self.expc("diagnose", "s.exp", "--sessions", "0", code=2)

    def test_limits_have_the_digits_that_tell_them_from_the_effect(self):
        text = " ".join(self.expc("diagnose", "s.exp", "--studies", "200", "--noise", "0.2%", "--effect", "pays=1.2x").stdout.split())
        limits = [float(limit) for limit in re.findall(r"the true value is at (?:least|most) (\S+)x", text)]
        self.assertTrue(limits)
        self.assertNotIn(1.2, limits)

    def test_what_is_too_large_is_refused(self):
        large = STUDY.replace("in 0..1 = 0", "in 0..100000 = 0").replace("factor fast in 0..1", "factor fast in 0..9999")
        (self.folder / "s.exp").write_text(large, encoding="utf-8")
        self.assertIn("study s is too large to simulate: 10000 points, 9999 configurations of claims; select fewer", self.expc("diagnose", "s.exp", code=1).stderr)

    def test_trials_that_time_out_do_so_again(self):
        (self.folder / "s.exp").write_text(LATE, encoding="utf-8")
        self.expc("run", "s.exp", "--heat-up", "0", "--devices", "cpu:1", code=4)
        said, pays = self.criterion()
        late, = said["without_value"]
        self.assertEqual((late["kind"], late["infeasible"]), ("timed", 0))
        self.assertEqual(late["timeouts"], pays["timeouts"])
        self.assertGreater(late["timeouts"], 0.1)
        self.assertAlmostEqual(pays["known"]["least"], 1.5, delta=0.05)
        self.assertGreater(pays["chances"]["open"], 0.3)
        self.assertIsNone(pays["coverage"])
        self.assertGreater(said["design"]["seconds"], 10 * late["timeouts"])
        text = " ".join(self.expc("diagnose", "s.exp", "--studies", "100").stdout.split())
        self.assertRegex(text, r"timeouts: \d+ % of timed trials at fast=1 ")
        self.assertRegex(text, r"if the true value is 1\.\d+x \(measured where no trial times out; up to \d+ % do\): pass ")
        text = " ".join(self.expc("plan", "s.exp", "--all").stdout.split())
        self.assertIn("at the noise of stored trials where none times out", text)
        self.assertRegex(text, r"where no trial times out; up to \d+ % do\): pass ")

    def test_a_point_that_always_runs_out_of_memory_does_so_again(self):
        (self.folder / "s.exp").write_text(LATE.replace("sleep 60", "echo none > $$EXPC_OUT_OF_MEMORY && exit 1").replace("% 3", "% 1"), encoding="utf-8")
        self.expc("run", "s.exp", "--heat-up", "0", "--devices", "cpu:1", code=3)
        said, pays = self.criterion()
        self.assertEqual([(point["infeasible"], point["timeouts"]) for point in said["without_value"]], [(1, 0)])
        self.assertEqual((pays["known"], pays["chances"]["fail"]), (None, 1))
        text = self.expc("diagnose", "s.exp", "--studies", "100").stdout
        self.assertIn("out of memory: 100 % of timed trials at fast=1\n", text)
        self.assertIn("    without a value: pass 0 %, fail 100 %, undecided 0 % of 100 simulated studies\n", text)
        self.assertNotIn("do not vary", text)
        text = self.expc("plan", "s.exp", "--all").stdout
        self.assertIn("without a value: pass 0 %, fail 100 %", text)
        self.assertNotIn("expected resolution", text)

    def test_a_pilot_measures_the_noise_and_is_no_look(self):
        run = ("run", "s.exp", "--heat-up", "0", "--devices", "cpu:1")
        text = self.expc(*run, "--pilot").stdout
        self.assertIn("1000 simulated studies of s: 10 timed blocks", text)
        self.assertIn("measured (10 trials)", text)
        self.assertFalse((self.folder / "results" / "s.html").exists())
        found, = self.document(*run)["criteria"]
        self.assertEqual((found["scope"]["complete"], found["look"], found["provisional"]), (10, None, False))

    def test_what_is_stated_wrongly_is_refused_with_the_way_out(self):
        for words, said in ((("--noise", "fast"), "expected VALUE or NAME=VALUE, as in --noise 2%"),
                            (("--noise", "2ms"), "noise is a share of the value, as 2%"),
                            (("--noise", "wall=2%"), "measures no metric of that name"),
                            (("--effect", "1.3x"), "expected NAME=VALUE, as in --effect pays=1.3x"),
                            (("--effect", "pay=1.3x"), "has no criterion of that name"),
                            (("--effect", "pays=3s"), "the unit 's' does not fit, because pays is about 'x'"),
                            (("--lost", "2"), "expected a share, as 2%")):
            self.assertIn(said, self.expc("diagnose", "s.exp", *words, code=2).stderr)
        self.assertIn("not above zero", self.expc("diagnose", "s.exp", "--effect", "pays=0").stdout)


if __name__ == "__main__":
    main()
