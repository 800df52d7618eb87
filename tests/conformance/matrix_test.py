#!/usr/bin/env python3
"""Every combination of loader, layout, precision, strategy and number of devices is in one of three classes: it trains on this
machine, or `plan` leaves it out with a reason, or `check` refuses a study of it. The levels are those that stdlib declares, so
that a new one cannot be forgotten.

usage: matrix_test.py EXPC EXPC_WORKER [--all]

Without --all it trains a part of the combinations in which each pair of levels that can meet does meet.
"""
import collections
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import matrix  # noqa: E402
import ranks  # noqa: E402
from server import Server  # noqa: E402

FACTORS = ("loader", "worker_kind", "layout", "precision", "strategy")
ONLY = {"worker_kind": ("loader", "dataloader")}  # a factor that the others do not have
NAMES = (*FACTORS, "gpus")
DEVICES = (1, 2, 4)
STEPS = 2
WORKLOAD = "image.mobilenet_v2(data = synthetic(96), size = 28px, width = 0.25, batch = 4, learning_rate = 0.001{})"
DESIGN = f"measure step_time  design {{ timed {{ repeat 6  steps {STEPS}  warmup 0 }} }}"
NO_DALI = "this worker was built without NVIDIA DALI; run `tools/setup --dali`"


def one_process(worker):
    """Levels with which one process drives all devices, by parameter."""
    described = json.loads(subprocess.run([worker, "--describe"], check=True, capture_output=True, text=True).stdout)
    workload, = (w for w in described["workloads"] if w["name"] == "image.mobilenet_v2")
    return {p["name"]: p["one_process"] for p in workload["params"] if "one_process" in p}


def expc(command, text, *options):
    return matrix.expc(EXPC, command, "image", text, *options)


def fixed(name, at):
    """A study of one combination alone."""
    arguments = "".join(f", {factor} = {level}" for factor, level in zip(NAMES, at) if level is not None)
    return f"study {name} {{ workload {WORKLOAD.format(arguments)}  {DESIGN} }}\n"


class Matrix(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.levels = matrix.levels("image", FACTORS)
        cls.combinations = matrix.combinations(cls.levels, DEVICES, ONLY)
        factors = matrix.declared(cls.levels, DEVICES, ONLY)
        code, output = expc("plan", f"study matrix {{\n  workload {WORKLOAD.format('')}\n{factors}  {DESIGN}\n}}\n",
                            "--devices", f"cpu:{max(DEVICES)}")
        assert code == 0, output
        cls.plan = json.loads(output)
        cls.points = matrix.points(cls.plan, NAMES)
        cls.available = [at for at, point in cls.points.items() if not point.get("unavailable")]

    def test_what_is_not_in_the_plan_is_refused_with_its_reason(self):
        self.assertEqual(self.plan["product"], len(self.combinations))
        refused = [at for at in self.combinations if at not in self.points]
        self.assertEqual(sum(rule["count"] for rule in self.plan["removed"]), len(refused))
        reasons = [rule["because"] for rule in self.plan["removed"]]
        self.assertTrue(all(reasons), self.plan["removed"])
        code, output = expc("check", "".join(fixed(f"s{number}", at) for number, at in enumerate(refused)))
        self.assertEqual(code, 1)
        told = [problem for problem in json.loads(output)["diagnostics"] if problem["severity"] == "error"]
        self.assertEqual(len(told), len(refused))
        for at, problem in zip(refused, told):
            with self.subTest(at):
                self.assertTrue(any(reason in json.dumps(problem) for reason in reasons), problem)

    def test_what_this_machine_lacks_is_said_in_the_plan(self):
        """The machine is asked to be one without a GPU."""
        for at, point in self.points.items():
            precision = dict(zip(NAMES, at))["precision"]
            wanted = {"tf32": "tensor cores", "fp16": "bf16 has"}.get(precision, "")
            with self.subTest(at):
                self.assertEqual(bool(point.get("unavailable")), bool(wanted))
                self.assertIn(wanted, point.get("unavailable", ""))

    def test_what_is_available_trains(self):
        # The same mathematics can be seen where everything else is plain.
        plain = [("dataloader", "threads", "nchw", "fp64", strategy, gpus)
                 for strategy in self.levels["strategy"] for gpus in map(str, DEVICES)]
        chosen = self.available if ALL else matrix.covering(self.available, NAMES, plain)
        together, losses, seconds = one_process(WORKER), {}, collections.Counter()
        without_dali = 0
        with tempfile.TemporaryFile("w+") as log:
            # The server forks; that this process has threads or locks is no worry.
            server = Server(WORKER, log)
            for at in chosen:
                parameters = self.points[at]["parameters"]
                spec = ranks.specification("timed", int(at[-1]), {"steps": STEPS, "warmup": 0}, metrics=["step_time"], **parameters)
                if any(parameters[name] in values for name, values in together.items()):
                    spec["world_size"] = 1
                start = time.monotonic()
                events = server.run(spec)
                seconds[at[0]] += time.monotonic() - start
                with self.subTest(at):
                    if at[0] == "dali" and NO_DALI in events[0].get("reason", ""):
                        without_dali += 1
                        continue
                    self.assertEqual(events[0]["event"], "result", events)
                    self.assertGreater(events[0]["metrics"]["step_time"], 0)
                    self.assertEqual(len(events[0]["series"]["loss"]), STEPS)
                    losses[at] = events[0]["series"]["loss"]
            server.close()
        self.count(chosen, losses, without_dali, seconds)
        self.same_mathematics(losses)

    def count(self, chosen, losses, without_dali, seconds):
        """Every combination is in exactly one class."""
        classes = {"trained": len(losses), "refused, because this build has no DALI": without_dali,
                   "trains, but is left to --all": len(self.available) - len(chosen),
                   "marked not available in the plan": len(self.points) - len(self.available),
                   "excluded from the plan and refused by check": len(self.combinations) - len(self.points)}
        print(f"\n{len(self.combinations)} combinations:", *(f"{count} {what}" for what, count in classes.items()), sep="\n  ")
        print("seconds of training by loader:", {name: round(value, 1) for name, value in seconds.items()}, flush=True)
        self.assertEqual(sum(classes.values()), len(self.combinations))
        self.assertGreater(len(losses), 20)

    def same_mathematics(self, losses):
        """In fp64 the factors other than the number of devices change nothing that is computed: the loaders prepare the same
        pixels, and device d of W trains on the same images with every strategy."""
        for at, found in losses.items():
            named = dict(zip(NAMES, at))
            if named["precision"] != "fp64":
                continue
            plain = losses["dataloader", "threads", "nchw", "fp64", "ddp_ds", named["gpus"]]
            # DALI normalises in float; one step later rounding has grown, in networks as small as this one a hundredfold and more.
            deltas = [1e-3] if named["loader"] == "dali" else [1e-9, 1e-4]
            with self.subTest(at):
                for a, b, delta in zip(plain, found, deltas):
                    self.assertAlmostEqual(a, b, delta=delta)


class WaysAcross(unittest.TestCase):
    def test_every_way_across_gives_the_network_the_same(self):
        """transfer_dtype, preprocessing, pin_memory and numa, where the network computes in fp32 and in bf16."""
        losses = {}
        with tempfile.TemporaryFile("w+") as log:
            server = Server(WORKER, log)
            for precision, transfer, place, pinned, numa in itertools.product(
                    ("fp32", "bf16"), ("as_input", "compute", "uint8"), ("cpu", "device"), (False, True), ("near", "any")):
                if numa == "any" and pinned:
                    continue  # nothing new
                spec = ranks.specification("timed", 1, {"steps": STEPS, "warmup": 0}, data={"synthetic": [64]}, width=0.25, batch=4,
                                           learning_rate=0.001, precision=precision, transfer_dtype=transfer, preprocessing=place,
                                           pin_memory=pinned, numa=numa)
                event, = server.run(spec)
                with self.subTest(precision=precision, transfer=transfer, preprocessing=place, pinned=pinned, numa=numa):
                    if (transfer, place) == ("uint8", "cpu"):
                        self.assertEqual(event["event"], "failed")
                        self.assertIn("preprocessing is device", event["reason"])
                        continue
                    self.assertEqual(event["event"], "result", event)
                    self.assertEqual([note for note in event["notes"] if "pin_memory" in note] != [], pinned)
                    losses.setdefault(precision, []).append(event["series"]["loss"][0])
            server.close()
        for precision, delta in (("fp32", 0.01), ("bf16", 0.05)):
            for loss in losses[precision]:
                self.assertAlmostEqual(loss, losses[precision][0], delta=delta)


if __name__ == "__main__":
    EXPC, WORKER = sys.argv.pop(1), sys.argv.pop(1)
    ALL = "--all" in sys.argv
    if ALL:
        sys.argv.remove("--all")
    unittest.main(verbosity=2)
