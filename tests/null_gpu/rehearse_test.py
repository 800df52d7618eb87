#!/usr/bin/env python3
"""`expc rehearse` with the real CUDA worker on null cards: what it counts, and what it finds.

usage: rehearse_test.py EXPC EXPC_WORKER_CUDA NULL_GPU_FOLDER [TEST...]
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

IMAGE = """import std.image

study tried {{
  workload image.mobilenet_v2(data = synthetic(64), batch = 4, width = 0.25, strategy = ddp_ds, {arguments})
  {factors}
  measure step_time
  design {{ timed {{ repeat 2  steps 2  warmup 1 }}  seed 7 }}
}}
"""
LLM = """import std.llm

study tried {{
  workload llm.finetune(model = tiny, template = grammar, max_length = 32tok, batch = 2, {arguments})
  {factors}
  measure iteration_time
  design {{ timed {{ repeat 2  steps 2  warmup 1 }}  seed 7 }}
}}
"""


class Rehearse(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="expc-rehearse-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def rehearse(self, study, code=0, cards="2x80GB", **variables):
        """What is known of each point by its label."""
        (self.folder / "tried.exp").write_text(study, encoding="utf-8")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("EXPC_", "NULLGPU_", "CUDA_"))}
        environment |= {"EXPC_NULLGPU_FOLDER": FOLDER, "EXPC_COMM_TIMEOUT_S": "20", **variables}
        done = subprocess.run([EXPC, "rehearse", "tried.exp", "--null-gpus", cards, "--worker", WORKER, "--format", "json"],
                              cwd=self.folder, env=environment, capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return {point["label"]: point for point in json.loads(done.stdout)["points"]}

    def check(self, point, outcome, reason=""):
        self.assertEqual(point["outcome"], outcome, point)
        self.assertRegex(point["reason"], reason or "^$")

    def test_both_workloads_are_counted(self):
        for study in (IMAGE.format(arguments="size = 32px", factors="factor gpus in 1..2"),
                      LLM.format(arguments="data = synthetic(48), method = lora", factors="factor gpus in 1..2")):
            points = self.rehearse(study)
            one, two = points["gpus=1"], points["gpus=2"]
            for point, number in ((one, 1), (two, 2)):
                self.check(point, "runs")
                self.assertEqual(point["rehearsed"]["steps"], 2)
                self.assertEqual(len(point["rehearsed"]["ranks"]), number)
                for rank in point["rehearsed"]["ranks"]:
                    self.assertGreater(rank["launches"], 0)
                    self.assertGreater(rank["host_memory"], 1 << 20)
                    self.assertGreater(rank["device_memory_allocated"], 0)
                    self.assertGreaterEqual(rank["device_memory_reserved"], rank["device_memory_allocated"])
                    self.assertGreater(rank["to_device"]["bytes"], 0)
            self.assertGreater(sum(traffic["bytes"] for traffic in two["rehearsed"]["ranks"][1]["collectives"].values()), 0)

    def test_a_missing_file_is_a_finding_of_the_points_that_read_it(self):
        points = self.rehearse(LLM.format(arguments="method = lora", factors='factor data in { synthetic(48), file("rows.jsonl") }'), code=3)
        lacking = points['data=file("rows.jsonl")']
        self.check(lacking, "lacks data", r"'rows.jsonl' is missing \(looked for ")
        self.assertGreater(lacking["rehearsed"]["ranks"][0]["launches"], 0)  # with rows that were made up
        self.check(points["data=synthetic(48)"], "runs")

    def test_a_damaged_file_is_named(self):
        (self.folder / "rows.jsonl").write_text('{"input": "this is cut', encoding="utf-8")
        points = self.rehearse(LLM.format(arguments='data = file("rows.jsonl"), method = lora', factors=""), code=3)
        for point in points.values():
            self.check(point, "failed", "rows.jsonl")

    def test_dali_is_left_out(self):
        points = self.rehearse(IMAGE.format(arguments="size = 32px", factors="factor loader in { dataloader, dali }"))
        self.check(points["loader=dataloader"], "runs")
        self.check(points["loader=dali"], "not rehearsed", "DALI has its own CUDA runtime")

    def test_a_step_that_is_observed_needs_no_second_steps_memory(self):
        study = IMAGE.format(arguments="size = 768px", factors="")
        point, = self.rehearse(study).values()
        held = point["rehearsed"]["ranks"][0]["device_memory_reserved"]
        point, = self.rehearse(study, cards=f"1x{held * 14 // 10 >> 20}MiB").values()
        self.check(point, "runs")

    def test_a_model_that_does_not_fit(self):
        points = self.rehearse(IMAGE.format(arguments="", factors="factor size in { 32px, 1024px }"), code=3, cards="1x128MiB")
        self.check(points["size=32px"], "runs")
        self.check(points["size=1024px"], "does not fit", "out of memory")

    def test_the_batch_with_the_longest_rows_is_tried(self):
        """A card that holds all steps but one does not get through the epoch."""
        rows = [{"input": f"q {i}", "output": "word " * 1600 if i == 150 else "short"} for i in range(300)]
        (self.folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        for method, gpus in (("lora", 1), ("qat", 2)):
            study = LLM.format(arguments=f'data = file("rows.jsonl"), method = {method}, gpus = {gpus}', factors="").replace("32tok", "8192tok")
            with self.subTest(method=method):
                point, = self.rehearse(study, cards=f"{gpus}x512MiB").values()  # as the estimate expects
                self.check(point, "does not fit", "out of memory")
                point, = self.rehearse(study, cards=f"{gpus}x80GB").values()
                self.check(point, "runs")
                for rank in point["rehearsed"]["ranks"]:
                    self.assertGreater(rank["widest_allocated"], 512 << 20)
                    self.assertLess(rank["device_memory_allocated"], 512 << 20)

    def test_preloaded_images_do_not_fill_this_machine(self):
        study = IMAGE.replace("synthetic(64)", "synthetic(5000)").format(arguments="size = 256px, preload = true", factors="")
        point, = self.rehearse(study).values()
        self.check(point, "runs")
        self.assertLess(point["rehearsed"]["ranks"][0]["host_memory"], 2e9)  # as tensors they are 4.7 GB

    def test_a_rank_that_calls_another_collective(self):
        for study in (IMAGE.format(arguments="size = 32px, gpus = 2", factors=""),
                      LLM.format(arguments="data = synthetic(48), method = lora, gpus = 2", factors="")):
            for point in self.rehearse(study, code=3, NULLGPU_FAULTS="mismatch=6, rank=1").values():
                self.check(point, "failed", "lost the others in .*: NCCL (reports|error)|all ranks must call the same")
                logs = [path.read_text(errors="replace") for path in (self.folder / "results/rehearsals/logs").glob("*.log")]
                self.assertRegex("".join(logs), "rank 0 calls .*, rank 1 calls .*; all ranks must call the same in the same order")


if __name__ == "__main__":
    EXPC, WORKER, FOLDER = (sys.argv.pop(1) for _ in range(3))
    unittest.main(verbosity=2)
