#!/usr/bin/env python3
"""Verdicts that are looked at more than once, as a user meets them.

usage: looks_test.py --expc PATH
"""
import json
import re

from command import Command, main

# A command that draws its time: two levels, of which the second is half as much again as fast.
STUDY = """workload job command ["python3", "-IS", "-c",
    "import random, sys; s, f = map(int, sys.argv[1:]); print((3 - f) * random.Random(2 * s + f).gauss(1, 0.02))", "${seed}", "${fast}"] {
  param fast : int in 0..1 = 0
  metric t : Time lower from regex("(.+)", unit = 1s)
}
study s {
  workload job
  factor fast in 0..1 baseline 0
  compare gain = speedup(t) over fast
  criterion pays: forall *: gain >= %s with confidence 95%%
  design { repeat %s  seed 236 }
}
"""


class Looks(Command):
    def study(self, repeat, bound="1.2x"):
        self.write("s.exp", STUDY % (bound, repeat))

    def expc(self, command, *more, code):
        heat_up = ["--heat-up", "0", "--devices", "cpu:1"] if command == "run" else []
        return super().expc(command, "s.exp", *heat_up, *more, code=code)

    def criterion(self, code):
        criterion, = self.document("report", code=code)["criteria"]
        page = (self.folder / "results" / "s.html").read_text(encoding="utf-8")
        self.assertEqual("provisional</span>" in page, criterion["provisional"])
        self.assertEqual(bool(re.search(r'class="tally [^"]*"><b>1</b> \w+ \(provisional\)<', page)), criterion["provisional"])
        return criterion

    def test_a_clear_effect_ends_at_the_first_planned_look(self):
        self.study("20 looks at 8, 14")
        ended = "stopped early: every criterion was decided at the look after 8 of 20 timed blocks"
        run = self.expc("run", code=0)
        self.assertIn(ended, run.stderr)
        self.assertRegex(self.expc("report", "--all", code=0).stdout, r"interim analysis 1 \(8 of 20 blocks now\)")
        found = self.criterion(code=0)
        self.assertEqual((found["verdict"], found["provisional"], found["look"]["now"]), ("pass", False, 8))
        self.assertEqual(found["scope"]["complete"], 8)
        self.assertIn("nothing to run: " + ended, self.expc("run", code=0).stderr)

    def test_a_look_is_paid_for_whichever_plan_asks(self):
        self.study("7", bound="1.475x")
        self.expc("run", code=4)
        more = ("-D", "design.timed.repeat=12")
        self.expc("run", *more, code=4)
        of_more, = self.document("report", *more, code=4)["criteria"]
        of_less = self.criterion(code=4)
        for found in (of_more, of_less):
            self.assertEqual((found["look"]["before"], found["look"]["now"]), ([7], 12))
        self.assertEqual(of_more["cells"][0]["interval"], of_less["cells"][0]["interval"])

    def test_an_effect_at_the_bound_takes_all_looks(self):
        self.study("12 looks at 8", bound="1.475x")
        self.expc("run", code=4)
        found = self.criterion(code=4)
        self.assertEqual((found["look"]["before"], found["look"]["now"], found["provisional"]), ([8], 12, False))

    def test_what_an_unfinished_plan_says_is_provisional_in_text_page_json_and_code(self):
        self.study("8")
        self.expc("run", code=0)
        self.assertFalse(self.criterion(code=0)["provisional"])
        self.study("30")
        text = self.expc("report", code=4).stdout
        self.assertRegex(text, r"PASS \(provisional\) +pays")
        self.assertIn("provisional: not all planned trials are measured", text)
        self.assertTrue(self.criterion(code=4)["provisional"])

    def test_more_repetitions_after_a_verdict_are_a_further_look(self):
        self.study("8")
        self.expc("run", code=0)
        self.assertIsNone(self.criterion(code=0)["look"])
        self.study("12")
        self.expc("run", code=0)
        whole = self.expc("report", "--all", code=0).stdout
        self.assertRegex(re.sub(r"\s+", " ", whole), r"interim analysis 2 \(before: after 8; 12 of 12 blocks now\): its intervals are 99")
        # Running the study once more adds no look; a criterion with other bounds has as many.
        self.expc("run", code=0)
        self.assertEqual(self.criterion(code=0)["look"]["before"], [8])
        self.study("12", bound="1.1x")
        self.assertEqual(self.criterion(code=0)["look"]["before"], [8])

        # A run on another machine counts as the second look, too.
        self.expc("bundle", "--devices", "cpu:1", code=0)
        super().expc("bundle", "s.bundle.tar.zst", "--to", "elsewhere", timeout=120)
        report = super().expc("report", "s.exp", "--format", "json", folder=self.folder / "elsewhere", code=None, timeout=120)
        criterion, = json.loads(report.stdout)["criteria"]
        self.assertEqual(criterion["look"]["before"], [8])

    def test_fresh_blocks_after_a_verdict_are_a_further_look_and_a_new_name_is_no_new_claim(self):
        self.study("8", bound="1.475x")
        self.expc("run", code=4)
        for before in ([8], [8, 16]):
            self.expc("run", "--fresh", code=4)
            found = self.criterion(code=4)
            self.assertEqual((found["look"]["before"], found["look"]["now"]), (before, before[-1] + 8))
        text = (self.folder / "s.exp").read_text(encoding="utf-8")
        text = text.replace("criterion pays", "criterion renamed").replace("gain", "other").replace("study s", "study t")
        (self.folder / "s.exp").write_text(text.replace("speedup(t)", "ratio(t)").replace(">= 1.475x", "<= 0.678x"), encoding="utf-8")
        self.expc("run", "--results", "results", code=4)
        report = self.document("report", code=4)
        self.assertEqual(report["criteria"][0]["look"]["before"], [8, 16])

    def test_verdicts_with_other_versions_of_the_program_are_told_and_do_not_count(self):
        self.write("data", "1")
        self.study("8", bound="1.485x")
        whole = (self.folder / "s.exp").read_text(encoding="utf-8").replace("  param fast", "  VERSION\n  inputs \"data\"\n  param fast")
        for version, data, other in (("", "1", 0), ("", "2", 1), ("version 2", "2", 2), ("version 3", "3", 3)):
            self.write("s.exp", whole.replace("VERSION", version))
            self.write("data", data)
            said = "" if other == 0 else f"{other} earlier look{'s' * (other > 1)}, at {'other versions' if other > 1 else 'another version'} of the program"
            run = self.expc("run", code=4).stdout
            self.assertIn(said, run)
            found = self.criterion(code=4)
            self.assertEqual((found["other_looks"], found["look"]), (other, None))
            self.assertEqual([note for note in found["notes"] if "earlier look" in note], [note for note in found["notes"] if other and said in note])
            self.assertIn(said, re.sub(r"\s+", " ", (self.folder / "results" / "s.html").read_text(encoding="utf-8")))
            self.expc("run", code=4)  # the same again is no other version
            self.assertEqual(self.criterion(code=4)["other_looks"], other)

    def test_a_version_of_which_every_trial_failed_was_no_look(self):
        self.study("8", bound="1.485x")
        whole = (self.folder / "s.exp").read_text(encoding="utf-8").replace("  param fast", "  inputs \"data\"\n  param fast")
        self.write("s.exp", whole.replace("import random", "1 / len(open('data').read()); import random"))
        for data, code in (("", 6), ("2", 4)):
            self.write("data", data)
            self.expc("run", code=code)
        self.assertEqual(self.criterion(code=4)["other_looks"], 0)

    def test_parts_of_a_folder_pay_for_the_looks_of_earlier_runs(self):
        self.study("8", bound="1.475x")
        for more in ((), ("--fresh",), ("--fresh",)):
            self.expc("run", *more, code=4)
        sides = [f"results,run={run}" for run in (1, 2, 3)]
        whole = self.expc("compare", *sides, "--claims", "--format", "json", code=5).stdout
        looks = [side["look"].split(":")[0] for side in json.loads(whole)["verdicts"][0]["sides"]]
        self.assertEqual(looks[0], "")
        self.assertTrue(looks[1].startswith("interim analysis 2 (before"), looks)
        self.assertTrue(looks[2].startswith("interim analysis 3 (before"), looks)
        text = re.sub(r"\s+", " ", self.expc("compare", *sides, "--claims", code=5).stdout)
        self.assertIn("interim analysis 3 (before: after 8, 16; 24 of 24 blocks now): its intervals are 99", text)

    def test_a_run_that_adapts_has_one_verdict_and_one_look(self):
        self.study("8..12 until half_width(gain) <= 0.01%", bound="1.475x")
        self.expc("run", code=4)
        found = self.criterion(code=4)
        self.assertEqual((found["look"], found["scope"]["complete"]), (None, 12))

    def test_repetitions_that_adapted_are_paid_for_whichever_plan_asks(self):
        self.study("8..12 until half_width(gain) <= 50%")
        self.expc("run", code=0)
        adaptive = self.criterion(code=0)
        self.assertEqual(adaptive["scope"]["complete"], 8)
        self.study("8")
        fixed = self.criterion(code=0)
        self.assertEqual(fixed["cells"][0]["interval"], adaptive["cells"][0]["interval"])
        # Eight repetitions without a rule on the width have a narrower interval.
        self.expc("run", "--results", "other", code=0)
        other, = self.document("report", "--results", "other", code=0)["criteria"]
        width = lambda found: found["cells"][0]["interval"]["high"] - found["cells"][0]["interval"]["low"]
        self.assertLess(width(other), width(fixed))

    def test_estimates_below_zero_and_deep_metrics_lose_no_look(self):
        self.study("8", bound="1.475x")
        text = (self.folder / "s.exp").read_text(encoding="utf-8")
        text = text.replace("  metric t :", "  metric peak : Bytes lower\n  estimate peak = 1GiB - 2GiB * fast\n  metric t :")
        text = text.replace("  metric peak : Bytes lower\n", "  metric peak : Bytes lower from regex(\"(.+)\", unit = 1GiB)\n")
        for i in range(20):
            text = text.replace("  compare gain", f"  metric m{i} = {'t' if i == 0 else f'm{i - 1}'} * 2 + 1s\n  compare gain")
        (self.folder / "s.exp").write_text(text, encoding="utf-8")
        for repeat, before in (("8", None), ("10", [8]), ("12", [8, 10])):
            self.expc("run", "-D", f"design.timed.repeat={repeat}", code=4)
            look = self.document("report", "-D", f"design.timed.repeat={repeat}", code=4)["criteria"][0]["look"]
            self.assertEqual(look and look["before"], before)



if __name__ == "__main__":
    main()
