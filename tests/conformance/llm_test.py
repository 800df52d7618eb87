#!/usr/bin/env python3
"""llm.finetune through the real binaries: every method learns on one rank and on two, gives every metric, and computes the same
whatever divides a step's rows among ranks and passes.

usage: llm_test.py EXPC EXPC_WORKER [TEST...]
"""
import array
import base64
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import checkpoint_test  # noqa: E402
import ranks  # noqa: E402
import server  # noqa: E402
import tiny_llama  # noqa: E402

EPOCHS = 5  # of trials that are killed
METHODS = ("full", "lora", "qlora", "qat", "dpo")
# What only a GPU has, and what only dpo or several ranks have.
GPU_ONLY = {"device_memory_peak", "device_memory_allocated_peak", "energy", "copy_time", "api_time", "launch_time", "launch_count", "copies_htod",
            "stream_synchronize_time", "event_synchronize_time", "event_destroy_time", "memcpy_async_time", "memcpy_htod_time",
            "memcpy_dtoh_time", "memcpy_dtod_time", "bytes_htod", "bytes_dtoh", "bytes_dtod", "kernel_time", "nccl_time", "nccl_all_reduce_time", "nccl_all_gather_time",
            "nccl_reduce_scatter_time", "nccl_broadcast_time", "gpu_busy_share"}
REWARDS = {"reward_margin", "reward_accuracy"}

STUDY = """import std.llm

/// Everything that can be measured, of every method.
study everything {{
  workload llm.finetune(
    model = folder("{model}"), data = folder("{data}"), max_length = 128tok, precision = fp32, batch = 2,
    learning_rate = 0.003, warmup_steps = 1, sharding = ddp, template = grammar, group_size = 64,
    checkpoints = folder("{kept}"), questions = file("{questions}")
  )
  factor method in {{ {methods} }}
  factor gpus   in {{ 1, 2 }}
  measure {metrics}
  design {{
    timed   {{ repeat 1  steps 2  warmup 1 }}
    quality {{ repeat 1  epochs 1 }}
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
    SERVER = server.of(WORKER)
    SERVER.log = LOG


def tearDownModule():
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


RESUMED = """import std.llm

study resumed {{
  workload llm.finetune(
    method = lora, model = folder("model"), data = file("rows.jsonl"), template = grammar, max_length = 128tok, precision = fp64,
    batch = 2, learning_rate = 0.003, warmup_steps = 1, checkpoints = folder("{kept}"), evaluate = steps(15)
  )
  metric evaluations = count(evaluation_curve)
  metric evaluated   = mean(evaluation_curve)
  measure final_loss, evaluation_loss, evaluations, evaluated
  design {{ quality {{ repeat 1  epochs 8 }} }}
}}
"""


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


class ReplacedData(unittest.TestCase):
    """A trial that is killed does not go on over other rows or another base than it began with."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="expc-replaced-", dir=FOLDER))
        shutil.copytree(MODEL, self.folder / "model")
        shutil.copy(TEXTS / "grammar.jsonl", self.folder / "rows.jsonl")

    def start(self, kept, results):
        (self.folder / "resumed.exp").write_text(RESUMED.format(kept=kept))
        return subprocess.Popen([EXPC, "run", "resumed.exp", "--devices", "cpu:1", "--heat-up", "0", "--results", results,
                                 "--format", "json"], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def losses(self, kept, results):
        run = self.start(kept, results)
        out, err = run.communicate(timeout=300)
        self.assertEqual(run.returncode, 0, err[-3000:])
        metrics = json.loads(out)["points"][0]["metrics"]
        self.assertEqual(metrics["evaluations"]["values"], [6])  # every 15 of 88 steps, and at the end
        return [metrics[name]["values"] for name in ("final_loss", "evaluation_loss", "evaluated")]

    def kill(self, kept, results):
        run = self.start(kept, results)
        end = time.monotonic() + 60
        while not list((self.folder / kept).glob("*/epoch-00000[2-9]")):
            self.assertLess(time.monotonic(), end)
            self.assertIsNone(run.poll(), "it is killed before it ends")
            time.sleep(0.01)
        run.kill()
        run.communicate()

    def test_what_is_read_is_part_of_what_a_checkpoint_is_of(self):
        rows, weights = self.folder / "rows.jsonl", self.folder / "model" / "model.safetensors"

        def others():
            rows.write_text("".join(json.dumps({"input": f"one {i} two", "output": f"Zwei {i} eins!"}) + "\n" for i in range(24)))

        def another_base():
            length, = struct.unpack("<Q", weights.read_bytes()[:8])
            content = bytearray(weights.read_bytes())
            values = memoryview(content)[8 + length:].cast("f")
            values[:4000] = array.array("f", [-value for value in values[:4000]])
            weights.write_bytes(content)

        self.kill("same", "a")
        whole = self.losses("alone", "b")
        self.assertEqual(self.losses("same", "a"), whole, "the same data: it goes on")
        for number, replace in enumerate((others, another_base)):
            with self.subTest(replace.__name__):
                self.kill(f"kept{number}", f"c{number}")
                replace()
                found = self.losses(f"kept{number}", f"c{number}")
                self.assertEqual(found, self.losses(f"alone{number}", f"d{number}"))
                self.assertNotEqual(found, whole)
                whole = found


class Study(Case):
    def test_every_method_learns_and_gives_every_metric(self):
        described = json.loads(subprocess.run([WORKER, "--describe"], capture_output=True, text=True, check=True).stdout)
        workload, = (w for w in described["workloads"] if w["name"] == "llm.finetune")
        metrics = [metric["name"] for metric in workload["metrics"] if metric["name"] != "loss"]
        study = FOLDER / "everything.exp"
        kept = FOLDER / "kept"  # made by the trials
        questions = FOLDER / "one.jsonl"  # with one choice, so that the answer is right
        questions.write_text(json.dumps({"input": "a cat run", "output": "A cat runs.", "choices": ["A cat runs."]}))
        study.write_text(STUDY.format(model=MODEL, data=TEXTS, kept=kept, questions=questions, methods=", ".join(METHODS),
                                      metrics=", ".join(metrics)))
        command = [EXPC, "run", str(study), "--devices", "cpu:2", "--heat-up", "0", "--results", str(FOLDER / "results"),
                   "--format", "json"]
        run = subprocess.run(command, capture_output=True, text=True, timeout=500)
        self.assertEqual(run.returncode, 0, run.stderr[-3000:])
        result = json.loads(run.stdout)
        points, dimensions = result["points"], {metric["name"]: metric["dimension"] for metric in result["metrics"]}
        self.assertEqual(len(points), 2 * len(METHODS))
        for point in points:
            levels = point["levels"]
            with self.subTest(levels):
                self.assertTrue(all(trials["valid"] == 1 for trials in point["trials"]), point["trials"])
                for name in metrics:
                    self.check(name, dimensions[name], levels, point)
        left = sorted(path.name for trial in kept.iterdir() for path in trial.iterdir())
        self.assertEqual(left, ["adapter"] * 6 + ["int4"] * 2 + ["model"] * 2)
        again = subprocess.run(command, capture_output=True, text=True, timeout=500)
        self.assertIn("nothing to run", again.stderr, "what trials leave is no data of theirs")

    def check(self, name, dimension, levels, point):
        lacking = name in GPU_ONLY or (name in REWARDS and levels["method"] != "dpo") or \
            (name == "unquantised_answer_accuracy" and levels["method"] != "qat") or \
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
            if dimension == "share":
                self.assertLessEqual(value, 1, name)


class Questions(Case):
    def test_a_tuned_model_knows_what_it_was_taught(self):
        taught = [{"input": f"a {animal} run", "output": f"A {animal} runs."} for animal in ("cat", "dog")]
        asked = taught + [dict(taught[0], output="No."), dict(taught[1], choices=["A dog run.", "A dog runs.", "A cat runs."]),
                          dict(taught[1], output="A cat runs.", choices=["A dog runs.", "A cat runs."])]
        for name, rows in (("taught", taught * 12), ("asked", asked)):
            (FOLDER / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        files = dict(data={"file": [str(FOLDER / "taught.jsonl")]}, questions={"file": [str(FOLDER / "asked.jsonl")]}, precision="fp32")
        for count, method, sharding in ((1, "full", "ddp"), (2, "full", "fsdp"), (1, "qat", "ddp"), (1, "qlora", "ddp")):
            with self.subTest(count=count, method=method):
                # Two ranks take half as many steps in an epoch.
                spec = specification("quality", count, {"epochs": 15 * count}, method=method, sharding=sharding, rank=16, **files)
                accuracies = ["answer_accuracy"] + ["unquantised_answer_accuracy"] * (method == "qat")
                found = ranks.result(WORKER, dict(spec, metrics=accuracies))["metrics"]
                self.assertEqual([found[name] for name in accuracies], [3 / 5] * len(accuracies))
        untaught = self.result(dict(specification("quality", 1, {"epochs": 1}, method="qat", learning_rate=1e-9, **files), metrics=["answer_accuracy"]))
        self.assertLess(untaught["metrics"]["answer_accuracy"], 3 / 5)
        # The full weights answer only if a study asks for it.
        self.assertIsNone(untaught["metrics"].get("unquantised_answer_accuracy"))
        none = self.result(specification("quality", 1, {"epochs": 1}, method="full"))
        self.assertIsNone(none["metrics"].get("answer_accuracy"))

    def test_what_is_no_question_is_refused(self):
        (FOLDER / "bad.jsonl").write_text('{"input": "a", "output": "b", "choices": ["c"]}\n')
        spec = specification("quality", 1, {"epochs": 1}, questions={"file": [str(FOLDER / "bad.jsonl")]})
        self.refused(spec, "questions: ", "bad.jsonl: row 1: its answer is not one of 'choices'")


class Learning(Case):
    def test_the_loss_falls(self):
        for method, base in [(m, "lora") for m in METHODS] + [("dpo", "full")]:
            with self.subTest(method=method, base=base):
                event = self.result(specification("quality", 1, {"epochs": 3}, method=method, dpo_base=base, precision="fp32"))
                losses = event["series"]["loss"]
                each, tenth = len(losses) // 3, -(-len(losses) // 10)
                self.assertLess(sum(losses[-each:]), 0.98 * sum(losses[:each]))
                self.assertAlmostEqual(event["metrics"]["final_loss"], sum(losses[-tenth:]) / tenth)
                if method == "dpo":
                    self.assertAlmostEqual(losses[0], 0.6931, delta=1e-3)
                    self.assertGreater(event["metrics"]["reward_margin"], -1)


class SameMathematics(Case):
    def test_a_step_is_the_same_however_its_rows_are_divided(self):
        """Four rows in one pass, in two passes, on two ranks with all weights each and with a part; with and without packing."""
        ways = [(1, dict(batch=2, accumulation=2, activation_checkpointing=True)), (2, dict(batch=1, accumulation=2)),
                (2, dict(batch=2, sharding="fsdp"))]
        rows = "".join(json.dumps({"input": f"row {i}", "output": "answer " * (1 + i % 3), "weight": (0.25, 1, 3)[i % 3]}) + "\n"
                       for i in range(24))
        (FOLDER / "weighted.jsonl").write_text(rows)
        weighted = {"data": {"file": [str(FOLDER / "weighted.jsonl")]}}
        for method, base, packing, more in [(m, "lora", False, {}) for m in METHODS] + [
                ("dpo", "full", False, {}), ("lora", "lora", True, {}), ("lora", "lora", False, weighted), ("lora", "lora", True, weighted),
                ("full", "lora", False, weighted | {"loss_per": "row"}), ("dpo", "lora", False, weighted)]:
            # Gradients are shortened where each rank has a part of them, and where each has all.
            clip_norm = 0.05 if method == "full" or packing else 0
            together = dict(method=method, dpo_base=base, packing=packing, clip_norm=clip_norm, max_length=256, **more)
            settings = {"steps": 3, "warmup": 0}
            whole = self.result(specification("timed", 1, settings, batch=4, **together))["series"]["loss"]
            for count, other in ways:
                with self.subTest(method=method, base=base, packing=packing, ranks=count, **other):
                    losses = self.result(specification("timed", count, settings, **{**together, **other}))["series"]["loss"]
                    # One rounding of qat that falls the other way moves all that follows.
                    for a, b, delta in zip(whole, losses, (1e-4,) * 3 if method == "qat" else (1e-9, 1e-7, 1e-7)):
                        self.assertAlmostEqual(a, b, delta=delta)

    def test_a_row_of_weight_two_is_two_rows(self):
        row = lambda text, weight=1: json.dumps({"input": text, "output": text.upper(), "weight": weight}) + "\n"  # noqa: E731
        files = {"twice": row("one, two") * 2 + row("three"), "weighted": row("one, two", 2) + row("three"),
                 "scaled": row("one, two", 0.5) + row("three", 0.25)}
        for name, text in files.items():
            (FOLDER / f"{name}.jsonl").write_text(text)
        for way in ({}, {"loss_per": "row"}, {"method": "qlora", "modules": ["q", "head"]}):
            run = lambda name, batch: self.result(specification(  # noqa: E731
                "timed", 1, {"steps": 3, "warmup": 0}, batch=batch, data={"file": [str(FOLDER / f"{name}.jsonl")]}, **way))["series"]["loss"]
            twice = run("twice", 3)
            for name in ("weighted", "scaled"):
                with self.subTest(name, **way):
                    for a, b in zip(twice, run(name, 2), strict=True):
                        self.assertAlmostEqual(a, b, delta=1e-7)

    def test_qat_weights_kept_and_recomputed_are_equal(self):
        kept, again = (self.result(specification(method="qat", qat_weights=way))["series"]["loss"] for way in ("kept", "recomputed"))
        self.assertEqual(kept, again)


class Resume(checkpoint_test.Case):
    """Trials that are killed go on to the same losses, bit for bit, and leave what they tuned."""

    def check(self, count, **parameters):
        whole = ranks.result(WORKER, specification("quality", count, {"epochs": EPOCHS}, **parameters))
        spec = specification("quality", count, {"epochs": EPOCHS}, checkpoints={"folder": [str(self.folder)]}, **parameters)
        self.killed(spec, (2,))
        event = ranks.result(WORKER, spec)
        self.assertTrue(any("continued after epoch" in note for note in event["notes"]), event["notes"])
        self.assertEqual(event["series"]["loss"], whole["series"]["loss"])
        for metric in ("final_loss", "evaluation_loss", "reward_margin"):
            self.assertEqual(event["metrics"][metric], whole["metrics"][metric])
        return checkpoint_test.only(self.folder), event

    def test_adapters_on_weights_in_nf4(self):
        trial, event = self.check(1, method="qlora", dropout=0.1, precision="bf16", artefact="merged")
        self.assertEqual(sorted(p.name for p in trial.iterdir()), ["adapter", "model"])
        config = json.loads((trial / "adapter" / "adapter_config.json").read_text())
        self.assertEqual((config["r"], config["peft_type"], config["base_model_name_or_path"]), (8, "LORA", str(MODEL)))
        adapter = checkpoint_test.read_safetensors(trial / "adapter" / "adapter_model.safetensors")
        self.assertIn("base_model.model.model.layers.1.mlp.up_proj.lora_A.weight", adapter)
        self.complete(trial / "model")
        # The merged model, whose folder is complete, begins where the adapted one ended; so does a trial with these adapters.
        for others in (dict(model={"folder": [str(trial / "model")]}, method="full"),
                       dict(adapters={"folder": [str(trial / "adapter")]}, method="qlora")):
            again = specification("timed", 1, {"steps": 5, "warmup": 0}, learning_rate=0, **others)
            losses = ranks.result(WORKER, again)["series"]["loss"]
            self.assertLess(sum(losses) / 5,
                            event["series"]["loss"][0] - 0.7 * (event["series"]["loss"][0] - event["metrics"]["final_loss"]))
        other = specification(adapters={"folder": [str(trial / "adapter")]}, method="lora", rank=4)
        self.refused(other, "adapters: ", "r is 8, expected 4")

    def test_pairs_on_two_ranks(self):
        trial, _ = self.check(2, method="dpo", precision="fp16")
        self.assertEqual([p.name for p in trial.iterdir()], ["adapter"])

    def test_quantised_weights_in_parts(self):
        trial, _ = self.check(2, method="qat", sharding="fsdp", precision="fp32")
        weights = checkpoint_test.read_safetensors(trial / "int4" / "model.safetensors")
        dtype, shape, values = weights["layers.0.attn.q_proj.weight"]
        self.assertEqual((dtype, shape), ("I8", [tiny_llama.WIDTH, tiny_llama.WIDTH]))
        self.assertTrue(all(value < 8 or value >= 248 for value in values))
        self.complete(trial / "int4", tokenizer_only=True)

    def complete(self, folder, tokenizer_only=False):
        """What lay beside the base's weights, so that others load the folder as one."""
        names = ["generation_config.json", "tokenizer.model", "tokenizer_config.json"]
        for name in names:
            self.assertEqual((folder / name).read_bytes(), (MODEL / name).read_bytes())
        self.assertEqual(sorted(p.name for p in folder.iterdir()),
                         sorted([*names, "model.safetensors"] + ([] if tokenizer_only else ["config.json"])))
        if not tokenizer_only:
            config, base = (json.loads((path / "config.json").read_text()) for path in (folder, MODEL))
            self.assertEqual([config[key] for key in ("bos_token_id", "eos_token_id")],
                             [base[key] for key in ("bos_token_id", "eos_token_id")])


class Refusals(Case):
    """Each with one reason that names the place."""

    def written(self, name, content):
        path = FOLDER / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return {"file": [str(path)]}

    def test_rows(self):
        self.refused(specification(data={"file": ["/nowhere/rows.jsonl"]}), "data: ", "/nowhere/rows.jsonl")
        self.refused(specification(data=self.written("rows.txt", "{}")), "rows.txt")
        self.refused(specification(data=self.written("empty.jsonl", "")), "empty.jsonl: row 1: the file is empty")
        self.refused(specification(data=self.written("columns.csv", "question,answer\na,b\n")), "columns.csv: row 1", "input")
        self.refused(specification(data=self.written("types.jsonl", '{"input": "a", "output": 5}\n')), "types.jsonl: row 1", "output")
        self.refused(specification(data=self.written("broken.jsonl", '{"input": "a", "out')), "broken.jsonl: row 1")
        self.refused(specification(data={"folder": [str(TEXTS)]}, template="summarize"), str(TEXTS), "summarize.jsonl")
        self.refused(specification(template="plain", data=self.written("plain.jsonl", '{"messages": []}\n')), "plain.jsonl: row 1")
        self.refused(specification(data=self.written("alike.jsonl", '{"input": "a", "output": "b"}\n' * 3), method="dpo"), "alike.jsonl")

    def test_lengths(self):
        self.refused(specification(max_length=32), "has an answer within", "raise max_length")
        self.refused(specification(max_length=512), "rows have 512 tokens, but the model only 256 positions")
        self.refused(specification(batch=16, accumulation=2), "a step needs 32 rows (batch 16 x accumulation 2 x 1 ranks)", "24")
        self.refused(specification("quality", 1, {"epochs": 1}, row_limit=1), "also needs one for evaluation")

    def test_models_and_tokenizers(self):
        broken = FOLDER / "broken"
        shutil.copytree(MODEL, broken)
        weights = (broken / "model.safetensors").read_bytes()
        (broken / "model.safetensors").write_bytes(weights[:len(weights) // 2])
        self.refused(specification(model={"folder": [str(broken)]}), "model: ", "model.safetensors")
        (broken / "config.json").write_text('{"model_type": "llama"}')
        self.refused(specification(model={"folder": [str(broken)]}), "model: ", "config.json")
        self.refused(specification(model={"folder": ["/nowhere"]}), "model: /nowhere")
        (broken / "tokenizer.model").unlink()
        (broken / "config.json").write_bytes((MODEL / "config.json").read_bytes())
        (broken / "model.safetensors").write_bytes(weights)
        self.refused(specification(model={"folder": [str(broken)]}), "tokenizer: ", str(broken))
        self.refused(specification(tokenizer=self.written("t.model", "no tokens")), "tokenizer: ", "t.model")
        tokens = [bytes([byte]) for byte in range(256)] + [b"a" + bytes([byte]) for byte in range(100)]
        large = "".join(f"{base64.b64encode(token).decode()} {rank}\n" for rank, token in enumerate(tokens))
        self.refused(specification(tokenizer=self.written("large.model", large)), "large.model has tokens up to", "576 rows")
        self.refused(specification(method="qat", group_size=256), "group_size is 256, but its products have 128 inputs")

    def test_weights_that_are_pickles(self):
        folder = FOLDER / "pickles"
        shutil.copytree(MODEL, folder)
        (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
        self.refused(specification(model={"folder": [str(folder)]}), "never loaded: write safetensors with transformers' save_pretrained")

    def test_a_training_that_diverges(self):
        said = self.result(specification(method="full", optimizer="sgd", learning_rate=100, precision="fp32",
                                         settings={"steps": 10, "warmup": 0}))
        self.assertGreater(said["metrics"]["iteration_time"], 0)
        self.assertIn(said["series"]["loss"][-1], ("nan", "inf"))
        self.assertEqual(sum(note.startswith("the training diverged: the loss of step ") for note in said["notes"]), 1, said["notes"])

    def test_a_folder_of_checkpoints_that_cannot_be(self):
        spec = specification("quality", 1, {"epochs": 1}, checkpoints={"folder": [str(MODEL / "config.json")]})
        self.refused(spec, "cannot write checkpoints in")


if __name__ == "__main__":
    EXPC, WORKER = sys.argv.pop(1), sys.argv.pop(1)
    checkpoint_test.WORKER = WORKER
    unittest.main(verbosity=2)
