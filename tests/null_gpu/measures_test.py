#!/usr/bin/env python3
"""What a trial measures and records of cards, and what it sets up before its ranks meet, on null cards.

usage: measures_test.py EXPC_WORKER_CUDA NULL_GPU_FOLDER [TEST...]
"""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import null_gpu  # noqa: E402
import ranks  # noqa: E402

CARDS = 16
MOST_WATTS = 500  # of one null card; all of them idle take twice that


def setUpModule():
    global SERVER, SAID
    SERVER, SAID = unittest.enterModuleContext(null_gpu.server(WORKER, FOLDER, cards=CARDS))


def image(kind="timed", count=1, steps=4, **parameters):
    values = {"data": {"synthetic": [64]}, "size": 28, "width": 0.25, "batch": 4, **parameters}
    return null_gpu.on_cards(ranks.specification(kind, count, {"steps": steps, "warmup": 1}, **values),
                             count if parameters.get("strategy") == "dp" else None)


class Measures(unittest.TestCase):
    def result(self, spec, **environment):
        """Rank 0's result, of a trial whose ranks all end well."""
        outcome = SERVER.outcome(spec, [SERVER.log] * spec["world_size"], 60, environment)
        self.said = SAID()
        self.assertEqual([code for code, _ in outcome], [0] * spec["world_size"], f"{outcome}\n{self.said[-3000:]}")
        event = json.loads(outcome[0][1].splitlines()[-1])
        self.assertEqual(event["event"], "result", event)
        return event

    def test_energy_is_that_of_the_trials_cards_also_where_a_launcher_shows_all(self):
        everything = ",".join(str(card) for card in range(CARDS))
        for spec, cards in ((image(steps=20), 1), (image(steps=20, count=2, strategy="dp"), 2)):
            with self.subTest(cards=cards):
                metrics = self.result(spec, CUDA_VISIBLE_DEVICES=everything)["metrics"]
                self.assertIsNotNone(metrics["energy"])
                self.assertGreater(metrics["energy"], 0)
                self.assertLess(metrics["energy"] / metrics["train_time"], cards * MOST_WATTS * 1.1)

    def test_a_process_finds_its_cards_among_all_that_it_is_shown(self):
        everything = ",".join(str(card) for card in reversed(range(CARDS)))
        for spec in (image(), image(count=2), image(count=2, strategy="dp")):
            self.result(spec, CUDA_VISIBLE_DEVICES=everything)

    def test_memory_of_the_timed_steps_is_held_and_allocated(self):
        metrics = self.result(image())["metrics"]
        self.assertGreater(metrics["device_memory_allocated_peak"], 0)
        self.assertGreaterEqual(metrics["device_memory_peak"], metrics["device_memory_allocated_peak"])
        larger = self.result(image(batch=16, data={"synthetic": [128]}))["metrics"]
        self.assertGreater(larger["device_memory_allocated_peak"], metrics["device_memory_allocated_peak"])

    def test_memory_that_nobody_counts_has_no_value_and_a_note(self):
        event = self.result(image(), PYTORCH_NO_CUDA_MEMORY_CACHING="1")
        self.assertIsNone(event["metrics"]["device_memory_peak"])
        self.assertIsNone(event["metrics"]["device_memory_allocated_peak"])
        self.assertIn("torch's allocator counted no memory for device_memory_peak and device_memory_allocated_peak, so the metric has no value; "
                      "set in the environment: PYTORCH_NO_CUDA_MEMORY_CACHING=1", event["notes"])

    def test_the_host_waits_where_the_study_says_so(self):
        """A loop that blocks in its copies and reads each loss shows both in cudaStreamSynchronize."""
        waits = {}
        for word in ("never", "copies", "loss", "both"):
            metrics = self.result(image("profile", host_waits=word, pin_memory=True, kernels="plain"))["metrics"]
            waits[word] = metrics["stream_synchronize_time"]
            self.assertGreater(metrics["memcpy_async_time"], 0)
        self.assertEqual(waits["never"], 0)
        for word in ("copies", "loss", "both"):
            self.assertGreater(waits[word], 0, waits)

    def test_copies_are_timed_where_they_are_whichever_stream_that_is(self):
        for loader in ({}, {"pin_memory": True}, {"loader": "native", "layout": "nhwc"}):
            with self.subTest(**loader):
                metrics = self.result(image("profile", **loader))["metrics"]
                self.assertGreater(metrics["memcpy_htod_time"], 0)
                # The phase's events enclose them, in the same stream. Events count in floats of milliseconds.
                self.assertGreaterEqual(metrics["copy_time"], 0.99 * metrics["memcpy_htod_time"])

    def test_cudnn_tries_algorithms_where_it_is_told_to(self):
        for wanted in (False, True):
            self.assertEqual(self.result(image(cudnn_benchmark=wanted))["environment"]["cudnn_benchmark"], wanted)
        spec = image(cudnn_benchmark=True, deterministic=True)
        event = SERVER.run(spec)[0]
        self.assertEqual(event["event"], "failed")
        self.assertIn("parameter cudnn_benchmark is true, it must be false where deterministic is true", event["reason"])

    def test_a_deterministic_trial_keeps_nccl_from_reducing_by_nvls(self):
        """torch's process group does that when the mode is on before it is made."""
        for variables, deterministic, algorithms in (({}, False, None), ({}, True, "^NVLS"), ({"NCCL_ALGO": "Ring"}, True, "Ring")):
            environment = self.result(image(count=2, deterministic=deterministic), **variables)["environment"]
            self.assertEqual(environment.get("nccl_algo"), algorithms)


if __name__ == "__main__":
    WORKER, FOLDER = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main(verbosity=2)
