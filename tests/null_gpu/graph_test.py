#!/usr/bin/env python3
"""The step of MobileNetV2 as a CUDA graph (`kernels = fused` on cards), and where there is none, on null cards.

usage: graph_test.py EXPC_WORKER_CUDA NULL_GPU_FOLDER [TEST...]
"""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import null_gpu  # noqa: E402
import ranks  # noqa: E402

STEPS = 5
TIMEOUT_S = 5   # for the others
FULL = 8        # images in a batch


def setUpModule():
    global SERVER, SAID
    SERVER, SAID = unittest.enterModuleContext(null_gpu.server(WORKER, FOLDER))


def image(kind="timed", count=1, settings=None, images=64, **parameters):
    values = {"data": {"synthetic": [images]}, "size": 28, "width": 0.25, "batch": FULL, **parameters}
    settings = settings or {"timed": {"steps": STEPS, "warmup": 1}, "profile": {"steps": STEPS, "warmup": 1}, "quality": {"epochs": 2}}[kind]
    return null_gpu.on_cards(ranks.specification(kind, count, settings, **values), count if parameters.get("strategy") == "dp" else None)


class Graphs(unittest.TestCase):
    def ended(self, spec, **environment):
        """Rank 0's last event."""
        outcome = SERVER.outcome(spec, [SERVER.log] * spec["world_size"], 120, {"EXPC_COMM_TIMEOUT_S": str(TIMEOUT_S), **environment})
        self.said = SAID()
        self.events = [json.loads(text.splitlines()[-1]) for _, text in outcome]
        return self.events[0]

    def result(self, spec, **environment):
        event = self.ended(spec, **environment)
        self.assertEqual(event["event"], "result", f"{event}\n{self.said[-3000:]}")
        return event

    def nodes(self, spec):
        return self.result(spec)["environment"].get("step_graph_nodes")

    def counted(self, faults="", **parameters):
        """What the first rank's timed steps were, of a rehearsal; of one step."""
        event = self.result(dict(image(**parameters), rehearsal=True, metrics=[]), NULLGPU_FAULTS=faults)
        rank = event["rehearsed"]["ranks"][0]
        of = lambda value: value / event["rehearsed"]["steps"]  # noqa: E731
        return {"launches": of(rank["launches"]), "synchronisations": of(rank["synchronisations"]),
                "within": of(rank["within_devices"]["calls"]), "operations": rank["operations"]}

    def test_full_batches_are_one_graph_in_every_precision_with_one_rank_and_several(self):
        for precision in ("fp64", "fp32", "tf32", "bf16", "fp16"):
            for count, strategy in ((1, "ddp_ds"), (2, "ddp_ds"), (2, "ddp")):
                for optimizer in ("sgd", "adam"):
                    with self.subTest(precision=precision, count=count, strategy=strategy, optimizer=optimizer):
                        # 52 layers, each with a convolution and a norm, forward and backward
                        self.assertGreater(self.nodes(image(count=count, precision=precision, strategy=strategy, optimizer=optimizer)), 4 * 52)

    def test_plain_kernels_replicas_and_profiles_have_no_graph(self):
        for spec in (image(kernels="plain"), image(strategy="dp"), image(count=2, strategy="dp"), image("profile")):
            self.assertIsNone(self.nodes(spec))
        note, = [note for note in self.result(image("profile"))["notes"] if "operator by operator" in note]
        self.assertIn("one CUDA graph each", note)
        self.assertEqual(self.result(image("profile", kernels="plain"))["notes"], [])

    def test_a_rate_that_changes_leaves_the_optimiser_outside(self):
        constant = self.nodes(image("quality"))
        for schedule in ({"schedule": "cosine"}, {"warmup_epochs": 0.5}):
            self.assertLess(self.nodes(image("quality", **schedule)), constant)
        # 60 images are seven full batches and four more, which go operator by operator.
        self.assertEqual(self.nodes(image("quality", images=60)), constant)
        self.assertIsNone(self.nodes(image("quality", images=4)), "no batch is full")

    def test_a_step_is_the_same_work_without_a_wait(self):
        for precision in ("fp32", "bf16", "fp16"):
            for count in (1, 2):
                with self.subTest(precision=precision, count=count):
                    options = {"precision": precision, "count": count, "loader": "native", "layout": "nhwc"}
                    fused, plain = self.counted(**options), self.counted(kernels="plain", **options)
                    # A wait of every step would be one at least. Now and then the loader's oldest copy is waited for, by a host that is ahead.
                    self.assertLess(fused["synchronisations"], 1)
                    self.assertLess(plain["synchronisations"], 1)
                    # Besides its kernels the graph has seed and offset of dropout filled, and batch and loss copied.
                    self.assertLessEqual(abs(fused["launches"] - plain["launches"]), 6)
                    self.assertLessEqual(fused["within"] - plain["within"], 6)
                    self.assertEqual(fused["operations"], plain["operations"])

    def test_memory_that_a_launch_works_on_is_counted(self):
        options = {"batch": 32, "images": 128, "size": 64}
        fused, plain = (self.result(image(kernels=kernels, **options))["metrics"] for kernels in ("fused", "plain"))
        for metric in ("device_memory_allocated_peak", "device_memory_peak"):
            self.assertGreater(fused[metric], 0.9 * plain[metric], metric)
            self.assertLess(fused[metric], 1.6 * plain[metric], metric)

    def test_batches_come_in_any_way_whatever_order_streams_move_in(self):
        """A copy that did not wait for the launch before it would change a buffer that is read, and end the process."""
        for seed in (1, 7):
            for loader in ({}, {"pin_memory": True}, {"loader": "native", "layout": "nhwc"}, {"preprocessing": "device", "transfer_dtype": "uint8"}):
                with self.subTest(seed=seed, **loader):
                    self.assertTrue(self.result(image(count=2, **loader), NULLGPU_SEED=str(seed))["environment"]["step_graph_nodes"])

    def notRecorded(self, spec, **environment):
        """The result of a trial whose step could not be recorded, and the one note that says so."""
        event = self.result(spec, **environment)
        self.assertIsNone(event["environment"].get("step_graph_nodes"))
        note, = [note for note in event["notes"] if "could not be recorded" in note]
        self.assertIn("queued operator by operator, as with kernels = plain: ", note)
        return event, note

    def test_what_cannot_be_recorded_is_queued_operator_by_operator_and_said(self):
        # Places in the forward pass, the backward pass with its collectives, and the optimiser's step.
        # Who meets it says it in words of its own.
        met = "not permitted when stream is capturing|CUDNN_STATUS_EXECUTION_FAILED|CUBLAS_STATUS_EXECUTION_FAILED|NCCL"
        for faults, reason in [*((f"capture={at}", met) for at in (1, 100, 250, 350)), ("graphs", "operation not supported")]:
            for spec in (image(precision="fp16"), image(count=2), image(count=2, strategy="ddp", optimizer="adam"),
                         image("quality", schedule="cosine")):
                with self.subTest(faults=faults, kind=spec["kind"], ranks=spec["world_size"]):
                    event, note = self.notRecorded(spec, NULLGPU_FAULTS=faults)
                    self.assertRegex(note, reason)
        self.assertEqual(self.result(image(kernels="plain"), NULLGPU_FAULTS="capture=100")["notes"], [])

    def test_all_ranks_queue_alike_where_one_cannot_record(self):
        for rank, reason in ((0, "CUDNN_STATUS_EXECUTION_FAILED|stream is capturing"), (1, "another rank could not record its own")):
            for strategy in ("ddp", "ddp_ds"):
                with self.subTest(rank=rank, strategy=strategy):
                    _, note = self.notRecorded(image(count=2, strategy=strategy), NULLGPU_FAULTS=f"capture=100, rank={rank}")
                    self.assertRegex(note, reason)

    def test_a_step_that_was_not_recorded_is_the_work_of_plain_kernels(self):
        plain = self.counted(kernels="plain", count=2)
        given_up = self.counted(count=2, faults="capture=300")
        self.assertEqual(given_up["operations"], plain["operations"])
        self.assertLess(abs(given_up["launches"] - plain["launches"]), 1)
        memory = lambda **options: self.result(image(batch=32, images=128, size=64, **options.pop("image", {})), **options)  # noqa: E731
        refused, never = memory(NULLGPU_FAULTS="capture=300"), memory(image={"kernels": "plain"})
        for metric in ("device_memory_allocated_peak", "device_memory_peak"):
            self.assertLess(refused["metrics"][metric], 1.1 * never["metrics"][metric], metric)

    def test_a_card_that_fails_meanwhile_is_not_blamed_on_the_graph(self):
        for launch in (600, 900, 1200, 2000):
            event = self.ended(image(), NULLGPU_FAULTS=f"launch={launch}")
            self.assertEqual(event["event"], "failed", event)
            self.assertNotIn("recorded", event["reason"])

    def test_a_collective_that_never_ends_in_a_launch_is_said(self):
        for collective in (40, 60, 100):  # the first steps have 6 or 7 each, and recording none
            self.ended(image(count=2, settings={"steps": 60, "warmup": 1}), NULLGPU_FAULTS=f"collective={collective}, rank=1")
            self.assertEqual({event["event"] for event in self.events}, {"failed"}, f"{self.events}\n{self.said[-3000:]}")
            self.assertTrue(any("lost the others in a step: none that was queued has ended for 5 s" in event["reason"]
                                for event in self.events), self.events)


if __name__ == "__main__":
    WORKER, FOLDER = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main(verbosity=2)
