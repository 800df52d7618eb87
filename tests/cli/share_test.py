#!/usr/bin/env python3
"""Blocks beside each other, as a user asks for them: each on devices of its own, and what the control says of it.

usage: share_test.py --expc PATH --null-worker PATH --fake-nvml PATH
"""
import re

from command import OPTIONS, main
from null_cards import NullCards

STUDY = """workload tool command ["./tool.sh", "${n}"] {
  param n : int
  metric wall : Time lower
}
study tiny {
  workload tool
  factor n in { 1, 2 }  baseline 1
  measure wall
  compare gain = speedup(wall) over n
  criterion far: forall *: gain <= 5x  with confidence 90%
  design { timed { repeat 6 }  share 4 }
}
"""


class Share(NullCards):
    STUDY = STUDY

    def run_study(self, script, *arguments, code):
        self.write("tool.sh", "#!/bin/sh\n" + script).chmod(0o755)
        return self.expc("run", "tiny.exp", "--worker", OPTIONS.null_worker, "--heat-up", "0", *arguments, code=code)

    def test_four_trials_with_one_card_each_run_at_once(self):
        script = f"""
mkdir {self.folder}/on.$CUDA_VISIBLE_DEVICES || exit 1
for i in $(seq 30); do
  test $(ls -d {self.folder}/on.* | wc -l) = 4 && touch {self.folder}/four
  test -e {self.folder}/four && break
  sleep 0.1
done
rmdir {self.folder}/on.$CUDA_VISIBLE_DEVICES
"""
        done = self.run_study(script, "--null-gpus", "4", code=4)
        self.assertIn("4 blocks run in parallel, on devices 0, 1, 2, 3", done.stderr)
        self.assertNotIn("failed", done.stderr)  # no card ever had two
        self.assertTrue((self.folder / "four").exists())

    def test_the_control_says_that_trials_do_not_disturb_each_other(self):
        done = self.run_study("sleep 0.2", "--devices", "cpu:4", code=0)
        self.assertNotIn("untrusted", done.stdout)
        whole = self.expc("report", "tiny.exp", "--all", "--devices", "cpu:4", code=0).stdout
        self.assertRegex(re.sub(r"\s+", " ", whole), r"run.alone\), which ran alone, agrees with the runs in parallel")
        self.assertIn("6 of 6 pairs, 4 sessions, 1 node", re.sub(r"\s+", " ", whole))

    def test_the_control_says_that_trials_disturb_each_other(self):
        # Takes longer in proportion to the number of other blocks.
        script = f"""
touch {self.folder}/here.$$
sleep 0.1
for i in {self.folder}/here.*; do sleep 0.5; done
rm {self.folder}/here.$$
"""
        self.write("tiny.exp", STUDY.replace("5x", "1.2x"))
        self.run_study(script, "--devices", "cpu:4", "--verdicts-ok", code=0)
        said = self.expc("report", "tiny.exp", "--all", "--devices", "cpu:4", code=None)
        # Six blocks on a busy machine may scatter too much for the control; then a note says so, or it is not judged.
        found = re.search(r"run.alone\)(?:, which ran alone, (differs from|agrees with) the runs in parallel| is not judged)", re.sub(r"\s+", " ", said.stdout))
        self.assertTrue(found, said.stdout)
        self.assertEqual(said.returncode, 4 if found[1] == "differs from" else said.returncode, said.stdout)

    def test_a_study_without_sharing_takes_it_from_the_command_line(self):
        self.write("tiny.exp", STUDY.replace("share 4", ""))
        done = self.run_study("sleep 0.2", "--devices", "cpu:4", "--jobs", "2", "--verdicts-ok", code=0)
        self.assertIn("2 blocks run in parallel, on devices 0+1, 2+3", done.stderr)
        plan = self.expc("plan", "tiny.exp", "--devices", "cpu:4", "--jobs", "2").stdout
        self.assertIn("up to 2 blocks in parallel, each on its own devices", plan)
        self.assertIn("n=1 runs a second time in each block, alone, to show whether parallel blocks disturb each other", re.sub(r"\s+", " ", plan))
        # Whoever leaves it out would not see the control: no verdict, and the way out.
        way_out = "the study was measured with --jobs 2: add -D design.share=2 to use them"
        for words, code in [(["report"], 5), (["export", "--format", "markdown"], 0)]:
            self.assertIn(way_out, re.sub(r"\s+", " ", self.expc(*words, "tiny.exp", "--devices", "cpu:4", code=code).stdout))
        self.assertIn(way_out, self.expc("bundle", "tiny.exp", code=1).stderr)
        other = self.expc("compare", "tiny.exp", "results", "results", "--claims", code=5).stderr
        self.assertIn("was measured with --jobs 2: add -D design.share=2", other)
        there = self.expc("export", "tiny.exp", "--devices", "cpu:4", "--jobs", "2", "--format", "markdown").stdout
        self.assertNotIn("the study was measured with", there)
        self.expc("bundle", "tiny.exp", "-D", "design.share=2", code=0)


if __name__ == "__main__":
    main("--null-worker", "--fake-nvml")
