#!/usr/bin/env python3
"""`expc rehearse` as a user types it. The cards are those of an NVML that the test makes up, and points are run by `expc-worker-null`;
tests/null_gpu/rehearse_test.py rehearses with the CUDA worker.

usage: rehearse_test.py --expc PATH --null-worker PATH --fake-nvml PATH
"""
import json
import shutil
import signal
import subprocess
import time

from command import OPTIONS, main
from null_cards import NullCards

STUDY = """import std.null

system box  { gpus = 2  gpu.memory = 94GB }
system bare { gpus = 2 }

study tiny {
  workload null.idle(duration = 10ms)
  factor step  in { 20ms, 10ms }  baseline 20ms
  factor gpus  in { 1, 2, 3 }  baseline 1
  factor fault in { none, out_of_memory, refuse, missing_metric }  baseline none
  require cards: gpus <= system.gpus  because "there are fewer cards"
  exclude fault != none and (gpus > 1 or step != 20ms)
  measure step_time
  compare gain = speedup(step_time) over step
  design { timed { repeat 8  steps 1  warmup 0 }  seed 7 }
  preset good { only fault in { none } }
}
"""


class Rehearse(NullCards):
    STUDY = STUDY

    def setUp(self):
        super().setUp()
        self.file = self.folder / "results/rehearsals/tiny.json"

    def rehearse(self, *arguments, code=0, cards=("--system", "box"), preset="good"):
        presets = ("--preset", preset) if preset else ()
        return self.expc("rehearse", "tiny.exp", *presets, *cards, "--worker", OPTIONS.null_worker, *arguments, code=code)

    def kept(self):
        document = json.loads(self.file.read_text())
        self.assertEqual(document["schema"], "expc.rehearsal/1")
        return {point["label"]: point for point in document["points"]}

    def test_the_cards_must_be_known_and_what_is_wrong_with_them_is_one_line(self):
        for cards, code, said in (
                ((), 2, "Name a machine (--system proxima) or simulated GPUs (--null-gpus 4x94GB)"),
                (("--system", "box", "--null-gpus", "2"), 2, "--system excludes --null-gpus"),
                (("--system", "bare"), 1, "system 'bare' declares no gpu.memory"),
                (("--system", "bax"), 1, "unknown system 'bax'; did you mean 'box'?"),
                (("--null-gpus", "lots"), 1, "such as 4 or 4x94GiB")):
            with self.subTest(cards):
                self.assertIn(said, self.rehearse(cards=cards, code=code).stderr)
                self.assertFalse(self.file.exists())

    def test_each_point_has_a_row_and_the_reasons_stand_below_once(self):
        done = self.rehearse(preset=None, code=3)
        for said in ("on 2 simulated GPUs of 1.00 GiB", "runs", "1.00 GiB", "2.00 GiB", "Per step",
                     "1 point does not fit: out of memory, as asked (step=20ms gpus=1 fault=out_of_memory)",
                     "1 point failed: null.idle was asked to fail",
                     "1 point failed: the worker's result has no rehearsal: the worker is older than this expc",
                     "2 points not rehearsed: there are fewer cards",
                     "4 run, 2 failed, 1 does not fit, 2 not rehearsed", "logs: results/rehearsals/logs"):
            self.assertIn(said, done.stdout)
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 100)
        self.assertIn("[1/7] step=20ms gpus=1 fault=none: runs in", done.stderr)
        self.assertFalse((self.folder / "results/journal").exists())

    def test_cards_by_number(self):
        document = json.loads(self.rehearse("--format", "json", cards=("--null-gpus", "3x94GB")).stdout)
        self.assertEqual({point["outcome"] for point in document["points"]}, {"runs"})
        self.assertEqual({point["cards"]["count"] for point in document["points"]}, {3})
        self.assertEqual(len(document["points"]), 6)

    def test_the_same_command_twice_rehearses_once_unless_asked(self):
        self.rehearse()
        first = self.kept()
        again = self.rehearse()
        self.assertIn("4 points are kept: this worker has rehearsed them on such GPUs before (--again repeats them)", again.stderr)
        self.assertIn("4 run", again.stdout)
        self.assertEqual(self.kept(), first)
        self.rehearse("--again", "--where", "gpus == 2")
        renewed = self.kept()
        for label, point in renewed.items():
            self.assertEqual(point == first[label], "gpus=2" not in label, label)

    def test_a_condition_chooses_points(self):
        self.assertIn("2 run", self.rehearse("--where", "gpus == 2").stdout)
        self.assertEqual(len(self.kept()), 2)
        self.assertIn("study tiny: no point satisfies gpus > 3", self.rehearse("--where", "gpus > 3", code=2).stderr)
        self.assertIn("unknown", self.rehearse("--where", "gpu == 2", code=2).stderr)

    def test_a_plan_and_a_report_show_it_apart_from_what_was_measured(self):
        self.rehearse(preset=None, code=3)
        plan = self.expc("plan", "tiny.exp", "--system", "box").stdout
        self.assertIn("Rehearsed  9 points on 2 simulated GPUs of 1.00 GiB", plan)
        self.assertIn("1 point failed: null.idle was asked to fail", plan)
        run = ("tiny.exp", "--preset", "good", "--devices", "cpu:1")
        measured = self.expc("run", *run, "--worker", OPTIONS.null_worker, "--heat-up", "0", code=0).stdout
        self.assertNotIn("Rehearsed", measured)
        page = (self.folder / "results/tiny.good.html").read_text()
        self.assertIn('<section id="rehearsed">', page)
        self.assertNotIn("host time", page)
        report = self.document("report", *run)
        self.assertEqual(len(report["rehearsed"]), 6)
        self.assertNotIn("host_seconds", json.dumps(report))
        self.assertFalse(report["null_cards"])
        shutil.rmtree(self.folder / "results/rehearsals")
        without = self.document("report", *run)
        del report["rehearsed"]
        self.assertEqual(report, without)

    def test_a_damaged_file_is_named_and_left_alone(self):
        self.rehearse()
        self.file.write_text(self.file.read_text()[:400])
        cut = self.file.read_bytes()
        said = self.rehearse(code=1).stderr
        self.assertIn("results/rehearsals/tiny.json: ", said)
        self.assertIn("remove it, and `expc rehearse` makes it again", said)
        self.assertEqual(self.file.read_bytes(), cut)
        plan = self.expc("plan", "tiny.exp", "--system", "box")
        self.assertIn("cannot read the rehearsal: results/rehearsals/tiny.json: ", plan.stderr)
        self.assertNotIn("Rehearsed", plan.stdout)
        self.file.unlink()
        self.assertIn("4 run", self.rehearse().stdout)

    def start_slow(self):
        """A rehearsal in which points take long, once the first has ended."""
        self.write("tiny.exp", STUDY.replace("duration = 10ms", "duration = 3s"))
        process = subprocess.Popen([OPTIONS.expc, "rehearse", "tiny.exp", "--preset", "good", "--system", "box", "--worker",
                                    OPTIONS.null_worker], cwd=self.folder, stdin=subprocess.DEVNULL,
                                   env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        deadline = time.monotonic() + 120
        while not (self.file.exists() and "runs" in self.file.read_text()) and time.monotonic() < deadline:
            self.assertIsNone(process.poll(), "it ended by itself")
            time.sleep(0.05)
        self.assertTrue(self.file.exists())
        return process

    def test_an_interrupted_one_keeps_what_it_has_and_goes_on(self):
        process = self.start_slow()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, out + err)
        self.assertIn("interrupted; rehearsals so far are kept, and the same command continues", err)
        runs = sum(point["outcome"] == "runs" for point in self.kept().values())
        self.assertIn(runs, (1, 2, 3))
        rest = self.rehearse()
        self.assertIn(f"{runs} point{' is' if runs == 1 else 's are'} kept", rest.stderr)
        self.assertIn("4 run", rest.stdout)

    def test_of_two_at_once_the_second_is_refused(self):
        process = self.start_slow()
        said = self.rehearse(code=1).stderr
        self.assertIn(f"is in use by process {process.pid}", said)
        self.assertIn("(expc rehearse)", said)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)


if __name__ == "__main__":
    main("--null-worker", "--fake-nvml")
