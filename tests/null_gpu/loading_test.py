#!/usr/bin/env python3
"""What loading a model takes of the host, and that steps without weights take of a card what steps with them do.

usage: loading_test.py EXPC_WORKER_CUDA NULL_GPU_FOLDER [TEST...]
"""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import null_gpu  # noqa: E402
import ranks  # noqa: E402
import tiny_llama  # noqa: E402

GB = 1e9


def setUpModule():
    global SERVER, SAID, MODEL
    SERVER, SAID = unittest.enterModuleContext(null_gpu.server(WORKER, FOLDER))
    MODEL = tiny_llama.write(pathlib.Path(unittest.enterModuleContext(tempfile.TemporaryDirectory())) / "model")


def trial(count=1, rehearsal=False, metrics=(), **parameters):
    values = {"data": {"synthetic": [32]}, "template": "grammar", "max_length": 64, "batch": 2, "group_size": 64, "gpus": count,
              **parameters}
    spec = null_gpu.on_cards(ranks.specification("timed", count, {"steps": 2, "warmup": 1}, () if rehearsal else metrics))
    spec = dict(spec, workload="llm.finetune", parameters=values)
    return dict(spec, rehearsal=True) if rehearsal else spec


class Loading(unittest.TestCase):
    def last(self, spec, **variables):
        events = SERVER.run(spec, environment=variables)
        self.assertTrue(all(events), SAID()[-3000:])
        return events

    def result(self, spec, **variables):
        event = self.last(spec, **variables)[0]
        self.assertEqual(event.get("event"), "result", event)
        return event

    def test_steps_without_weights_take_of_a_card_what_steps_with_them_do(self):
        for parameters in ({"method": "full"}, {"method": "lora", "precision": "bf16"}, {"method": "qlora"}, {"method": "qat"},
                           {"method": "dpo"}, {"method": "full", "count": 2}, {"method": "qlora", "count": 3, "precision": "bf16"},
                           {"method": "lora", "count": 2, "sharding": "ddp"}):
            for model in ({"folder": [str(MODEL)]}, "tiny"):
                with self.subTest(model=model, **parameters):
                    real = self.result(trial(metrics=("device_memory_allocated_peak", "device_memory_peak"), model=model, **parameters))
                    ranks_of = self.result(trial(rehearsal=True, model=model, **parameters))["rehearsed"]["ranks"]
                    # With ddp what collectives held comes back at varying moments, for which a rehearsal waits and a trial does not.
                    held = 0.02 if "sharding" in parameters else 0
                    for seen, metric in (("device_memory_allocated", "device_memory_allocated_peak"),
                                         ("device_memory_reserved", "device_memory_peak")):
                        whole = real["metrics"][metric]
                        self.assertAlmostEqual(max(rank[seen] for rank in ranks_of), whole, delta=held * whole)

    def test_nothing_of_a_model_s_size_is_on_the_host_where_no_value_matters(self):
        for method, count in (("full", 4), ("qlora", 1)):
            with self.subTest(method=method, count=count):
                spec = trial(count, rehearsal=True, model="llama3_8b", method=method, precision="fp32")
                # What ranks gather is a unit whole on each card, and pages of the host unless it is dropped.
                variables = {"NULLGPU_DROP": "64KiB"} if count > 1 else {}
                rehearsed = self.result(spec, NULLGPU_MEMORY="200GiB", **variables)["rehearsed"]["ranks"]
                weights = 8.03e9 * 4 / count if method == "full" else 4e9
                for rank in rehearsed:
                    self.assertGreater(rank["device_memory_allocated"], weights)
                    self.assertLess(rank["host_memory"], 2 * GB)

    def test_a_rank_s_host_holds_a_piece_of_its_part_of_the_weights_at_a_time(self):
        # The embedding alone is 1.05 GB.
        spec = trial(4, metrics=("host_memory_peak",), model="llama3_2_1b", method="full", precision="fp32", batch=1)
        self.assertLess(self.result(spec, NULLGPU_DROP="64KiB")["metrics"]["host_memory_peak"], 0.5 * GB)

    def test_what_is_missing_is_refused_without_weights_too(self):
        with tempfile.TemporaryDirectory() as folder:
            model = tiny_llama.write(pathlib.Path(folder) / "model")
            spec = trial(rehearsal=True, model={"folder": [str(model)]}, method="lora")
            self.result(spec)
            file = pathlib.Path(model) / "model.safetensors"
            whole = file.read_bytes()
            for damaged, said in ((whole[:-100], "model.safetensors"), (whole[:4], "expected a safetensors file"), (None, "model.safetensors")):
                file.unlink()
                if damaged is not None:
                    file.write_bytes(damaged)
                event = self.last(spec)[0]
                self.assertEqual(event.get("event"), "failed", event)
                self.assertIn(said, event["reason"])
                file.write_bytes(whole)


if __name__ == "__main__":
    WORKER, FOLDER = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main(verbosity=2)
