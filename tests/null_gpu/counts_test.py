#!/usr/bin/env python3
"""What a rehearsed trial tells of its steps: counts that are the same each time, bytes that can be worked out, and no wait of the host
that the documentation does not name (docs/layers/workloads.md).

usage: counts_test.py EXPC_WORKER_CUDA NULL_GPU_FOLDER [TEST...]
"""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import null_gpu  # noqa: E402
import ranks  # noqa: E402
import tiny_llama  # noqa: E402

STEPS, BATCH, SIZE = 2, 4, 28
MANY = 9  # steps after which a feed has no batch left that it was ahead
RANK, TARGETS = 8, 2  # of adapters: targets = qv
VARYING = {"host_memory", "host_seconds", "synchronisations"}  # by what else the machine does, or where the device is
# Blocks that another stream used come back when somebody sees that it is through with them: a collective's, say.
MEMORY = ("device_memory_allocated", "device_memory_reserved", "widest_allocated", "widest_reserved")
MEMORY_SLACK = 0.05


def setUpModule():
    global SERVER, SAID, MODEL
    SERVER, SAID = unittest.enterModuleContext(null_gpu.server(WORKER, FOLDER))
    MODEL = tiny_llama.write(pathlib.Path(unittest.enterModuleContext(tempfile.TemporaryDirectory())) / "model")


def rehearsal(spec, steps=STEPS):
    return dict(spec, rehearsal=True, metrics=[], settings={"steps": steps, "warmup": 1})


def image(count=1, steps=STEPS, **parameters):
    values = {"data": {"synthetic": [64]}, "size": SIZE, "width": 0.25, "batch": BATCH, "strategy": "ddp_ds", **parameters}
    spec = ranks.specification("timed", count, {}, **values)
    return rehearsal(null_gpu.on_cards(spec, count if values["strategy"] == "dp" else None), steps)


def llm(count=1, steps=STEPS, **parameters):
    values = {"model": {"folder": [str(MODEL)]}, "data": {"synthetic": [96]}, "template": "grammar", "max_length": 64, "batch": 2,
              "group_size": 64, "gpus": count, "precision": "bf16", "pin_memory": True, **parameters}
    spec = null_gpu.on_cards(ranks.specification("timed", count, {}))
    return rehearsal(dict(spec, workload="llm.finetune", parameters=values), steps)


class Case(unittest.TestCase):
    def result(self, spec):
        event = SERVER.run(spec)[0]
        self.assertEqual(event.get("event"), "result", f"{event}\n{SAID()[-3000:]}")
        return event

    def rehearsed(self, spec):
        found = self.result(spec)["rehearsed"]
        self.assertEqual(found["steps"], spec["settings"]["steps"])
        self.assertEqual(len(found["ranks"]), spec["world_size"])
        return found["ranks"]


class Counts(Case):
    def assert_same_each_time(self, spec):
        first, second = self.rehearsed(spec), self.rehearsed(spec)
        for one, other in zip(first, second):
            exact = set(one) - VARYING - set(MEMORY)
            self.assertEqual({name: one[name] for name in exact}, {name: other[name] for name in exact})
            self.assertEqual(one.keys(), other.keys())
            for name in one.keys() & set(MEMORY):
                self.assertLessEqual(abs(one[name] - other[name]), MEMORY_SLACK * one[name])
            self.assertGreater(one["launches"], 100)
            self.assertGreater(one["host_seconds"], 0)
            self.assertGreater(one["host_memory"], 1 << 20)
            self.assertGreaterEqual(one["device_memory_reserved"], one["device_memory_allocated"])
            self.assertGreater(one["device_memory_allocated"], 1 << 16)
            self.assertGreater(sum(one["operations"].values()), 0)
        return first

    def test_images(self):
        crosses = STEPS * BATCH * (3 * SIZE * SIZE * 4 + 8)  # as fp32, with labels
        for count in (1, 2):
            with self.subTest(cards=count):
                all_ranks = self.assert_same_each_time(image(count))
                gradients = {rank["collectives"].get("all_reduce", {"bytes": 0})["bytes"] for rank in all_ranks}
                self.assertEqual(len(gradients), 1, all_ranks)
                self.assertEqual(gradients == {0}, count == 1, all_ranks)
                for rank in all_ranks:
                    self.assertEqual(rank["to_device"]["bytes"], crosses)
                    self.assertEqual(list(rank["operations"]), ["fp32"])
        self.assertEqual(self.rehearsed(image())[0]["launches"] * MANY, self.rehearsed(image(steps=STEPS * MANY))[0]["launches"])

    def test_one_process_with_two_cards(self):
        rank, = self.assert_same_each_time(image(2, strategy="dp"))
        self.assertEqual(rank["to_device"]["bytes"], STEPS * BATCH * 2 * (3 * SIZE * SIZE * 4 + 8))

    def test_language_models(self):
        adapters = tiny_llama.LAYERS * TARGETS * RANK * 2 * tiny_llama.WIDTH
        parts = {"ddp": {"all_reduce"}, "fsdp": {"all_gather"}}
        for method in ("lora", "qlora", "dpo", "qat"):
            for sharding in parts:
                with self.subTest(method=method, sharding=sharding):
                    all_ranks = self.assert_same_each_time(llm(2, method=method, sharding=sharding, targets="qv", rank=RANK))
                    for rank in all_ranks:
                        self.assertLessEqual(parts[sharding], set(rank["collectives"]))
                        self.assertIn("bf16", rank["operations"])
                        if sharding == "ddp" and method != "qat":
                            self.assertEqual(rank["collectives"]["all_reduce"]["bytes"], STEPS * adapters * 2, "gradients in bf16")

    def test_operations_are_those_of_each_type(self):
        for precision, types in (("fp32", {"fp32"}), ("tf32", {"tf32"}), ("fp64", {"fp64"})):
            self.assertEqual(set(self.rehearsed(image(precision=precision))[0]["operations"]), types)
        for precision in ("bf16", "fp16"):
            self.assertEqual(set(self.rehearsed(image(precision=precision))[0]["operations"]), {precision})


class Waits(Case):
    """Calls in which the host waits, a step."""

    def waits(self, spec):
        rank = self.rehearsed(spec)[0]
        return rank["synchronisations"] / spec["settings"]["steps"]

    def test_no_step_of_a_language_model_waits(self):
        for parameters in ({"method": "full"}, {"method": "lora"}, {"method": "qlora"}, {"method": "qat"}, {"method": "dpo"},
                           {"method": "lora", "packing": True}, {"method": "lora", "accumulation": 2}, {"method": "lora", "clip_norm": 1.0},
                           {"method": "lora", "activation_checkpointing": True}, {"method": "lora", "pin_memory": False},
                           {"method": "lora", "precision": "fp16"}, {"method": "lora", "precision": "fp32"}):
            with self.subTest(**parameters):
                self.assertEqual(self.waits(llm(steps=MANY, **parameters)), 0)
        for method in ("lora", "full"):
            for sharding in ("ddp", "fsdp"):
                with self.subTest(method=method, sharding=sharding):
                    self.assertEqual(self.waits(llm(2, steps=MANY, method=method, sharding=sharding)), 0)

    def test_images_wait_once_a_step_at_most(self):
        for precision in ("fp32", "tf32", "bf16", "fp16", "fp64"):
            for loader in ({}, {"pin_memory": True}, {"loader": "native", "layout": "nhwc"}, {"kernels": "plain"}):
                with self.subTest(precision=precision, **loader):
                    self.assertLessEqual(self.waits(image(steps=MANY, precision=precision, **loader)), 1)
        for strategy in ("ddp_ds", "ddp", "dp"):
            for kernels in ("fused", "plain"):
                with self.subTest(strategy=strategy, kernels=kernels):
                    self.assertLessEqual(self.waits(image(2, steps=MANY, strategy=strategy, kernels=kernels)), 1)

    def test_images_wait_as_a_script_that_copies_and_reads_the_loss(self):
        for pinned in (False, True):
            for word, most in (("never", 1), ("copies", 3), ("loss", 2), ("both", 4)):
                with self.subTest(host_waits=word, pinned=pinned):
                    waits = self.waits(image(steps=MANY, host_waits=word, pin_memory=pinned, kernels="plain"))
                    self.assertLessEqual(waits, most)
                    self.assertGreaterEqual(waits, most - 1)


class Refused(Case):
    def reason(self, spec):
        event = SERVER.run(spec)[0]
        self.assertEqual(event.get("event"), "failed", event)
        return event["reason"]

    def test_what_is_no_rehearsal(self):
        self.assertIn("a rehearsal is a timed trial, and this is a quality trial", self.reason(dict(image(), kind="quality")))
        self.assertIn("asked for metric step_time", self.reason(dict(image(), metrics=["step_time"])))

    def test_cards_that_are_not_null(self):
        spec = image()
        spec["slots"] = [{key: value for key, value in slot.items() if key != "null"} for slot in spec["slots"]]
        self.assertIn("a rehearsal runs on simulated GPUs", self.reason(spec))


if __name__ == "__main__":
    WORKER, FOLDER = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main(verbosity=2)
