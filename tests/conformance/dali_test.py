#!/usr/bin/env python3
"""The loader `dali` in whole trials, with the real NVIDIA DALI on the CPU: every layout, precision and number of ranks, beside `dataloader`,
which is given the same images in the same order; and how its trials fail and end.

usage: dali_test.py EXPC_WORKER [TEST...]     exits with 77 (skipped) where DALI is not installed: tools/setup --dali
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import ranks  # noqa: E402

WORKER = ""
SMALL = {"width": 0.25, "batch": 16, "learning_rate": 0.0005}


def specification(*arguments, loader="dali", **options):
    return ranks.specification(*arguments, loader=loader, **{**SMALL, **options})


class Trials(unittest.TestCase):
    def losses(self, count, precision, layout, **options):
        spec = specification("timed", count, {"steps": 2, "warmup": 1}, precision=precision, layout=layout, **options)
        return ranks.result(WORKER, spec)["series"]["loss"]

    def test_every_layout_precision_and_rank_count(self):
        for count, precision in ((1, "fp32"), (2, "fp64"), (2, "bf16")):
            beside = self.losses(count, precision, "nchw", loader="dataloader")
            for layout in ("nchw", "nhwc"):
                with self.subTest(ranks=count, precision=precision, layout=layout):
                    found = self.losses(count, precision, layout)
                    self.assertEqual(len(found), 3)
                    # The same weights on the same images: the first losses differ by rounding only. Another order would show.
                    self.assertAlmostEqual(found[0], beside[0], delta=0.1 if precision == "bf16" else 1e-4)

    def test_the_training_thread_prepares_them_alone(self):
        self.assertAlmostEqual(self.losses(1, "fp32", "nhwc", workers=0)[0], self.losses(1, "fp32", "nhwc", workers=3, prefetch=4)[0],
                               delta=1e-5)

    def test_quality(self):
        event = ranks.result(WORKER, specification("quality", 2, {"epochs": 2}, width=0.5, batch=32, optimizer="adam", learning_rate=0.003,
                                                   layout="nhwc"))
        self.assertEqual(len(event["series"]["loss"]), 2 * 23)  # 719 images of each rank in batches of 32, the last one short
        self.assertLess(event["series"]["loss"][-1], event["series"]["loss"][0])
        # Each of 360 test images once in each evaluation, which share a pipeline: two ranks evaluate 180 in batches of 32.
        self.assertEqual(len(event["series"]["accuracy_curve"]), 2)
        for share in event["series"]["accuracy_curve"]:
            self.assertAlmostEqual(share * 360, round(share * 360))


class Failures(unittest.TestCase):
    def refused(self, reason, environment=None, **options):
        outcome = ranks.run(WORKER, specification(**options), environment=environment)
        self.assertEqual([rank.code for rank in outcome], [1], outcome[0].log)
        self.assertEqual(outcome[0].last()["event"], "failed")
        self.assertRegex(outcome[0].last()["reason"], reason)

    def test_a_library_that_is_gone(self):
        self.refused(r"NVIDIA DALI cannot be loaded: /nonexistent/libdali.so.*`tools/setup --dali` installs it",
                     environment={"EXPC_DALI_ROOT": "/nonexistent"})

    def test_a_process_that_is_told_to_end_does_so(self):
        spec = specification("timed", 1, {"steps": 1000000, "warmup": 0})
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(spec, file)
            file.flush()
            process = subprocess.Popen([WORKER, "--trial", file.name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            with process:
                for line in iter(process.stdout.readline, ""):
                    if '"steps"' in line:
                        break
                threads = [pathlib.Path(f"/proc/{process.pid}/task/{task}/comm").read_text() for task in
                           os.listdir(f"/proc/{process.pid}/task")]
                self.assertTrue(any("DALI" in name for name in threads), threads)
                children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
                self.assertEqual(children, "")
                process.terminate()
                process.wait(timeout=30)
        self.assertNotEqual(process.returncode, 0)


def missing():
    outcome = ranks.run(WORKER, specification("timed", 1, {"steps": 1, "warmup": 0}))
    return "built without NVIDIA DALI" in outcome[0].last().get("reason", "")


if __name__ == "__main__":
    WORKER = sys.argv.pop(1)
    if missing():
        print("SKIPPED: this worker was built without NVIDIA DALI; run `tools/setup --dali`, then build again")
        sys.exit(77)
    unittest.main(verbosity=2)
