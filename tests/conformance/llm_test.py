#!/usr/bin/env python3
"""llm.finetune through the real binaries: every method learns on one rank and on two, gives every metric, and computes the same
whatever divides a step's rows among ranks and passes.

usage: llm_test.py EXPC EXPC_WORKER [TEST...]
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import ranks  # noqa: E402
import tiny_llama  # noqa: E402
from server import Server  # noqa: E402

METHODS = ("full", "lora", "qlora", "qat", "dpo")
# What only a GPU has, and what only dpo or several ranks have.
GPU_ONLY = {"device_memory_peak", "energy", "copy_time", "api_time", "launch_time", "stream_synchronize_time", "event_synchronize_time",
            "event_destroy_time", "memcpy_async_time", "memcpy_htod_time", "memcpy_dtoh_time", "memcpy_dtod_time", "bytes_htod",
            "bytes_dtoh", "bytes_dtod", "kernel_time", "nccl_time", "nccl_all_reduce_time", "nccl_all_gather_time",
            "nccl_reduce_scatter_time", "nccl_broadcast_time", "gpu_busy_share"}
REWARDS = {"reward_margin", "reward_accuracy"}

STUDY = """import std.llm

/// Everything that can be measured, of every method.
study everything {{
  workload llm.finetune(
    model = folder("{model}"), data = folder("{data}"), max_length = 128tok, precision = fp32, batch = 2,
    learning_rate = 0.003, warmup_steps = 1, sharding = ddp, template = grammar, group_size = 64
  )
  factor method in {{ {methods} }}
  factor gpus   in {{ 1, 2 }}
  measure {metrics}
  design full {{
    timed   {{ repeat 1  steps 2  warmup 1 }}
    quality {{ repeat 1  epochs 3 }}
    profile {{ repeat 1  steps 2  warmup 1 }}
  }}
}}
"""


def setUpModule():
    global FOLDER, MODEL, TEXTS, LOG, SERVER
    FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="expc-llm-"))
    MODEL = tiny_llama.write(FOLDER / "model")
    TEXTS = FOLDER / "texts"
    TEXTS.mkdir()
    animals = "cat cow dog eel elk emu fox gnu hen owl pig ram".split()
    rows = [{"input": f"a {animal} run{'s' * (number % 3)}", "output": f"A {animal} runs."}
            for number, animal in enumerate(animals + animals[::-1])]
    (TEXTS / "grammar.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    LOG = open(FOLDER / "log", "w+")
    SERVER = Server(WORKER, LOG)


def tearDownModule():
    SERVER.close()
    LOG.close()
    shutil.rmtree(FOLDER)


def specification(kind="timed", count=1, settings=None, **parameters):
    values = {"model": {"folder": [str(MODEL)]}, "data": {"folder": [str(TEXTS)]}, "template": "grammar", "max_length": 128,
              "precision": "fp64", "batch": 2, "sharding": "ddp", "learning_rate": 0.003, "warmup_steps": 1,
              "group_size": 64}
    values.update(parameters)
    spec = ranks.specification(kind, count, settings, **values)
    spec["workload"] = "llm.finetune"
    spec["parameters"] = dict(values, gpus=count)
    if kind == "timed":
        spec["metrics"] = ["iteration_time"]  # the machine's matrix rate takes a moment
    return spec


class Case(unittest.TestCase):
    def result(self, spec):
        events = SERVER.run(spec)
        self.assertEqual(events[0].get("event"), "result", events)
        return events[0]

    def refused(self, spec, *reasons):
        events = SERVER.run(spec)
        self.assertEqual(events[0].get("event"), "failed", events)
        for reason in reasons:
            self.assertIn(reason, events[0]["reason"])


class Study(Case):
    def test_every_method_learns_and_gives_every_metric(self):
        described = json.loads(subprocess.run([WORKER, "--describe"], capture_output=True, text=True, check=True).stdout)
        workload, = (w for w in described["workloads"] if w["name"] == "llm.finetune")
        metrics = {m["name"]: m for m in workload["metrics"]}
        study = FOLDER / "everything.exp"
        study.write_text(STUDY.format(model=MODEL, data=TEXTS, methods=", ".join(METHODS),
                                      metrics=", ".join(name for name in metrics if name != "loss")))
        command = [EXPC, "run", str(study), "--devices", "cpu:2", "--heat-up", "0", "--results", str(FOLDER / "results"),
                   "--format", "json"]
        run = subprocess.run(command, capture_output=True, text=True, timeout=500)
        self.assertEqual(run.returncode, 0, run.stderr[-3000:])
        points = json.loads(run.stdout)["points"]
        self.assertEqual(len(points), 2 * len(METHODS))
        for point in points:
            levels = point["levels"]
            with self.subTest(levels):
                self.assertTrue(all(trials["valid"] == 1 for trials in point["trials"]), point["trials"])
                for name, metric in metrics.items():
                    self.check(name, metric, levels, point)

    def check(self, name, metric, levels, point):
        if name == "loss":
            return
        lacking = name in GPU_ONLY or (name in REWARDS and levels["method"] != "dpo") or \
            (name == "all_reduce_time" and levels["gpus"] == "1")
        found = point["metrics"].get(name)
        if lacking:
            self.assertIsNone(found, name)
            self.assertIn(name, point["not_on_device"])
            return
        self.assertTrue(found and found["values"], name)
        for value in found["values"]:
            if name in REWARDS:
                self.assertGreaterEqual(value, -1)
            else:
                self.assertGreater(value, 0, name)
            if metric["dimension"] == "Share":
                self.assertLessEqual(value, 1, name)


class Learning(Case):
    def test_the_loss_falls(self):
        for method, base in [(m, "lora") for m in METHODS] + [("dpo", "full")]:
            for count in (1, 2):
                with self.subTest(method=method, base=base, ranks=count):
                    event = self.result(specification("quality", count, {"epochs": 4}, method=method, dpo_base=base, precision="fp32"))
                    losses = event["series"]["loss"]
                    each, tenth = len(losses) // 4, -(-len(losses) // 10)
                    self.assertLess(sum(losses[-each:]), 0.98 * sum(losses[:each]))
                    self.assertAlmostEqual(event["metrics"]["final_loss"], sum(losses[-tenth:]) / tenth)
                    if method == "dpo":
                        self.assertAlmostEqual(losses[0], 0.6931, delta=1e-3)
                        self.assertGreater(event["metrics"]["reward_margin"], -1)


class SameMathematics(Case):
    def test_a_step_is_the_same_however_its_rows_are_divided(self):
        """Four rows in one pass, in two passes, on two ranks; kept and recomputed activations; with and without packing."""
        ways = [(1, dict(batch=2, accumulation=2, activation_checkpointing=True)), (2, dict(batch=1, accumulation=2))]
        for method, base, packing in [(m, "lora", False) for m in METHODS] + [("dpo", "full", False), ("lora", "lora", True)]:
            together = dict(method=method, dpo_base=base, packing=packing, max_length=256)
            settings = {"steps": 3, "warmup": 0}
            whole = self.result(specification("timed", 1, settings, batch=4, **together))["series"]["loss"]
            for count, other in ways:
                with self.subTest(method=method, base=base, packing=packing, ranks=count):
                    losses = self.result(specification("timed", count, settings, **{**together, **other}))["series"]["loss"]
                    # One rounding of qat that falls the other way moves all that follows.
                    for a, b, delta in zip(whole, losses, (1e-4,) * 3 if method == "qat" else (1e-9, 1e-7, 1e-7)):
                        self.assertAlmostEqual(a, b, delta=delta)

    def test_qat_weights_kept_and_recomputed_are_equal(self):
        kept, again = (self.result(specification(method="qat", qat_weights=way))["series"]["loss"] for way in ("kept", "recomputed"))
        self.assertEqual(kept, again)


if __name__ == "__main__":
    EXPC, WORKER = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main(verbosity=2)
