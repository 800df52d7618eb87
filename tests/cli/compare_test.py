#!/usr/bin/env python3
"""`expc compare`: folders of one study beside each other, as a user meets them.

usage: compare_test.py --expc PATH
"""
import json
import os
import shutil

from command import Command, expc, main, new_folder

# The contents of these files do not count for whether two trials are comparable, so they can stand for another machine. The noise is
# a counter's, so that it is the same in every run of the test.
STUDY = """workload tool command ["bash", "-c", "cd %s; n=$$(($$(cat n) + 1)); echo $$n >n; echo t $$(($$(cat speed) + n * 5 %% 8 + ${size})) ms; echo b $$(cat bytes)"] {
  param size : int
  metric wall_time : Time lower from regex("t ([0-9]+) ms", unit = 1ms)
  metric peak : Bytes lower exact from regex("b ([0-9]+)", unit = 1B)
}
study s {
  workload tool
  factor size in { 10, 500 } baseline 10
  measure wall_time, peak
  compare growth = ratio(wall_time) over size
  criterion quick: forall size where size < 100: wall_time <= 150ms
  criterion grows: growth[size = 500] >= 2x with confidence 95%%
  design { timed { repeat 10 } }
}
"""


class Compare(Command):
    @classmethod
    def setUpClass(cls):
        cls.folder = new_folder(cls.addClassCleanup)
        (cls.folder / "s.exp").write_text(STUDY % cls.folder, encoding="utf-8")
        for name, speed, size in [("old", 100, 4096), ("same", 100, 4096), ("near", 120, 4096), ("slow", 200, 8192)]:
            (cls.folder / "n").write_text("0")
            (cls.folder / "speed").write_text(str(speed))
            (cls.folder / "bytes").write_text(str(size))
            expc("run", "s.exp", "--results", name, "--heat-up", "0", "--devices", "cpu:1", folder=cls.folder, code=(0, 3))

    def expc(self, *words, code=None, devices="cpu:1"):
        return super().expc(*words, "--devices", devices, code=code)

    def compare(self, *words, code):
        done = self.expc("compare", "s.exp", *words, code=code)
        return done.stdout if code in (0, 3, 4) else done.stderr

    def few(self, file, repeat, first=""):
        """The study with too few repetitions for its claim of confidence, and so without it; its command does `first`."""
        lines = [line for line in STUDY.splitlines() if "confidence" not in line]
        study = "\n".join(lines).replace("cd %s; ", "cd %s; " + first).replace("repeat 10", f"repeat {repeat}")
        (self.folder / file).write_text(study % self.folder, encoding="utf-8")

    def test_nothing_moves_between_two_runs_of_the_same(self):
        text = self.compare("old", "same", code=0)
        self.assertIn("verdicts  0 of 2 changed", text)
        self.assertIn("0 of 5 changed (Holm-corrected over 3 at 95 %)", text)
        self.assertIn("only changes above 1.25x count", text)

    def test_what_sessions_do_not_show_is_not_said_of_them(self):
        self.few("few.exp", 3)
        for name in ("few-1", "few-2"):
            self.expc("run", "few.exp", "--results", name, "--heat-up", "0")
        done = self.expc("compare", "few.exp", "few-1", "few-2", "--format", "json")
        scope = " ".join(json.loads(done.stdout)["scope"])
        self.assertNotIn("hold for similar sessions", scope)
        self.assertIn("with so few sessions the variation between sessions is unknown", scope)

    def test_what_got_worse_is_named_with_its_verdict(self):
        text = self.compare("old", "slow", code=3)
        self.assertIn("PASS → FAIL quick: ", text)
        self.assertIn("4 of 5 changed (Holm-corrected over 3 at 95 %); 1 undecided", " ".join(text.split()))
        whole = json.loads(self.compare("old", "slow", "--format", "json", code=3))
        self.assertEqual(whole["outcome"], "fail")
        self.assertEqual([one["lost"] for one in whole["verdicts"] if one["name"] == "quick"], [True])
        shifts = {(one["subject"], one["label"]): one for one in whole["values"]}
        time = shifts["wall_time", "size=10"]
        self.assertTrue(time["moved"] and time["worse"] and time["regression"])
        self.assertAlmostEqual(time["estimate"], 213.5 / 113.5, delta=0.05)
        self.assertLess(time["interval"]["low"], time["estimate"])
        peak = shifts["peak", "size=10"]
        self.assertEqual((peak["moved"], peak["estimate"], peak["interval"]["low"], peak["interval"]["high"]), (True, 2, 2, 2))
        growth = shifts["growth", "size=500"]
        self.assertTrue(growth["moved"])
        self.assertIsNone(growth["worse"])

    def test_what_sessions_may_differ_by_is_undecided(self):
        text = self.compare("old", "near", code=4)
        self.assertIn("undecided: the sides differ, but no more than sessions of one side may differ", " ".join(text.split()))
        self.assertIn("1.18x", text)
        whole = json.loads(self.compare("old", "near", "--format", "json", code=4))
        self.assertEqual(whole["outcome"], "inconclusive")
        self.assertIn("### ❔ study s: old → near", self.compare("old", "near", "--format", "markdown", code=4))
        self.compare("old", "near", "--margin", "50", code=0)
        self.compare("near", "old", code=0)  # for better is open, and no loss

    def test_a_margin_forgives_what_stays_within(self):
        text = self.compare("old", "slow", "--margin", "200", code=3)  # the verdict is still lost
        self.assertIn("worse, within the margin", text)
        self.compare("slow", "old", code=0)  # for better is no loss

    def test_parts_of_one_folder_are_sides_too(self):
        self.expc("store", "merge", "slow", "--results", "same")
        merged = self.compare("old", "same,run=1", code=0)
        self.assertIn("0 of 5 changed", merged)
        # Trials of the other side, by whichever way to them, show nothing that moved.
        shutil.copytree(self.folder / "old", self.folder / "copy")
        (self.folder / "link").symlink_to("old")
        for one, other in (("old", "copy"), ("old", "link"), ("old", "old,run=1")):
            self.assertIn(f"{one} and {other} contain the same trials: nothing can have changed between copies",
                          self.compare(one, other, code=1))
        self.compare("old,since=2020-01-01", "slow,before=2999-01-01", code=3)
        host = os.uname().nodename
        self.expc("run", "s.exp", "--results", "lanes", "--heat-up", "0", "--jobs", "2", devices="cpu:2")
        done = self.expc("compare", "s.exp", f"lanes,host={host}", "old", devices="cpu:2")
        self.assertIn(" of 5 changed", done.stdout, done.stderr)
        self.assertIn("old,host=nowhere has no usable results of study s", self.compare("old,host=nowhere", "slow", code=5))
        (self.folder / "old,run=7").symlink_to("old")
        self.compare("old,run=7", "slow", code=3)
        self.compare("old,run=7,since=2020-01-01", "slow", code=3)
        self.assertIn("unknown part 'colour'", self.compare("old,colour=red", "slow", code=2))
        self.assertIn("'tomorrow' is not a day", self.compare("old,since=tomorrow", "slow", code=2))
        self.assertIn("no results in", self.compare("nothing", "slow", code=1))

    def test_a_study_is_run_again_and_its_conclusions_are_named(self):
        for name, speed in [("here", 101), ("there", 200)]:
            (self.folder / "speed").write_text(str(speed))
            self.expc("run", "s.exp", "--results", name, "--heat-up", "0")
        text = self.compare("old", "here", "--claims", code=0)
        self.assertIn("replicated quick: ", text)
        self.assertIn("verdicts  2 replicated\n", text)
        text = self.compare("old", "here", "there", "--claims", code=3)
        self.assertIn("contradicted quick: ", text)
        self.assertIn("  there: FAIL: 10 of 10 runs are above 150ms", text)
        self.assertIn("verdicts  1 contradicted, 1 replicated\n", text)
        whole = json.loads(self.compare("old", "there", "--claims", "--format", "json", code=3))
        self.assertEqual({one["name"]: one["became"] for one in whole["verdicts"]}, {"quick": "contradicted", "grows": "replicated"})
        self.assertIn("- contradicted **quick**: ", self.compare("old", "there", "--claims", "--format", "markdown", code=3))
        self.compare("old,host=nowhere", "there", "--claims", code=5)

    def test_a_session_that_timed_out_is_in_the_history(self):
        self.few("slow.exp", 1, "sleep $$(cat wait); ")
        for name, wait in [("quick", 0), ("stuck", 60)]:
            (self.folder / "wait").write_text(str(wait))
            self.expc("run", "slow.exp", "--results", name, "--heat-up", "0", "--timeout", "5")
        done = self.expc("compare", "slow.exp", "quick", "stuck", "--by", "session", "--metric", "wall_time")
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        self.assertIn("wall_time at size=10: 2 sessions, inf now", done.stdout)
        self.assertIn("timed out: 1 trial in 1 session, 1 of 1 in the newest", done.stdout)

    def test_sides_are_as_many_as_the_question_takes(self):
        self.assertIn("name a second results folder to compare with", self.compare("old", code=2))
        self.assertIn("compare takes exactly two sides", self.compare("old", "same", "slow", code=2))
        self.assertIn("--margin", self.compare("old", "same", "--claims", "--margin", "2", code=2))
        self.assertIn("old and old,run=1 contain the same trials: each counts once", self.compare("old", "old,run=1", "--by", "session", code=1))
        self.assertIn("old and old contain the same trials: a copy", self.compare("old", "old", "--claims", code=1))
        self.assertIn("replicate is now `expc run", self.expc("replicate", "s.exp", "--of", "old").stderr)
        self.expc("history", "s.exp", code=2)

    def test_markdown_for_a_pull_request(self):
        text = self.compare("old", "slow", "--format", "markdown", code=3)
        self.assertIn("### ❌ study s: old → slow", text)
        self.assertIn("- PASS → FAIL **quick**: ", text)
        self.assertIn("<details><summary>scope</summary>", text)
        self.assertIn("| wall&#95;time | size=10 | ", text)


if __name__ == "__main__":
    main()
