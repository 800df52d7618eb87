#!/usr/bin/env python3
"""`--null-gpus` as a user types it: what is refused, what is marked, and what is never judged. The cards are those of an NVML that the
test makes up, and trials are run by `expc-worker-null`; tests/null_gpu has the null libraries and the CUDA worker.

usage: null_gpus_test.py --expc PATH --null-worker PATH --fake-nvml PATH
"""
import contextlib
import json
import re
import sqlite3

from command import OPTIONS, main
from null_cards import NullCards

STUDY = """import std.null

study tiny {
  workload null.idle(noise = 0.01)
  factor step in { 20ms, 10ms }  baseline 20ms
  factor gpus in { 1, 2, 3 }  baseline 1
  require cards: gpus <= system.gpus  because "there are fewer cards"
  measure step_time, accuracy
  compare gain = speedup(step_time) over step
  criterion faster: forall gpus: gain[step = 10ms] >= 1.5x  with confidence 95%
  criterion learns: forall *: accuracy >= 10%
  design { timed { repeat 8  steps 1  warmup 0 } quality { repeat 1  epochs 1 }  seed 7 }
  table step_time by gpus, step
}
"""
NOTICE = "SIMULATED GPUS: all numbers here come from simulated GPUs, which compute nothing"


class NullGpus(NullCards):
    STUDY = STUDY

    def run_study(self, *arguments, code, **variables):
        return self.expc("run", "tiny.exp", "--worker", OPTIONS.null_worker, "--heat-up", "0", *arguments, code=code,
                         **variables)

    def test_missing_libraries_and_wrong_words_have_one_line_with_the_way_out(self):
        for words, folder, said in (("4", "/nonexistent", "`make cuda` builds the simulated GPU"),
                                    ("lots", None, "such as 4 or 4x94GiB; or 'found'"),
                                    ("found", None, "this machine shows none; --null-gpus 4 simulates four")):
            extra = {"EXPC_NULLGPU_FOLDER": folder} if folder else {}
            for command in ("plan", "run", "report"):
                text = self.expc(command, "tiny.exp", "--null-gpus", words, code=1, EXPC_NVML_LIBRARY="/nonexistent",
                                 **extra).stderr
                self.assertIn(said, text)
                self.assertEqual(text.count("\n"), 1, text)

    def test_a_plan_is_for_the_cards_that_are_asked_for(self):
        for number, points in (("2", 4), ("3", 6)):
            plan = self.document("plan", "tiny.exp", "--null-gpus", number)
            self.assertEqual(sum("unavailable" not in point for point in plan["points"]), points)
        narrowed = self.expc("plan", "tiny.exp", "--devices", "1", "--format", "json", EXPC_NULL_GPUS="3").stdout
        self.assertEqual(sum("unavailable" not in point for point in json.loads(narrowed)["points"]), 2)

    def test_nothing_is_judged_and_everything_is_marked(self):
        done = self.run_study("--null-gpus", "2x1GiB", code=4)
        self.assertIn("the GPUs are simulated and compute nothing: this run gives no verdict", done.stderr)
        self.assertEqual(done.stdout.count(NOTICE), 2, done.stdout)
        self.assertEqual(len(re.findall(r"(?m)^INCONCLUSIVE ", done.stdout)), 2, done.stdout)
        self.assertNotRegex(done.stdout, r"(?m)^(PASS|FAIL)")
        self.assertIn('class="null-cards" role="alert"', (self.folder / "results/tiny.html").read_text())
        result = self.document("report", "tiny.exp", "--null-gpus", "2", code=4)
        self.assertTrue(result["null_cards"])
        self.assertEqual({c["why"] for c in result["criteria"]}, {"measured on simulated GPUs, which compute nothing"})
        self.expc("store", "export", "all.sqlite")
        with contextlib.closing(sqlite3.connect(self.folder / "all.sqlite")) as store:
            self.assertEqual(store.execute("SELECT count(*) FROM run WHERE null_cards = 0").fetchone(), (0,))
            self.assertEqual(store.execute("SELECT count(*) FROM trial WHERE environment_class NOT LIKE 'null-%'").fetchone(), (0,))
            self.assertGreater(store.execute("SELECT count(*) FROM trial").fetchone()[0], 0)

    def test_a_rehearsal_and_a_measurement_in_one_folder_are_never_mixed(self):
        real = {"EXPC_NVML_LIBRARY": OPTIONS.fake_nvml, "EXPC_FAKE_UUID": "GPU-11111111-000"}
        self.run_study("--null-gpus", "2", code=4)
        # Times on null cards say nothing about how long a measurement takes.
        self.assertIn("from stored trials", self.expc("plan", "tiny.exp", "--null-gpus", "2").stdout)
        self.assertNotIn("from stored trials", self.expc("plan", "tiny.exp", **real).stdout)
        done = self.run_study(code=0, **real)
        self.assertNotIn("SIMULATED GPUS", done.stdout)
        said = " ".join(done.stdout.split())
        self.assertIn("36 of 36 valid", said)
        self.assertIn("stored but ignored: 36 trials: measured in a different environment (devices, ", said)
        self.assertIn("from stored trials", self.expc("plan", "tiny.exp", **real).stdout)
        again = self.run_study("--null-gpus", "2", code=4)  # a rehearsal that comes later hides no measurement
        self.assertIn("nothing to run", again.stderr)
        self.assertIn(NOTICE, again.stdout)
        self.assertNotIn("SIMULATED GPUS", self.expc("report", "tiny.exp", code=0, **real).stdout)
        self.assertIn(NOTICE, self.expc("report", "tiny.exp", "--null-gpus", "2", code=4).stdout)

    def test_cards_that_the_machine_shows_are_used_only_when_asked_for(self):
        shown = {"EXPC_NVML_LIBRARY": OPTIONS.fake_nvml}
        done = self.run_study("--devices", "1", code=0, **shown)
        self.assertIn("are not used (--null-gpus found uses them)", done.stderr)
        self.assertNotIn("SIMULATED GPUS", done.stdout)
        done = self.run_study(code=4, EXPC_NULL_GPUS="found", **shown)
        self.assertIn("2 x Fake GPU", done.stderr)
        self.assertIn(NOTICE, done.stdout)


if __name__ == "__main__":
    main("--null-worker", "--fake-nvml")
