#!/usr/bin/env python3
"""What every worker must do with a trial, on the real one: metrics of each kind and precision, repeatability, and how trials fail.

usage: worker_test.py EXPC_WORKER [TEST...]
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import ranks  # noqa: E402

WORKER = ""
TIMED = {"step_time", "images_per_s", "train_time", "epoch_time", "startup_time", "first_step_time", "load_wait_time", "load_wait_share",
         "host_memory_peak", "device_memory_peak", "device_memory_allocated_peak", "energy", "images_skipped", "epoch_pause_time"}
QUALITY = {"accuracy", "train_accuracy", "final_loss", "quality_train_time", "evaluation_time", "evaluation_pause_time", "total_time"}


class Metrics(unittest.TestCase):
    def check_timed(self, count, precision, launcher=False, **parameters):
        settings = {"steps": 4, "warmup": 2}
        spec = ranks.specification("timed", count, settings, batch=16, precision=precision, **parameters)
        event = ranks.result(WORKER, spec, launcher=launcher)
        metrics = event["metrics"]
        self.assertEqual(set(metrics), TIMED)
        self.assertIsNone(metrics["device_memory_peak"])  # not on the CPU
        self.assertIsNone(metrics["energy"])
        self.assertEqual(metrics["epoch_pause_time"] is not None, "data" in parameters)  # of 64 images six steps begin another epoch
        for name in TIMED - {"device_memory_peak", "device_memory_allocated_peak", "energy", "load_wait_share", "load_wait_time",
                             "images_skipped", "epoch_pause_time"}:
            self.assertGreater(metrics[name], 0, name)
        self.assertLessEqual(metrics["load_wait_share"], 1)
        self.assertAlmostEqual(metrics["images_per_s"] * metrics["train_time"], 4 * 16 * count, places=6)
        self.assertAlmostEqual(metrics["epoch_time"] * metrics["images_per_s"], 64 if "data" in parameters else 1437, places=6)
        steps = event["series"]["step_time"]
        self.assertEqual(len(steps), 4)
        self.assertLessEqual(sum(steps), metrics["train_time"] * 1.001)
        self.assertEqual(len(event["series"]["loss"]), 6)  # warm-up too
        self.assertEqual(event["environment"]["threads"], 1)
        self.assertEqual(event["environment"]["ranks"], count)
        return event

    def test_every_precision_and_rank_count(self):
        losses = {}
        for precision in ("fp64", "fp32", "bf16"):
            for count in (1, 2):
                with self.subTest(precision=precision, ranks=count):
                    losses[precision, count] = self.check_timed(count, precision, precision == "fp32")["series"]["loss"]
        # The same weights and images whatever the precision: the first losses differ by rounding only.
        for count in (1, 2):
            self.assertAlmostEqual(losses["fp64", count][0], losses["fp32", count][0], places=4)
            self.assertAlmostEqual(losses["fp64", count][0], losses["bf16", count][0], delta=0.1)
            self.assertNotEqual(losses["fp64", count][0], losses["bf16", count][0])

    def test_layouts_compute_the_same(self):
        # A small rate: each step multiplies the rounding of the last one.
        losses = {layout: self.check_timed(1, "fp64", layout=layout, learning_rate=0.0005)["series"]["loss"]
                  for layout in ("nchw", "nhwc")}
        for a, b in zip(losses["nchw"], losses["nhwc"]):
            self.assertAlmostEqual(a, b, places=6)

    def test_synthetic_data_and_no_loader_threads(self):
        self.check_timed(1, "fp32", data={"synthetic": [64]}, workers=0)

    def test_quality(self):
        spec = ranks.specification("quality", 2, {"epochs": 2}, size=16, width=0.25, optimizer="adam", learning_rate=0.003)
        event = ranks.result(WORKER, spec)
        self.assertEqual(set(event["metrics"]), QUALITY)
        self.assertEqual(len(event["series"]["accuracy_curve"]), 2)
        self.assertEqual(len(event["series"]["loss"]), 2 * 23)  # 719 images of each rank in batches of 32
        self.assertEqual(event["metrics"]["accuracy"], event["series"]["accuracy_curve"][-1])
        self.assertAlmostEqual(event["metrics"]["total_time"], event["metrics"]["quality_train_time"] + event["metrics"]["evaluation_time"])
        self.assertGreater(event["metrics"]["evaluation_time"], 0)
        last = event["series"]["loss"][23:]
        self.assertAlmostEqual(event["metrics"]["final_loss"], sum(last) / len(last))
        self.assertLess(last[-1], event["series"]["loss"][0])
        # A share of 360 test images.
        self.assertAlmostEqual(event["metrics"]["accuracy"] * 360, round(event["metrics"]["accuracy"] * 360))

    def test_only_what_was_asked_for(self):
        spec = ranks.specification("timed", 1, metrics=["step_time", "device_memory_peak"])
        self.assertEqual(set(ranks.result(WORKER, spec)["metrics"]), {"step_time", "device_memory_peak"})
        spec = ranks.specification("quality", 1, metrics=["accuracy", "accuracy_curve", "loss"], data={"synthetic": [64]})
        event = ranks.result(WORKER, spec)
        self.assertEqual(set(event["metrics"]), {"accuracy"})  # series stand beside them
        self.assertEqual(len(event["series"]["accuracy_curve"]), 1)

    def test_the_same_seed_gives_the_same_losses(self):
        for count in (1, 2):
            for precision in ("fp32", "bf16"):
                with self.subTest(ranks=count, precision=precision):
                    first, second, other = (
                        ranks.result(WORKER, ranks.specification("timed", count, {"steps": 5, "warmup": 0}, seed=seed, batch=8, precision=precision,
                                                                 workers=2))["series"]["loss"]
                        for seed in (11, 11, 12))
                    self.assertEqual(first, second)
                    self.assertNotEqual(first, other)


class Failures(unittest.TestCase):
    def refused(self, spec, reason, kind="failed", **options):
        outcome = ranks.run(WORKER, spec, **options)
        for rank in outcome:
            self.assertNotEqual(rank.code, 0)
        # As the engine does: a rank that only lost another one does not know why.
        told = next((rank for rank in outcome if not rank.last().get("lost")), outcome[0])
        self.assertEqual(told.last().get("event"), kind, told.log)
        self.assertRegex(told.last()["reason"], reason)
        return outcome

    def test_what_cannot_run_is_refused_with_the_way_out(self):
        make = ranks.specification
        for launcher in (False, True):
            self.refused(make(precision="fp16"), "fp16 needs a GPU.*use bf16", launcher=launcher)
        self.refused(make(precision="tf32"), "tf32 needs a GPU.*use fp32")
        self.refused(make(ranks=2, strategy="dp"), "dp drives all devices from one process: gpus is 2, but the launcher started 2 ranks")
        self.refused(make(precision="fp8"), "parameter precision is")
        self.refused(make(gpus=3), "parameter gpus is 3, but the launcher started 1")
        self.refused(make(gpus=1, global_batch=2000), "batch is 2000.*lower batch or gpus")
        self.refused(make(batch=2000), "batch is 2000.*lower batch or gpus")
        self.refused(make(settings={"warmup": 1}), "steps is not set")
        self.refused(dict(make(), workload="image.resnet"), "no workload image.resnet")
        self.refused(dict(make(), workload_version=99), "version 1 in this worker, but the plan needs version 99")
        self.refused(dict(make(), slots=[{"device": "cuda", "index": 0}]), "device is 'cuda', but this worker knows only: cpu")
        self.refused(make(metrics=["accuracy"]), "accuracy is not measured by timed trials")
        self.refused(make(metrics=["launch_time"]), "launch_time is not measured by timed trials")

    def test_data_that_is_missing_or_corrupt_names_the_file(self):
        self.refused(ranks.specification(data={"mnist": ["/nonexistent"]}), "/nonexistent")
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "digits"
            shutil.copytree(ranks.DIGITS, copy)
            file = copy / "train-images-idx3-ubyte"
            file.chmod(0o644)
            file.write_bytes(file.read_bytes()[:-5])
            # A relative path starts at the trial's root.
            outcome = ranks.run(WORKER, ranks.specification(ranks=2, root=folder, data={"mnist": ["digits"]}))
            reasons = [rank.last()["reason"] for rank in outcome]
            self.assertEqual([rank.last()["event"] for rank in outcome], ["failed", "failed"])
            # The rank that reads it first may leave while the other is still meeting it.
            self.assertTrue(any("train-images-idx3-ubyte" in reason for reason in reasons), reasons)
            for reason in reasons:
                self.assertRegex(reason, "train-images-idx3-ubyte|lost the others")

    def test_a_training_that_diverges_says_where(self):
        spec = ranks.specification("quality", 1, {"epochs": 1}, data={"synthetic": [320]}, learning_rate=1e6, momentum=0.99)
        said = ranks.run(WORKER, spec)[0].last()
        self.assertEqual(said.get("event"), "result", said)
        self.assertIn(said["series"]["loss"][-1], ("nan", "inf"))
        self.assertRegex("\n".join(said["notes"]), r"the loss of step \d+ is not finite; lower learning_rate")

    def test_memory_that_runs_out_is_infeasible(self):
        limited = ["bash", "-c", f'ulimit -v 3000000; exec "{WORKER}" "$@"', "worker"]
        spec = ranks.specification("timed", 1, {"steps": 1, "warmup": 0}, size=512, width=2, batch=64, precision="fp64", workers=0)
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(spec, file)
            file.flush()
            ended = subprocess.run([*limited, "--trial", file.name], capture_output=True, text=True, timeout=120)
        self.assertEqual(ended.returncode, 1, ended.stderr)
        last = json.loads(ended.stdout.splitlines()[-1])
        self.assertEqual(last["event"], "infeasible", last)
        self.assertIn("memory", last["reason"])

    def end_one_rank(self, how, environment, limit):
        def act(processes):
            # Both ranks are in their steps once rank 0 says so.
            for line in iter(processes[0].stdout.readline, ""):
                if '"steps"' in line:
                    break
            else:
                self.fail("rank 0 ended before its steps")
            processes[1].send_signal(how)
            self.when = time.monotonic()
            # What the other rank does must not depend on us: read it to its end, then free the stopped one.
            self.rest = processes[0].stdout.read()
            self.took = time.monotonic() - self.when
            processes[0].wait(timeout=30)
            processes[1].kill()

        spec = ranks.specification("timed", 2, {"steps": 100000, "warmup": 0})
        outcome = ranks.run(WORKER, spec, while_running=act, environment=environment)
        self.assertEqual(outcome[0].code, 1)
        last = json.loads(self.rest.splitlines()[-1])
        self.assertEqual(last["event"], "failed")
        self.assertRegex(last["reason"], "rank 0 of 2 lost the others")
        self.assertLess(self.took, limit)

    def test_a_rank_that_dies_ends_the_other(self):
        self.end_one_rank(signal.SIGKILL, {"EXPC_COMM_TIMEOUT_S": "60"}, 20)

    def test_a_rank_that_hangs_ends_the_other_after_the_timeout(self):
        self.end_one_rank(signal.SIGSTOP, {"EXPC_COMM_TIMEOUT_S": "12"}, 40)


class CommandLine(unittest.TestCase):
    def run_worker(self, *arguments, **options):
        return subprocess.run([WORKER, *arguments], capture_output=True, text=True, timeout=60, **options)

    def test_usage(self):
        self.assertEqual(self.run_worker("--help").returncode, 0)
        self.assertIn("--serve FD", self.run_worker("--help").stdout)
        for wrong in ((), ("--fly",), ("--trial",), ("--serve", "77"), ("--serve", "x")):
            ended = self.run_worker(*wrong)
            self.assertEqual(ended.returncode, 2, wrong)
            self.assertEqual(ended.stdout, "")

    def test_a_specification_that_is_none(self):
        for text in ("", "{", "[]", '{"v":99}'):
            ended = self.run_worker("--trial", "-", input=text)
            self.assertEqual(ended.returncode, 2)
            self.assertIn("expc-worker: -:", ended.stderr)

    def test_a_rank_alone_needs_no_variables(self):
        plain = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
        ended = self.run_worker("--trial", "-", input=json.dumps(ranks.specification("timed", 1)), env=plain)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(json.loads(ended.stdout.splitlines()[-1])["event"], "result")

    def test_it_starts_without_threads(self):
        """--serve forks, so nothing that is loaded may have started a thread."""
        import socket
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, theirs:
            server = subprocess.Popen([WORKER, "--serve", str(theirs.fileno())], pass_fds=[theirs.fileno()])
            theirs.close()
            try:
                ours.settimeout(30)
                self.assertEqual(json.loads(ours.recv(65536)).get("reply"), "ready")
                self.assertEqual(len(os.listdir(f"/proc/{server.pid}/task")), 1)
            finally:
                ours.close()
                self.assertEqual(server.wait(timeout=30), 0)


if __name__ == "__main__":
    WORKER = sys.argv.pop(1)
    unittest.main(verbosity=2)
