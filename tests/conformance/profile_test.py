#!/usr/bin/env python3
"""What a profile trial must give on the CPU: every metric that is declared, measured where it makes sense and null elsewhere, never
zero; a breakdown whose parts do not exceed the whole; traces that can be read and never touch what is measured.

usage: profile_test.py EXPC_WORKER [TEST...]
"""
import json
import pathlib
import re
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import ranks  # noqa: E402

WORKER = ""
STEPS = 4
ON_CPU = {"profiled_time", "load_time", "forward_time", "backward_time", "all_reduce_time", "optimizer_time"}


def declared():
    """The profile metrics of stdlib/profiler.exp."""
    text = (ranks.ROOT / "stdlib" / "profiler.exp").read_text()
    return set(re.findall(r"^\s*metric (\w+) :.*\bprofile\b", text, re.M))


def specification(count, **parameters):
    values = {"batch": 8, "width": 0.25, "size": 32, **parameters}
    return ranks.specification("profile", count, {"steps": STEPS, "warmup": 1}, **values)


class Profiles(unittest.TestCase):
    def check(self, count, measured=ON_CPU, **parameters):
        event = ranks.result(WORKER, specification(count, **parameters))
        metrics, series = event["metrics"], event["series"]
        self.assertEqual(set(metrics), declared())
        self.assertEqual({name for name, value in metrics.items() if value is not None}, measured)
        for name in measured:
            self.assertGreater(metrics[name], 0, name)
        self.assertEqual(event["notes"], [])
        self.assertEqual(event["environment"]["ranks"], count)

        wall, steps = series["profile.total"][:2]
        self.assertEqual(steps, STEPS)
        self.assertLessEqual(wall, metrics["profiled_time"] * 1.0001)  # a mean and a largest one
        views = {}
        for name, values in series.items():
            if not name.startswith("profile.") or name == "profile.total":
                continue
            seconds, times, _ = values
            view, category = name.split(".", 2)[1:]
            views.setdefault(view, {})[category] = (seconds, times)
            self.assertGreaterEqual(seconds, 0, name)
        reduces = "all_reduce_time" in measured
        self.assertEqual(set(views), {"step", "operator"} | ({"beside"} if reduces else set()))
        for view in ("step", "operator"):
            self.assertLessEqual(sum(seconds for seconds, _ in views[view].values()), wall * 1.0001, view)
        for phase in views["step"]:
            self.assertEqual(views["step"][phase][1], STEPS, phase)
        if reduces:
            self.assertGreaterEqual(views["beside"]["all_reduce"][1], STEPS)
        self.assertIn("aten::mkldnn_convolution", views["operator"])
        # The default kernels are fused ones of ours, which torch knows no operators of: they name themselves.
        for direction in ("forward", "backward"):
            self.assertTrue([name for name in views["operator"] if name.startswith(f"{direction} of expc::kernels::")], direction)
        self.assertGreater(sum(seconds for name, (seconds, _) in views["operator"].items() if "backward" in name.lower()), 0)
        return views

    def test_one_rank(self):
        self.check(1, ON_CPU - {"all_reduce_time"})  # it has nobody to share gradients with

    def test_two_ranks(self):
        self.check(2)

    def test_only_what_was_asked_for(self):
        spec = dict(specification(1), metrics=["forward_time", "launch_time"])
        event = ranks.result(WORKER, spec)
        self.assertEqual(set(event["metrics"]), {"forward_time", "launch_time"})
        self.assertIsNone(event["metrics"]["launch_time"])
        self.assertIn("profile.total", event["series"])

    def test_training_is_the_same_under_a_profile(self):
        timed = ranks.specification("timed", 1, {"steps": STEPS, "warmup": 1}, batch=8, width=0.25, size=32)
        self.assertEqual(ranks.result(WORKER, specification(1))["series"]["loss"], ranks.result(WORKER, timed)["series"]["loss"])


class Traces(unittest.TestCase):
    def test_a_trace_of_each_rank_with_our_ranges(self):
        with tempfile.TemporaryDirectory() as folder:
            event = ranks.result(WORKER, specification(2), environment={"EXPC_TRACE": f"{folder}/point.trial1"})
            self.assertEqual(event["series"]["profile.total"][1], STEPS)  # traced steps are not among them
            self.assertEqual(event["notes"], [])
            files = sorted(path.name for path in pathlib.Path(folder).iterdir())
            self.assertEqual(files, ["point.trial1.rank0.json", "point.trial1.rank1.json"])
            for file in files:
                events = json.loads((pathlib.Path(folder) / file).read_text())["traceEvents"]
                names = [entry.get("name") for entry in events if entry.get("ph") == "X"]
                for phase in ("step", "load", "forward", "backward", "optimizer"):
                    self.assertEqual(names.count(f"expc:{phase}"), 3, phase)
                self.assertIn("aten::mkldnn_convolution", names)
                self.assertIn("gloo:all_reduce", names)
                spans = {entry["name"]: entry for entry in events if entry.get("ph") == "X"}
                self.assertGreater(spans["expc:step"]["dur"], spans["expc:forward"]["dur"])

    def test_a_trace_that_cannot_be_written_is_a_note(self):
        event = ranks.result(WORKER, specification(1), environment={"EXPC_TRACE": "/nonexistent/trace"})
        self.assertEqual(len(event["notes"]), 1)
        self.assertRegex(event["notes"][0], r"the trace /nonexistent/trace.rank0.json: No such file or directory \(--trace")
        self.assertGreater(event["metrics"]["profiled_time"], 0)

    def test_a_full_disk_is_named_and_nothing_half_written_stays(self):
        with tempfile.TemporaryDirectory() as folder:
            # Kineto writes beside the trace and renames: a link to a device that is always full stands there.
            (pathlib.Path(folder) / "trace.rank0.json.tmp").symlink_to("/dev/full")
            event = ranks.result(WORKER, specification(1), environment={"EXPC_TRACE": f"{folder}/trace"})
            self.assertEqual(event["notes"], [f"the trace {folder}/trace.rank0.json: No space left on device (--trace names its folder)"])
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])
            self.assertEqual(event["series"]["profile.total"][1], STEPS)

    def test_timed_trials_are_never_traced(self):
        with tempfile.TemporaryDirectory() as folder:
            spec = ranks.specification("timed", 1, {"steps": 1, "warmup": 0}, batch=8, width=0.25)
            ranks.result(WORKER, spec, environment={"EXPC_TRACE": f"{folder}/trace"})
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])


if __name__ == "__main__":
    WORKER = sys.argv.pop(1)
    unittest.main(verbosity=2)
