#!/usr/bin/env python3
"""Where the time went, as a user meets it: in the report, and asked for one change of a level by `report --explain`.

usage: attribution_test.py --expc PATH --null-worker PATH
"""
import json

from command import OPTIONS, Command, expc, main, new_folder

STUDY = """import std.null
study slow {
  workload null.idle
  factor step in { 20ms, 10ms, 10.001ms }  baseline 20ms
  factor gpus in { 1, 2 }
  measure step_time, profiled_time
  compare gain = speedup(step_time) over step
  compare same = speedup(step_time) over step against 10ms
  criterion pays: forall gpus: gain[step = 10ms] >= 1.5x with confidence 95%
  design { timed { repeat 7 steps 1 } profile { repeat 7 steps 1 } seed 4 }
  preset few { design { profile { repeat 1 } } }
}
"""


class Attribution(Command):
    @classmethod
    def setUpClass(cls):
        cls.folder = new_folder(cls.addClassCleanup)
        (cls.folder / "s.exp").write_text(STUDY, encoding="utf-8")
        expc("run", "s.exp", "--devices", "cpu:2", "--heat-up", "0", "--worker", OPTIONS.null_worker, folder=cls.folder)

    def explain(self, change, *more, code=0):
        return self.expc("report", "s.exp", "--devices", "cpu:2", "--explain", change, *more, code=code)

    def test_the_report_has_intervals_over_blocks_and_flags_what_may_be_noise(self):
        report = self.document("report", "s.exp", "--devices", "cpu:2")
        by_pair = {(one["baseline"], one["treated"]): one for one in report["attributions"]}
        clear = [one for one in by_pair.values() if not one["may_be_none"]]
        noise = [one for one in by_pair.values() if one["may_be_none"]]
        self.assertEqual((len(clear), len(noise)), (6, 2))
        for one in clear:
            self.assertEqual(one["blocks"], 7)
            self.assertGreater(one["interval"]["low"] * one["interval"]["high"], 0)
            for category in one["views"]["step"]:
                difference = category["treated"] - category["baseline"]
                self.assertTrue(category["interval"]["low"] <= difference <= category["interval"]["high"], category)
        for one in noise:
            timed, = [effect for effect in one["timed"] if effect["comparison"] == "same"]
            self.assertTrue(timed["interval"]["low"] <= 1 <= timed["interval"]["high"], timed)
        self.assertIn("95 % interval", self.expc("report", "s.exp", "--devices", "cpu:2", "--all").stdout)
        text = " ".join(self.explain("step: 10ms -> 10.001ms").stdout.split())
        self.assertEqual(text.count("caution: the timed trials show no clear difference"), 2)
        page = (self.folder / "results" / "slow.html").read_text(encoding="utf-8")
        self.assertIn("the timed trials show no clear difference", page)

    def test_time_of_other_threads_says_so(self):
        self.assertIn("beside these", self.explain("step: 20ms -> 10ms @ gpus = 2").stdout)
        text = " ".join(self.explain("step: 20ms -> 10ms @ gpus = 2").stdout.split())
        self.assertIn("time of other threads and devices", text)
        self.assertNotIn("time of other threads and devices", " ".join(self.explain("step: 20ms -> 10ms @ gpus = 1").stdout.split()))

    def test_one_change_is_explained_at_one_place_or_at_all(self):
        one = json.loads(self.explain("step: 20ms -> 10ms @ gpus = 2", "--format", "json").stdout)
        every = json.loads(self.explain("step:20ms->10ms", "--format", "json").stdout)
        self.assertEqual((len(one), len(every)), (1, 2))
        self.assertIn(one[0], every)
        back, = json.loads(self.explain("step: 10ms -> 20ms @ gpus = 2", "--format", "json").stdout)
        self.assertAlmostEqual(back["treated_step"], one[0]["baseline_step"])

    def test_what_is_not_there_is_named(self):
        for change, words in (("stepp: 20ms -> 10ms", "'stepp' is not a factor of the study 'slow', which has step, gpus"),
                              ("step: 20ms -> 11ms", "'11ms' is not a level of 'step', which has 20ms, 10ms, 10.001ms"),
                              ("step: 20ms -> 10ms @ gpus = 3", "'3' is not a level of 'gpus', which has 1, 2"),
                              ("step: 20ms", "'step: 20ms' is not a change of a level, which is written 'precision: fp64 -> fp16"),
                              ("step: 20ms -> 10ms @ step = 20ms", "the plan has no two points with"),
                              ("\x1b[31m: a -> b", "is not a factor of the study")):
            failed = self.explain(change, code=1)
            self.assertIn(words, failed.stderr)
            self.assertEqual(failed.stdout, "")
            self.assertNotIn("\x1b", failed.stderr)

    def test_without_profile_trials_there_is_the_way_to_them(self):
        failed = self.expc("report", "s.exp", "--devices", "cpu:2", "--results", "none", "--explain", "step: 20ms -> 10ms", code=1)
        self.assertIn("no results in", failed.stderr)
        self.expc("run", "s.exp", "--devices", "cpu:2", "--heat-up", "0", "--worker", OPTIONS.null_worker, "--results", "none",
                  "--where", "step == 20ms", code=4)
        failed = self.expc("report", "s.exp", "--devices", "cpu:2", "--results", "none", "--explain", "step: 20ms -> 10ms", code=1)
        self.assertIn("2 of 2 pairs of points with 'step: 20ms -> 10ms' have no block with profile trials of both", failed.stderr)


if __name__ == "__main__":
    main("--null-worker")
