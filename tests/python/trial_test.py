#!/usr/bin/env python3
"""The package `expc` as a training script uses it: steps by kind of trial, times without a wait for a GPU, and the report.

usage: trial_test.py [TEST...]
"""
import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
import expc  # noqa: E402


class Tensor:
    """A tensor on a GPU that may be read only at the end: `waits` counts the readings."""
    is_cuda, device, waits = True, "cuda:0", 0

    def __init__(self, values):
        self.values = values

    def detach(self):
        return self

    def reshape(self, shape):
        return self

    def clone(self):
        return Tensor(list(self.values))

    def double(self):
        return self

    def tolist(self):
        Tensor.waits += 1
        return self.values


class Number(float):
    """A tensor on a CPU."""

    def detach(self):
        return self


class Event:
    """An event that the GPU reaches 10 ms after the one before; `waits` counts the calls that wait, `made` the records."""
    made = waits = 0

    def __init__(self, enable_timing):
        self.at = None

    def record(self, stream):
        Event.made += 1
        self.at = Event.made * 10

    def query(self):
        return True

    def synchronize(self):
        Event.waits += 1

    def elapsed_time(self, other):
        return other.at - self.at


def fake_torch():
    torch = types.ModuleType("torch")
    torch._C = types.ModuleType("torch._C")
    torch.cuda = types.SimpleNamespace(current_device=lambda: 0, current_stream=lambda device=None: "stream", is_available=lambda: True, is_initialized=lambda: True, Event=Event, reset_peak_memory_stats=lambda: None,
                                       max_memory_allocated=lambda: 100, max_memory_reserved=lambda: 200)
    torch.stack = lambda tensors: Tensor([value for tensor in tensors for value in tensor.values])
    return torch


class Trial(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.report = pathlib.Path(folder.name) / "expc-trial.jsonl"

    def trial(self, kind="timed", parameters=(), **settings):
        return expc.Trial({"kind": kind, "seed": 3, "settings": settings, "parameters": dict(parameters), "report": str(self.report)})

    def rows(self, trial):
        trial.close()
        return [json.loads(line) for line in self.report.read_text().splitlines()]

    def test_without_expc_nothing_happens(self):
        trial, loader = expc.Trial(), [1, 2]
        self.assertIs(trial.steps(loader), loader)
        self.assertEqual(list(trial.epochs(3)), [0, 1, 2])
        self.assertFalse(trial.step())
        trial.metric(loss=1)
        trial.close()
        self.assertEqual((trial.kind, trial.seed, dict(trial.parameters)), (None, 0, {}))

    def test_parameters_are_those_of_the_study_before_defaults(self):
        code = ("import expc; t = expc.trial(lr=1.0, batch=8); "
                "print(t.parameters.lr, t.parameters['batch'], t.seed, expc.trial() is t); t.parameters.rank")
        request = {"kind": "timed", "seed": 7, "parameters": {"lr": 0.5, "tf32": True}}
        for given, said in (({"EXPC_TRIAL_REQUEST": json.dumps(request)}, "0.5 8 7 True"), ({}, "1.0 8 0 True")):
            done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **given, "PYTHONPATH": str(ROOT / "python")},
                                  capture_output=True, text=True)
            self.assertEqual(done.stdout.strip(), said)
            self.assertIn("the trial has no parameter 'rank' (it has batch, lr", done.stderr)
            self.assertIn("expc.trial(rank=…)", done.stderr)

    def test_a_timed_trial_warms_up_measures_and_stops(self):
        trial = self.trial(steps=5, warmup=2)
        self.assertEqual(list(trial.steps([1, 2, 3])), [1, 2, 3, 1, 2, 3, 1])
        self.assertEqual(list(trial.steps([1, 2, 3])), [])
        last = self.rows(trial)[-1]
        self.assertEqual(len(last["step_times"]), 5)
        self.assertEqual(last["step_time"], sorted(last["step_times"])[2])
        self.assertAlmostEqual(last["train_time"], sum(last["step_times"]))
        self.assertIsNone(last["device_memory_peak"])
        self.assertIn("first_step_time", last["expc"])

    def test_a_quality_trial_makes_its_passes(self):
        self.assertEqual(list(self.trial("quality", epochs=2).steps([1, 2])), [1, 2, 1, 2])
        trial, seen = self.trial("quality", epochs=2), []
        for epoch in trial.epochs(9):
            seen += [(epoch, batch) for batch in trial.steps([1, 2])]
        self.assertEqual(seen, [(0, 1), (0, 2), (1, 1), (1, 2)])
        self.assertEqual(len(self.rows(trial)[-1]["step_times"]), 4)  # what lies between two passes is no step
        self.assertEqual(list(self.trial("quality").steps([1, 2])), [1, 2])

    def test_epochs_last_until_the_steps_are_taken(self):
        trial, seen = self.trial(steps=4, warmup=1), []
        for epoch in trial.epochs(1):
            seen += [(epoch, batch) for batch in trial.steps([1, 2])]
        self.assertEqual(seen, [(0, 1), (0, 2), (1, 1), (1, 2), (2, 1)])
        with self.assertRaisesRegex(RuntimeError, "an epoch without a step"):
            list(self.trial(steps=4).epochs(1))

    def test_a_loader_that_ends_for_good_is_an_error(self):
        with self.assertRaisesRegex(RuntimeError, r"no more batches after 2, and the trial asks for 5 steps, 1 of them"):
            list(self.trial(steps=4, warmup=1).steps(iter([1, 2])))

    def test_a_loop_of_others_marks_its_steps(self):
        trial = self.trial(steps=3, warmup=0)
        self.assertEqual([trial.step() for _ in range(6)], [False, False, False, True, True, True])
        self.assertEqual(len(self.rows(trial)[-1]["step_times"]), 3)

    def test_a_loop_of_others_that_ends_early_has_no_times(self):
        trial, said = self.trial(steps=3, warmup=2), io.StringIO()
        for _ in range(4):
            self.assertFalse(trial.step())
        trial.metric(loss=1)
        with contextlib.redirect_stderr(said):
            self.assertEqual(self.rows(trial)[-1], {"expc": ["loss"]})
        self.assertIn("the loop ended after 4 steps, and the trial asks for 5, 2 of them to warm up", said.getvalue())

    def test_values_are_reported_in_the_order_of_their_calls(self):
        trial = self.trial()
        trial.metric(loss=1, accuracy=None)
        trial.metric(loss=float("nan"))
        trial.metric(step_time=2)
        rows = self.rows(trial)
        self.assertEqual(rows[0], {"loss": 1, "accuracy": None})
        self.assertEqual(str(rows[1]), "{'loss': nan}")
        self.assertEqual(rows[-1], {"expc": ["accuracy", "loss", "step_time"]})

    def test_a_rank_other_than_0_reports_its_last_values(self):
        for rank in ("0", "1"):
            os.environ |= {"RANK": rank, "WORLD_SIZE": "2"}
            trial = self.trial(steps=2)
            for number in trial.steps([1]):
                trial.metric(loss=trial._taken, none=None, on_gpu=Number(4))
            trial.close()
        self.addCleanup(os.environ.pop, "RANK")
        self.addCleanup(os.environ.pop, "WORLD_SIZE")
        last = json.loads(self.report.read_text().splitlines()[-1])
        other = json.loads(self.report.with_name("expc-trial.1.jsonl").read_text())
        for values in (last["expc_last"], other):
            self.assertEqual((values["loss"], values["none"], values["on_gpu"]), (2, None, 4))
            self.assertEqual(len(values["step_times"]), 2)

    def test_mistakes_are_named(self):
        trial = self.trial(steps=2, parameters={"width": 3})
        for value in ("low", [1, 2]):
            with self.assertRaisesRegex(TypeError, r"t\.metric\(loss=…\) takes a number, .* and got "):
                trial.metric(loss=value)
        with self.assertRaisesRegex(AttributeError, "no parameter 'widht' .* did you mean 'width'"):
            trial.parameters.widht
        for settings in ({"steps": 2}, {"epochs": 2}):
            with self.assertRaisesRegex(RuntimeError, "the loader that t.steps.. got has no batch"):
                list(self.trial(**settings).steps([]))

    def test_nothing_waits_for_a_gpu_before_the_end(self):
        sys.modules["torch"] = fake_torch()
        self.addCleanup(sys.modules.pop, "torch")
        for name in ("_MOST_TENSORS", "_MOST_EVENTS"):
            self.addCleanup(setattr, expc, name, getattr(expc, name))
            setattr(expc, name, 4)
        Tensor.waits = Event.waits = 0
        trial = self.trial(steps=20, warmup=1)
        for number in trial.steps(range(100)):
            trial.metric(loss=Tensor([number]))
        self.assertEqual((Tensor.waits, Event.waits), (0, 0))
        rows = self.rows(trial)
        self.assertEqual([row["loss"] for row in rows[:-1]], list(range(21)))
        self.assertEqual([round(time, 6) for time in rows[-1]["step_times"]], [0.01] * 20)
        self.assertEqual((rows[-1]["device_memory_allocated_peak"], rows[-1]["device_memory_peak"]), (100, 200))
        self.assertEqual((Tensor.waits, Event.waits), (6, 1))


if __name__ == "__main__":
    unittest.main()
