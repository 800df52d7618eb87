#!/usr/bin/env python3
"""What goes wrong on cards, on demand, and how a trial ends that it happens to: the outcomes that docs/layers/worker.md promises.

usage: faults_test.py EXPC_WORKER_CUDA NULL_GPU_FOLDER [TEST...]
"""
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import null_gpu  # noqa: E402
import ranks  # noqa: E402
import tiny_llama  # noqa: E402

TIMEOUT_S = 5   # for the others
SLACK_S = 60    # of a machine that other tests use, too; torch by itself would take 300 more
KINDS = {"timed": {"steps": 4, "warmup": 1}, "profile": {"steps": 3, "warmup": 1}, "quality": {"epochs": 1}}


def setUpModule():
    global SERVER, SAID, MODEL
    SERVER, SAID = unittest.enterModuleContext(null_gpu.server(WORKER, FOLDER))
    MODEL = tiny_llama.write(pathlib.Path(unittest.enterModuleContext(tempfile.TemporaryDirectory())) / "model")


def image(kind="timed", count=1, **parameters):
    values = {"data": {"synthetic": [64]}, "size": 28, "width": 0.25, "batch": 4, **parameters}
    return null_gpu.on_cards(ranks.specification(kind, count, KINDS[kind], **values),
                             count if parameters.get("strategy") == "dp" else None)


def llm(kind="timed", count=1, **parameters):
    values = {"model": {"folder": [str(MODEL)]}, "data": {"synthetic": [48]}, "template": "grammar", "max_length": 32, "batch": 2,
              "group_size": 64, "gpus": count, **parameters}
    spec = null_gpu.on_cards(ranks.specification(kind, count, KINDS[kind]))
    return dict(spec, workload="llm.finetune", parameters=values)


class Faults(unittest.TestCase):
    def ended(self, spec, faults, environment=None, within=120):
        """The last event of each rank and what its process left."""
        variables = {"NULLGPU_FAULTS": faults, "EXPC_COMM_TIMEOUT_S": str(TIMEOUT_S), **(environment or {})}
        start = time.monotonic()
        outcome = SERVER.outcome(spec, [SERVER.log] * spec["world_size"], within, variables)
        self.seconds, self.said = time.monotonic() - start, SAID()
        events = []
        for code, text in outcome:
            lines = text.decode(errors="replace").splitlines()
            events.append(json.loads(lines[-1]) if lines else {})
            self.assertIn(code, (0, 1), f"a rank did not end by itself: {outcome}\n{self.said[-3000:]}")
        return events

    def check(self, spec, faults, kind, reason, rank=0, **options):
        events = self.ended(spec, faults, **options)
        self.assertEqual(events[rank].get("event"), kind, f"{events}\n{self.said[-3000:]}")
        self.assertRegex(events[rank]["reason"], reason)
        return events

    def every_workload(self, **options):
        for kind in KINDS:
            yield f"image {kind}", image(kind, **options)
            yield f"llm {kind}", llm(kind, **options)

    def test_memory_of_the_card_that_runs_out_is_infeasible(self):
        for name, spec in self.every_workload():
            for faults in ("memory=1MiB", "allocation=3"):
                with self.subTest(name, faults=faults):
                    self.check(spec, faults, "infeasible", "out of memory")

    def test_a_library_without_memory_for_its_workspace_is_infeasible(self):
        self.check(image(), "cudnn", "infeasible", "out of memory.*CUDNN_STATUS")
        self.check(llm(), "cublas", "infeasible", "out of memory.*CUBLAS_STATUS_ALLOC_FAILED")

    def test_an_error_that_sticks_fails_the_trial_with_its_name(self):
        for name, spec in self.every_workload():
            with self.subTest(name):
                self.check(spec, "launch=300" if "image" in name else "launch=60", "failed", "illegal memory access")

    def test_a_card_that_falls_off_fails_the_trial(self):
        for name, spec in self.every_workload():
            with self.subTest(name):
                self.check(spec, "lost=200" if "image" in name else "lost=60", "failed", "CUDA error|lost")

    def test_one_process_with_several_cards_fails_as_well(self):
        self.check(image(count=2, strategy="dp"), "launch=300", "failed", "illegal memory access")
        self.check(image(count=2, strategy="dp"), "memory=1MiB", "infeasible", "out of memory")

    def test_a_copying_stream_does_not_keep_a_failed_trial(self):
        spec = image(loader="native", layout="nhwc", pin_memory=True)
        self.check(spec, "launch=200", "failed", "illegal memory access")

    def test_a_collective_that_never_ends_is_said_within_the_timeout(self):
        for name, spec in self.every_workload(count=2):
            with self.subTest(name):
                events = self.ended(spec, "collective=6, rank=1")
                self.assertEqual({event.get("event") for event in events}, {"failed"}, self.said[-3000:])
                self.assertTrue(any("lost the others" in event["reason"] for event in events), events)
                self.assertLess(self.seconds, TIMEOUT_S + SLACK_S)

    def test_an_asynchronous_error_of_the_communicator_is_said(self):
        for name, spec in self.every_workload(count=2):
            with self.subTest(name):
                events = self.ended(spec, "communicator=4, rank=0")
                self.assertEqual({event.get("event") for event in events}, {"failed"}, self.said[-3000:])
                self.assertTrue(any("lost the others" in event["reason"] for event in events), events)

    def test_another_tool_that_has_cupti_leaves_the_metrics_out_and_says_so(self):
        for name, spec in (("image", image("profile")), ("llm", llm("profile"))):
            with self.subTest(name):
                event, = self.ended(spec, "cupti")
                self.assertEqual(event.get("event"), "result", event)
                self.assertIsNone(event["metrics"]["launch_time"])
                self.assertTrue([note for note in event["notes"] if "uses CUPTI" in note], event["notes"])


class OtherRanks(unittest.TestCase):
    """A rank that is killed, or stopped, in the middle of its steps."""

    def interrupt(self, spec, number):
        """What rank 0 said after rank 1 got the signal, and how long that took."""
        def at_work(processes):
            deadline = time.monotonic() + 60
            while processes[1].poll() is None and time.monotonic() < deadline:
                if pathlib.Path(f"/proc/{processes[1].pid}/status").exists() and self.trains(processes[1].pid):
                    break
                time.sleep(0.05)
            time.sleep(0.5)
            processes[1].send_signal(number)
            self.start = time.monotonic()
            processes[0].wait(timeout=TIMEOUT_S + SLACK_S)
            self.seconds = time.monotonic() - self.start
            processes[1].kill()
        spec = dict(spec, settings={"steps": 20000, "warmup": 0})
        environment = dict(null_gpu.environment(FOLDER), EXPC_COMM_TIMEOUT_S=str(TIMEOUT_S), CUDA_VISIBLE_DEVICES="0,1")
        first, _ = ranks.run(WORKER, spec, environment=environment, while_running=at_work)
        return first

    def trains(self, pid):
        """Threads of NCCL's process group are there after the first collective."""
        names = [path.read_text().strip() for path in pathlib.Path(f"/proc/{pid}/task").glob("*/comm")]
        return any(name.startswith(("pt_nccl", "nullgpu")) for name in names)

    def test_the_others_say_so_within_the_timeout(self):
        for number in (signal.SIGKILL, signal.SIGSTOP):
            for name, spec in (("image", image(count=2)), ("llm fsdp", llm(count=2, sharding="fsdp"))):
                with self.subTest(name, signal=number):
                    first = self.interrupt(spec, number)
                    self.assertEqual(first.code, 1, first.log[-3000:])
                    self.assertIn("lost the others", first.last().get("reason", ""), first.log[-3000:])
                    self.assertLess(self.seconds, TIMEOUT_S + SLACK_S)


class Machines(unittest.TestCase):
    def test_the_worker_says_what_it_was_built_for_without_any_cuda_library_of_the_machine(self):
        environment = {"PATH": "/usr/bin:/bin", **null_gpu.environment(FOLDER)}
        told = subprocess.run([WORKER, "--describe"], env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertIn('"cuda"', told.stdout)
        loaded = subprocess.run(["ldd", WORKER], env=environment, capture_output=True, text=True, timeout=60).stdout
        self.assertNotIn("not found", loaded)
        self.assertNotIn("/usr/local", loaded)

    def test_dali_is_refused_on_null_cards_before_it_looks_for_a_driver(self):
        event = SERVER.run(image(loader="dali"))[0]
        self.assertEqual(event["event"], "failed")
        self.assertIn("loader dali needs a real GPU", event["reason"])

    def test_a_card_that_is_not_there_is_said(self):
        spec = image()
        spec["slots"][0].update(uuid=null_gpu.uuid(9), index=9)
        event = SERVER.run(spec)[0]
        self.assertEqual(event["event"], "failed")
        self.assertRegex(event["reason"], "needs CUDA device|CUDA does not start")


class Checkpoints(unittest.TestCase):
    def test_a_trial_goes_on_from_its_last_epoch(self):
        for name, make in (("image", image), ("llm ddp", llm), ("llm fsdp", lambda *a, **k: llm(*a, sharding="fsdp", **k))):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                spec = make("quality", 2, checkpoints={"folder": [folder]})
                spec["settings"] = {"epochs": 2}
                first = SERVER.run(spec)[0]
                self.assertEqual(first.get("event"), "result", f"{first}\n{SAID()[-3000:]}")
                spec["settings"] = {"epochs": 2}
                again = SERVER.run(spec)[0]
                self.assertEqual(again.get("event"), "result", f"{again}\n{SAID()[-3000:]}")
                self.assertTrue(list(pathlib.Path(folder).glob("**/*.safetensors")))


if __name__ == "__main__":
    WORKER, FOLDER = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main(verbosity=2)
