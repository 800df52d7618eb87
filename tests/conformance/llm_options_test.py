#!/usr/bin/env python3
"""The options of llm.finetune train with each other: of the combinations that `plan` keeps, as many as it takes for each pair of levels to
meet. And: validation rows of one's own, evaluation between steps, and what changes no bit.

usage: llm_options_test.py EXPC EXPC_WORKER
"""
import json
import math
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import matrix  # noqa: E402
import ranks  # noqa: E402
import tiny_llama  # noqa: E402
from server import Server  # noqa: E402

ADAPTERS = """  factor method  in { lora, qlora, dpo }
  factor modules in { [], [q, v, down], [q, k, v, o, gate, up, down, head] }
  factor adapted_layers  in { [], [1] }
  factor alphas          in { [], [(q, 32.0)] }
  factor modules_to_save in { [], [embedding, head], [embedding] }
  factor rslora in { false, true }
  factor dora   in { false, true }
  factor dropout in { 0.0, 0.1 }
  factor activation_checkpointing in { false, true }
  factor precision in { fp32, bf16, fp16 }
"""
STEPS = """  factor method in { full, lora, qat }
  factor schedule  in { cosine, constant, linear, wsd }
  factor evaluate  in { at_end, each_epoch, steps(1) }
  factor loss_per  in { token, row }
  factor optimizer in { adamw, sgd }
  factor decayed in { all, matrices }  when method != lora
  factor warmup_share in { 0.0, 0.5 }
  factor precision in { fp32, bf16, fp64, fp16 }
"""
PREFERENCES = """  factor dpo_base in { lora, full }
  factor dpo_loss in { sigmoid, ipo }
  factor label_smoothing in { 0.0, 0.2 }  when dpo_loss == sigmoid
  factor by_length in { false, true }     when dpo_loss == sigmoid
  factor accumulation in { 1, 2 }
  factor precision in { fp32, fp64 }
"""


class Options(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory(prefix="expc-llm-")
        cls.folder = pathlib.Path(cls.holder.name)
        cls.model = tiny_llama.write(cls.folder / "model")
        cls.log = tempfile.TemporaryFile("w+")
        cls.server = Server(WORKER, cls.log)

    @classmethod
    def tearDownClass(cls):
        cls.server.close()
        cls.log.close()
        cls.holder.cleanup()

    def train(self, parameters, kind="quality", epochs=1, count=1):
        spec = ranks.specification(kind, count, {"epochs": epochs} if kind == "quality" else None, root=self.folder)
        spec.update(workload="llm.finetune", parameters=parameters)
        event = self.server.run(spec)[0]
        self.assertEqual(event["event"], "result", event)
        return event

    def cover(self, factors, fixed=""):
        study = (f"study options {{\n  workload llm.finetune(model = folder(\"{self.model}\"), data = synthetic(40), template = grammar, "
                 f"max_length = 32tok, batch = 2, learning_rate = 0.003, group_size = 64, max_steps = 2{fixed})\n{factors}"
                 "  measure final_loss  design { quality { repeat 1  epochs 1 } }\n}\n")
        code, output = matrix.expc(EXPC, "plan", "llm", study)
        self.assertEqual(code, 0, output)
        plan = json.JSONDecoder().raw_decode(output)[0]  # a warning may follow
        names = [factor["name"] for factor in plan["factors"]]
        points = matrix.points(plan, names)
        chosen = matrix.covering(list(points), names, [])
        print(f"{len(chosen)} of {len(points)} points", flush=True)
        for at in chosen:
            with self.subTest(dict(zip(names, at))):
                parameters = points[at]["parameters"]
                event = self.train(parameters)
                self.assertEqual(len(event["series"]["loss"]), 2)
                self.assertEqual(len(event["series"]["evaluation_curve"]), 2 if parameters.get("evaluate") == {"steps": [1]} else 1)
                self.assertEqual(event["series"]["evaluation_curve"][-1], event["metrics"]["evaluation_loss"])
                self.assertTrue(all(map(math.isfinite, event["series"]["loss"] + event["series"]["evaluation_curve"])), event)

    def test_adapters(self):
        self.cover(ADAPTERS + "  exclude alphas != [] and modules != [] and not (q in modules)\n")

    def test_steps(self):
        self.cover(STEPS)

    def test_preferences(self):
        self.cover(PREFERENCES, ", method = dpo")

    def base(self, **parameters):
        return {"model": {"folder": [str(self.model)]}, "data": {"synthetic": [40]}, "template": "grammar", "max_length": 32, "precision": "fp32",
                "batch": 4, "learning_rate": 0.003, "warmup_steps": 1, "dropout": 0.2, **parameters}

    def test_evaluating_changes_no_bit(self):
        plain = self.train(self.base(), epochs=3)
        often = self.train(self.base(evaluate={"steps": [2]}), epochs=3)
        each = self.train(self.base(evaluate="each_epoch"), epochs=3)
        self.assertEqual(plain["series"]["loss"], often["series"]["loss"])
        self.assertEqual(plain["metrics"]["evaluation_loss"], often["metrics"]["evaluation_loss"])
        self.assertEqual(len(each["series"]["evaluation_curve"]), 3)
        steps = len(plain["series"]["loss"])
        self.assertEqual(len(often["series"]["evaluation_curve"]), math.ceil(steps / 2))

    def test_ranks_compute_what_one_computes(self):
        for options in ({"method": "full", "decayed": "matrices", "weight_decay": 0.5}, {"dora": True, "adapted_layers": [1]},
                        {"modules_to_save": ["embedding", "head"], "sharding": "ddp"}, {"loss_per": "row"},
                        {"method": "dpo", "dpo_loss": "ipo"}):
            with self.subTest(options):
                fixed = self.base(precision="fp64", dropout=0.0, sharding="fsdp") | options
                alone = self.train(fixed)["series"]["loss"]
                both = self.train(fixed | {"gpus": 2, "batch": 2}, count=2)["series"]["loss"]
                for one, other in zip(alone, both, strict=True):
                    self.assertAlmostEqual(one, other, delta=1e-7)

    def test_a_checkpoint_brings_the_evaluations(self):
        parameters = self.base(evaluate={"steps": [2]}, max_steps=7)
        whole = self.train(parameters, epochs=3)
        kept = dict(parameters, checkpoints={"folder": ["kept"]})
        self.assertEqual(self.train(kept, epochs=3)["series"], whole["series"])

    def test_rows_of_ones_own_are_evaluated(self):
        row = lambda text: json.dumps({"input": text, "output": text.upper()}) + "\n"  # noqa: E731
        (self.folder / "train.jsonl").write_text("".join(row(f"row {number}") for number in range(12)))
        (self.folder / "valid.jsonl").write_text(row("row 3") + row("Row  4") + row("none of them"))
        own = self.base(data={"file": ["train.jsonl"]}, validation={"file": ["valid.jsonl"]}, max_length=128)
        notes = self.train(own)["notes"]
        self.assertTrue(any("3 rows of " in note and note.endswith("valid.jsonl are evaluated") for note in notes if isinstance(note, str)), notes)
        self.assertIn({"code": "leaked", "name": "evaluation_loss", "number": 1, "said": "held-out row", "of": 3}, notes)
        # A timed trial does not even open them.
        self.train(dict(own, validation={"file": ["missing.jsonl"]}), "timed")

    def test_another_reference_model_is_compared_with(self):
        # The model itself as the reference gives what the adapters switched off give.
        own = self.base(method="dpo", precision="fp64", dropout=0.0)
        other = tiny_llama.write(self.folder / "other", seed=5)
        same = self.train(dict(own, reference_model={"folder": [str(self.model)]}))
        self.assertEqual(same["series"]["loss"], self.train(own)["series"]["loss"])
        self.assertNotEqual(self.train(dict(own, reference_model={"folder": [str(other)]}))["series"]["loss"], same["series"]["loss"])


if __name__ == "__main__":
    EXPC, WORKER = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main(verbosity=2)
