#!/usr/bin/env python3
"""What the steps of a decoder ask of a card and of the host that feeds it: nothing that makes the host wait, few launches,
and by each card's own attention. Counted on null cards, between a trial of some steps and one of more.

usage: decoder_test.py EXPC_WORKER_CUDA NULL_GPU_FOLDER [TEST...]
"""
import functools
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import null_gpu  # noqa: E402
import ranks  # noqa: E402
import tiny_llama  # noqa: E402

WAITS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaMemcpy")  # an event's is the feed's, which keeps a few batches ahead
FEW, MORE = 3, 7  # steps that are profiled
PRODUCTS = 7 * tiny_llama.LAYERS  # that NF4 holds
INPUTS = 4 * tiny_llama.LAYERS  # of them: q, k and v share one, and gate and up
FIRST_INPUT = 3  # products that read the first layer's


def setUpModule():
    global SERVER, SAID, MODEL
    SERVER, SAID = unittest.enterModuleContext(null_gpu.server(WORKER, FOLDER))
    MODEL = tiny_llama.write(pathlib.Path(unittest.enterModuleContext(tempfile.TemporaryDirectory())) / "model")


def trial(steps, kind="profile", count=1, **parameters):
    values = {"model": {"folder": [str(MODEL)]}, "data": {"synthetic": [96]}, "template": "grammar", "max_length": 64, "batch": 2,
              "group_size": 64, "gpus": count, "precision": "bf16", "pin_memory": True, **parameters}
    spec = null_gpu.on_cards(ranks.specification(kind, count, {"steps": steps, "warmup": 1}))
    return dict(spec, workload="llm.finetune", parameters=values)


def result(spec, **variables):
    event = SERVER.run(spec, environment=variables)[0]
    assert event.get("event") == "result", f"{event}\n{SAID()[-3000:]}"
    return event


@functools.cache
def of_a_step(**parameters):
    """How often a step calls each function of the CUDA runtime."""
    counts = []
    for steps in (FEW, MORE):
        series = result(trial(steps, **parameters))["series"]
        counts.append({name.removeprefix("profile.api."): values[1] for name, values in series.items() if name.startswith("profile.api.")})
    few, more = counts
    return {name: (more[name] - few.get(name, 0)) / (MORE - FEW) for name in more}


def launches(**parameters):
    return sum(count for name, count in of_a_step(**parameters).items() if name.startswith("cudaLaunchKernel"))


class Decoder(unittest.TestCase):
    def assert_no_wait(self, **parameters):
        with self.subTest(**parameters):
            calls = of_a_step(**parameters)
            self.assertGreater(sum(calls.values()), 100, calls)
            self.assertEqual({name: calls[name] for name in WAITS if calls.get(name)}, {})

    def test_no_step_waits_for_its_card(self):
        for method in ("full", "lora", "qlora", "qat", "dpo"):
            self.assert_no_wait(method=method)
        for parameters in ({"packing": True}, {"dropout": 0.1}, {"activation_checkpointing": True}, {"accumulation": 2},
                           {"clip_norm": 1.0}, {"method": "dpo", "dpo_base": "full"}, {"precision": "fp32"}, {"precision": "fp16"}, {"pin_memory": False}):
            self.assert_no_wait(**{"method": "lora", **parameters})

    def test_ranks_wait_for_no_card_either(self):
        for parameters in ({"method": "lora", "sharding": "ddp"}, {"method": "full", "sharding": "fsdp", "clip_norm": 1.0},
                           {"method": "dpo", "sharding": "fsdp"}):
            self.assert_no_wait(count=2, **parameters)

    def test_a_weight_in_nf4_costs_a_launch_each_way(self):
        more = launches(method="qlora") - launches(method="lora")
        self.assertEqual(more, 2 * PRODUCTS - FIRST_INPUT, "nothing goes back to the input of the first layer")

    def test_rounding_a_matrix_costs_a_launch_each_way(self):
        more = launches(method="qat", qat_weights="recomputed") - launches(method="full")
        # Forth, again on the way back, and its gradient; the head and its input are not rounded again.
        self.assertEqual(more, 3 * (PRODUCTS + INPUTS) + 2 * 2)

    def test_a_layer_is_few_launches(self):
        self.assertLess(launches(method="lora") / tiny_llama.LAYERS, 90)

    def test_the_attention_is_the_card_s_and_recorded(self):
        for capability, precision, attention in (("9.0", "bf16", "cuDNN; flash attention for packed rows"), ("8.6", "fp16", "flash attention"),
                                                 ("8.6", "fp32", "memory-efficient attention"),
                                                 ("7.5", "fp16", "memory-efficient attention"),
                                                 ("7.5", "bf16", "memory-efficient attention in fp32"), ("9.0", "fp64", "plain operators")):
            for packing in (False, True):
                with self.subTest(capability=capability, precision=precision, packing=packing):
                    # `tiny` has fewer heads of keys and values than of queries.
                    spec = trial(2, "timed", model="tiny", method="lora", precision=precision, packing=packing)
                    event = result(spec, NULLGPU_CAPABILITY=capability)
                    self.assertEqual(event["environment"]["attention"], attention)
                    self.assertEqual(any(str(note).startswith("attention:") for note in event["notes"]), attention == "plain operators")


if __name__ == "__main__":
    WORKER, FOLDER = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main(verbosity=2)
