#!/usr/bin/env python3
"""Every combination of a workload's factors that a machine with four cards can run ends valid on null cards as a timed trial, and every pair
of levels as a quality and a profile trial, with --all every combination: all calls of the CUDA side happen, nothing is computed. The levels are
those that stdlib declares.

usage: matrix_test.py image|llm EXPC EXPC_WORKER_CUDA NULL_GPU_FOLDER [--part K/N] [--only TEXT] [--without-graphs] [--all]
"""
import argparse
import collections
import itertools
import json
import pathlib
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import null_gpu  # noqa: E402
import matrix  # noqa: E402
import ranks  # noqa: E402
import tiny_llama  # noqa: E402

DEVICES = (1, 2, 4)
STEPS = 2
SETTINGS = {"timed": {"steps": STEPS, "warmup": 1}, "profile": {"steps": STEPS, "warmup": 1}, "quality": {"epochs": 1}}
TIMES = {"image": {"timed": "step_time", "profile": "profiled_time", "quality": "quality_train_time"},
         "llm": {"timed": "iteration_time", "profile": "profiled_time", "quality": "total_time"}}


class Image:
    name, factors = "image.mobilenet_v2", ("loader", "worker_kind", "layout", "precision", "strategy")
    only = {"worker_kind": ("loader", "dataloader")}

    def __init__(self, folder):
        self.workload = "image.mobilenet_v2(data = synthetic(32), size = 28px, width = 0.25, batch = 4, learning_rate = 0.001)"

    def leaves_out(self, at, kind):
        """Nothing of torch is in DALI: it carries a CUDA runtime of its own, which finds no driver. Trials of the other kinds differ
        from timed ones behind the loader."""
        return at[0] == "dali" or kind != "timed" and (at[0] == "native" or at[1] == "processes")


class Llm:
    name, factors = "llm.finetune", ("method", "dpo_base", "precision", "sharding")
    only = {"dpo_base": ("method", "dpo")}

    def __init__(self, folder):
        model = tiny_llama.write(folder / "model")
        self.workload = (f'llm.finetune(model = folder("{model}"), data = synthetic(48), template = grammar, max_length = 32tok, '
                         "batch = 2, learning_rate = 0.003, group_size = 64)")

    def leaves_out(self, at, kind):
        return False


class Matrix(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="expc-null-")
        cls.of = {"image": Image, "llm": Llm}[ARGUMENTS.workload](pathlib.Path(cls.folder.name))
        cls.names = (*cls.of.factors, "gpus")
        levels = matrix.levels(ARGUMENTS.workload, cls.of.factors)
        study = (f"study matrix {{\n  workload {cls.of.workload}\n{matrix.declared(levels, DEVICES, cls.of.only)}"
                 f"  measure {TIMES[ARGUMENTS.workload]['timed']}  design {{ timed {{ repeat 6  steps {STEPS}  warmup 0 }} }}\n}}\n")
        code, output = matrix.expc(ARGUMENTS.expc, "plan", ARGUMENTS.workload, study, "--null-gpus", str(max(DEVICES)))
        assert code == 0, output
        cls.points = matrix.points(json.loads(output), cls.names)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def specification(self, parameters, kind):
        gpus = int(parameters["gpus"])
        spec = ranks.specification(kind, gpus, SETTINGS[kind], **parameters)
        spec.update(workload=self.of.name, parameters=dict(parameters), metrics=[])
        return null_gpu.on_cards(spec, gpus if parameters.get("strategy") == "dp" else None)

    def combinations(self):
        """What to run, each with its name."""
        for kind in SETTINGS:
            candidates = [at for at in self.points if not self.of.leaves_out(at, kind)]
            for at in candidates if kind == "timed" or ARGUMENTS.all else matrix.covering(candidates, self.names, []):
                yield " ".join((kind, *filter(None, at))), self.specification(self.points[at]["parameters"], kind)
        if isinstance(self.of, Image):
            yield from self.ways_across()
        else:
            yield from self.packed()

    def ways_across(self):
        """Ways to the card that the factors do not reach: from pinned memory, on the stream that copies, by what crosses."""
        across = matrix.levels("image", ("transfer_dtype", "preprocessing"))
        for loader, pinned, transfer, place in itertools.product(("dataloader", "native"), (False, True), *across.values()):
            if (transfer, place) == ("uint8", "cpu"):
                continue  # refused by a rule
            at = [(loader, "threads" if loader == "dataloader" else None, "nhwc", "bf16", "ddp_ds", "2")]
            parameters = dict(self.points[at[0]]["parameters"], pin_memory=pinned, transfer_dtype=transfer, preprocessing=place)
            yield f"timed {loader} pinned={pinned} {transfer} {place}", self.specification(parameters, "timed")

    def packed(self):
        """Rows in one sequence, and activations that are computed twice."""
        for packing, checkpointing, sharding in itertools.product((False, True), (False, True), ("ddp", "fsdp")):
            parameters = dict(self.points["lora", None, "bf16", sharding, "2"]["parameters"], packing=packing,
                              activation_checkpointing=checkpointing)
            yield f"timed packing={packing} checkpointing={checkpointing} {sharding}", self.specification(parameters, "timed")

    def test_every_combination_ends_valid(self):
        for at, point in self.points.items():
            with self.subTest(at):
                self.assertFalse(point.get("unavailable"), "four cards can do everything that stdlib declares, but for another socket")
        chosen = [(name, spec) for name, spec in self.combinations() if ARGUMENTS.only in name]
        part, parts = map(int, ARGUMENTS.part.split("/"))
        chosen = chosen[part - 1::parts]
        ended, start = collections.Counter(), time.monotonic()
        faults = {"faults": "graphs"} if ARGUMENTS.without_graphs else {}
        with null_gpu.server(ARGUMENTS.worker, ARGUMENTS.folder, **faults) as (server, said):
            for name, spec in chosen:
                event = server.run(spec)[0]
                ended[event.get("event")] += 1
                with self.subTest(name):
                    self.check(event, spec, said())
        print(f"\n{len(chosen)} trials in {time.monotonic() - start:.0f} s: {dict(ended)}", flush=True)
        self.assertGreater(ended["result"], 20 if not ARGUMENTS.only else 0)

    def check(self, event, spec, log):
        self.assertEqual(event.get("event"), "result", f"{event}\n{log[-2000:]}")
        metrics, environment = event["metrics"], event["environment"]
        self.assertGreater(metrics[TIMES[ARGUMENTS.workload][spec["kind"]]], 0)
        self.assertIn("Null GPU", environment["device_name"])
        records = isinstance(self.of, Image) and spec["kind"] != "profile" and spec["parameters"]["strategy"] != "dp"
        notes = [note for note in event.get("notes", []) if "could not be recorded as a CUDA graph" in note]
        self.assertEqual(len(notes), int(records and ARGUMENTS.without_graphs), event)
        if spec["kind"] == "timed":
            self.assertGreater(metrics["device_memory_peak"], 0)
        if spec["kind"] == "profile":
            self.assertGreater(metrics["launch_time"], 0, event.get("notes"))
            self.assertGreater(metrics["bytes_htod"], 0)
            if spec["world_size"] > 1:
                self.assertGreater(metrics["nccl_time"], 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("workload", choices=("image", "llm"))
    parser.add_argument("expc")
    parser.add_argument("worker")
    parser.add_argument("folder")
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--only", default="")
    parser.add_argument("--without-graphs", action="store_true", help="on a runtime that refuses captures")
    parser.add_argument("--all", action="store_true", help="every combination in all three kinds of trials")
    ARGUMENTS = parser.parse_args()
    unittest.main(argv=sys.argv[:1], verbosity=2)
