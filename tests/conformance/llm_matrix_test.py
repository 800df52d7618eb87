#!/usr/bin/env python3
"""Every combination of method, precision, sharding and number of ranks of llm.finetune is in one of three classes: it trains on this
machine, or `plan` leaves it out or marks it with a reason, or `check` refuses a study of it. The levels are those that stdlib declares.

usage: llm_matrix_test.py EXPC EXPC_WORKER [--all]

Without --all it trains a part of the combinations in which each pair of levels that can meet does meet.
"""
import json
import math
import pathlib
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import matrix  # noqa: E402
import ranks  # noqa: E402
import tiny_llama  # noqa: E402
from server import Server  # noqa: E402

FACTORS = ("method", "dpo_base", "precision", "sharding")
ONLY = {"dpo_base": ("method", "dpo")}  # a factor that the other methods do not have
NAMES = (*FACTORS, "gpus")
DEVICES = (1, 2, 4)
STEPS = 2
DESIGN = f"measure iteration_time  design {{ timed {{ repeat 6  steps {STEPS}  warmup 0 }} }}"


class Matrix(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="expc-llm-")
        model = tiny_llama.write(pathlib.Path(cls.folder.name) / "model")
        cls.workload = ("llm.finetune(model = folder(\"%s\"), data = synthetic(48), template = grammar, max_length = 32tok, "
                        "batch = 2, learning_rate = 0.003, group_size = 64{})") % model
        levels = matrix.levels("llm", FACTORS)
        cls.combinations = matrix.combinations(levels, DEVICES, ONLY)
        factors = matrix.declared(levels, DEVICES, ONLY)
        code, output = matrix.expc(EXPC, "plan", "llm", f"study matrix {{\n  workload {cls.workload.format('')}\n{factors}  {DESIGN}\n}}\n",
                                   "--devices", f"cpu:{max(DEVICES)}")
        assert code == 0, output
        cls.plan = json.loads(output)
        cls.points = matrix.points(cls.plan, NAMES)
        cls.available = [at for at, point in cls.points.items() if not point.get("unavailable")]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def fixed(self, name, at):
        """A study of one combination alone."""
        arguments = "".join(f", {factor} = {level}" for factor, level in zip(NAMES, at) if level is not None)
        return f"study {name} {{ workload {self.workload.format(arguments)}  {DESIGN} }}\n"

    def test_what_is_not_in_the_plan_is_refused_with_its_reason(self):
        self.assertEqual(self.plan["product"], len(self.combinations))
        refused = [at for at in self.combinations if at not in self.points]
        self.assertEqual(sum(rule["count"] for rule in self.plan["removed"]), len(refused))
        for at in refused:
            with self.subTest(at):
                code, output = matrix.expc(EXPC, "check", "llm", self.fixed("alone", at))
                self.assertEqual(code, 1, output)
                self.assertTrue(any(rule["because"] and rule["because"] in output for rule in self.plan["removed"]), output)

    def test_what_this_machine_lacks_is_said_in_the_plan(self):
        for at, point in self.points.items():
            if "unavailable" in point:
                with self.subTest(at):
                    self.assertTrue(point["unavailable"])

    def test_what_is_available_trains(self):
        # The same mathematics can be seen in fp64.
        exact = [at for at in self.available if dict(zip(NAMES, at))["precision"] == "fp64"]
        if not ALL:
            exact = [at for at in exact if at[-1] == "2"]
        chosen = self.available if ALL else matrix.covering(self.available, NAMES, exact)
        losses, start = {}, time.monotonic()
        with tempfile.TemporaryFile("w+") as log:
            server = Server(WORKER, log)
            for at in chosen:
                spec = ranks.specification("timed", int(at[-1]), {"steps": STEPS, "warmup": 0}, metrics=["iteration_time"])
                spec.update(workload="llm.finetune", parameters=self.points[at]["parameters"])
                with self.subTest(at):
                    event = server.run(spec)[0]
                    self.assertEqual(event["event"], "result", event)
                    self.assertGreater(event["metrics"]["iteration_time"], 0)
                    losses[at] = event["series"]["loss"]
                    self.assertEqual(len(losses[at]), STEPS)
                    self.assertTrue(all(map(math.isfinite, losses[at])), losses[at])
            server.close()
        self.count(chosen, losses, time.monotonic() - start)
        self.same_mathematics(losses)

    def count(self, chosen, losses, seconds):
        """Every combination is in exactly one class."""
        classes = {"trained": len(losses), "trains, but is left to --all": len(self.available) - len(chosen),
                   "marked not available in the plan": len(self.points) - len(self.available),
                   "excluded from the plan and refused by check": len(self.combinations) - len(self.points)}
        print(f"\n{len(self.combinations)} combinations:", *(f"{count} {what}" for what, count in classes.items()), sep="\n  ")
        print(f"seconds of training: {seconds:.1f}", flush=True)
        self.assertEqual(sum(classes.values()), len(self.combinations))
        self.assertGreater(len(losses), 15)

    def same_mathematics(self, losses):
        """What a rank keeps changes nothing that is computed; on one rank both are the same program."""
        compared = 0
        for at, found in losses.items():
            named = dict(zip(NAMES, at))
            if named["precision"] != "fp64" or named["sharding"] != "fsdp":
                continue
            other = losses.get(tuple(dict(named, sharding="ddp").values()))
            if other is None:
                continue
            # One rounding of QAT decided otherwise shifts what follows.
            for a, b, delta in zip(found, other, (1e-10, 5e-3 if named["method"] == "qat" else 1e-7)):
                with self.subTest(at):
                    self.assertAlmostEqual(a, b, delta=0 if named["gpus"] == "1" else delta)
            compared += 1
        self.assertGreaterEqual(compared, 6)


if __name__ == "__main__":
    EXPC, WORKER = sys.argv.pop(1), sys.argv.pop(1)
    ALL = "--all" in sys.argv
    if ALL:
        sys.argv.remove("--all")
    unittest.main(verbosity=2)
