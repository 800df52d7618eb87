#!/usr/bin/env python3
"""Checkpoints, initial weights and repeatability on the real worker: a trial that is killed goes on to the same losses, bit for bit.

usage: checkpoint_test.py EXPC_WORKER [TEST...]
"""
import json
import os
import pathlib
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import ranks  # noqa: E402

WORKER = ""
EPOCHS = 6
TORCHVISION = ranks.ROOT / "tests" / "parity" / "golden" / "mobilenetv2" / "model_w025.safetensors"


def make(count=1, folder=None, **parameters):
    values = {"data": {"synthetic": [72]}, "width": 0.25, "batch": 8, "size": 32, "learning_rate": 0.02, "schedule": "cosine",
              "warmup_epochs": 0.5, "workers": 1}
    values.update(parameters)
    if folder:
        values["checkpoints"] = {"folder": [str(folder)]}
    return ranks.specification("quality", count, {"epochs": EPOCHS}, **values)


def only(folder):
    """The one trial's folder in a folder of checkpoints."""
    (found,) = pathlib.Path(folder).iterdir()
    return found


def epochs_in(folder):
    return sorted(p.name for p in pathlib.Path(folder).glob("*/epoch-??????"))


def read_safetensors(path):
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + length])
    return {name: (e["dtype"], e["shape"], content[8 + length + e["data_offsets"][0]:8 + length + e["data_offsets"][1]])
            for name, e in header.items() if name != "__metadata__"}


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="expc-checkpoint-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def refused(self, spec, *reasons, worker=None):
        outcome = ranks.run(worker or WORKER, spec, launcher=worker is not None)
        event = outcome[0].last()
        self.assertEqual(event.get("event"), "failed", f"{event} {outcome[0].log}")
        self.assertNotEqual(outcome[0].code, 0)
        for reason in reasons:
            self.assertIn(reason, event["reason"])

    def kill_after(self, epoch, spec, folder, victims=None):
        """Starts the trial and kills its ranks once the checkpoint of an epoch is there. Whether it was killed before its end."""
        def watch(processes):
            deadline = time.monotonic() + 100
            while time.monotonic() < deadline and all(p.poll() is None for p in processes):
                if any(name >= f"epoch-{epoch:06}" for name in epochs_in(folder)):
                    break
                time.sleep(0.001)
            for number in victims or range(len(processes)):
                processes[number].send_signal(signal.SIGKILL)
        outcome = ranks.run(WORKER, spec, while_running=watch)
        return outcome[0].last().get("event") != "result"

    def killed(self, spec, epochs, **options):
        """A trial killed after each of these epochs, one life after the other."""
        folder = pathlib.Path(spec["parameters"]["checkpoints"]["folder"][0])
        for _ in range(5):  # on a busy machine the trial may have ended before it is killed
            if all(self.kill_after(epoch, spec, folder, **options) for epoch in epochs) and epochs_in(folder):
                return
            shutil.rmtree(folder)
        self.fail("could not kill the trial in time")


class Resume(Case):
    def check(self, count, epochs=(2,), victims=None, **parameters):
        whole = ranks.result(WORKER, make(count, **parameters))
        spec = make(count, self.folder, **parameters)
        self.killed(spec, epochs, victims=victims)
        event = ranks.result(WORKER, spec)
        self.assertRegex(event["notes"][0], rf"continued after epoch \d of {EPOCHS} from {self.folder}/.*/epoch-")
        self.assertEqual(event["series"]["loss"], whole["series"]["loss"])
        self.assertEqual(event["series"]["accuracy_curve"], whole["series"]["accuracy_curve"])
        for metric in ("accuracy", "train_accuracy", "final_loss"):
            self.assertEqual(event["metrics"][metric], whole["metrics"][metric])
        # What is left is the model, and a repeated trial begins anew.
        trial = only(self.folder)
        self.assertEqual([p.name for p in trial.iterdir()], ["model.safetensors"])
        self.assertEqual(event["notes"][1], f"the trained weights: {trial}/model.safetensors")
        return spec, event

    def test_one_rank_killed_twice(self):
        spec, event = self.check(1, (2, 4), layout="nhwc")
        again = ranks.result(WORKER, spec)
        self.assertEqual(len(again["notes"]), 1)
        self.assertEqual(again["series"]["loss"], event["series"]["loss"])

    def test_two_ranks_of_which_one_dies(self):
        self.check(2, victims=[1], precision="bf16", optimizer="adam", learning_rate=0.001)

    def test_three_ranks_whose_sums_depend_on_the_buckets(self):
        self.check(3, batch=4, learning_rate=0.002)


class Damage(Case):
    def setUp(self):
        super().setUp()
        self.spec = make(1, self.folder)
        self.killed(self.spec, (2,))
        self.trial = only(self.folder)
        self.newest = self.trial / epochs_in(self.folder)[-1]

    def test_what_is_damaged_or_of_another_trial_is_refused_with_the_way_out(self):
        model = self.newest / "model.safetensors"
        whole = model.read_bytes()
        model.write_bytes(whole[:-100])
        self.refused(self.spec, "the checkpoint is damaged", str(model), f"Remove {self.newest}")
        model.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        self.refused(self.spec, f"{model} differs from its digest")
        model.write_bytes(whole)
        other = make(1, self.folder, learning_rate=0.03)
        # As another trial's, under this one's name.
        ranks_folder = self.folder / "elsewhere"
        self.killed(make(1, ranks_folder, learning_rate=0.03), (1,))
        theirs = only(ranks_folder).name
        shutil.rmtree(ranks_folder)
        shutil.move(self.trial, self.folder / theirs)
        self.refused(other, "was written by another trial (parameter learning_rate 0.02 there, 0.03 here)", "Remove it")

    def test_a_full_disk_fails_the_trial_and_leaves_the_checkpoint(self):
        wrapper = self.folder.parent / f"{self.folder.name}.sh"
        wrapper.write_text(f"#!/bin/sh\ntrap '' XFSZ\nulimit -f 200\nexec {WORKER} \"$@\"\n")
        wrapper.chmod(0o755)
        self.addCleanup(wrapper.unlink)
        before = sorted((p.name, p.read_bytes()) for p in self.newest.iterdir())
        number = int(self.newest.name[-6:])
        self.refused(self.spec, f"cannot write the checkpoint after epoch {number + 1}", "File too large",
                     f"the one after epoch {number} is intact", worker=str(wrapper))
        self.assertEqual(before, sorted((p.name, p.read_bytes()) for p in self.newest.iterdir()))
        self.assertEqual([p.name for p in self.trial.iterdir()], [self.newest.name])
        event = ranks.result(WORKER, self.spec)
        self.assertEqual(event["series"]["loss"], ranks.result(WORKER, make())["series"]["loss"])


class Weights(Case):
    def timed(self, **parameters):
        values = {"width": 0.25, "batch": 16, "learning_rate": 0.0}
        values.update(parameters)
        return ranks.specification("timed", 1, {"steps": 15, "warmup": 0}, **values)

    def loss(self, **parameters):
        """Of weights that stay as they are: the median over batches, since one of them says little."""
        return statistics.median(ranks.result(WORKER, self.timed(data={"synthetic": [640]}, **parameters))["series"]["loss"])

    def test_torchvisions_weights_load_and_trained_ones_go_on(self):
        spec = make(1, self.folder, data={"synthetic": [640]}, batch=32)
        spec["settings"]["epochs"] = 3
        trained = ranks.result(WORKER, spec)
        path = only(self.folder) / "model.safetensors"
        fixture = read_safetensors(TORCHVISION)
        written = read_safetensors(path)
        self.assertEqual({n: t[:2] for n, t in written.items()}, {n: t[:2] for n, t in fixture.items()})
        loss = self.loss(initial_weights={"file": [str(path)]})
        self.assertLess(loss, (self.loss() + trained["metrics"]["final_loss"]) / 2)
        ranks.result(WORKER, self.timed(precision="fp64", initial_weights={"file": [str(TORCHVISION)]}))

    def test_weights_that_do_not_fit_are_listed(self):
        def given(path):
            return {"initial_weights": {"file": [str(path)]}}
        self.refused(self.timed(**given("none.safetensors")), "none.safetensors: No such file or directory")
        self.refused(self.timed(width=0.5, **given(TORCHVISION)), "with another shape: features.0.0.weight [8, 3, 3, 3] for [16, 3, 3, 3]",
                     "expected torchvision's mobilenet_v2 with width_mult 0.5")
        tensors = read_safetensors(TORCHVISION)
        file = self.folder / "w.safetensors"
        bias = tensors.pop("classifier.1.bias")
        tensors["head.bias"] = bias
        write_safetensors(file, tensors)
        self.refused(self.timed(**given(file)), "1 missing: classifier.1.bias; 1 not part of the model: head.bias")
        tensors = read_safetensors(TORCHVISION)
        tensors["classifier.1.weight"] = ("F32", [3, 1280], b"\0" * 4 * 3 * 1280)
        tensors["classifier.1.bias"] = ("F32", [3], b"\0" * 12)
        write_safetensors(file, tensors)
        self.refused(self.timed(**given(file)), "has 3 classes", "have 10")
        file.write_bytes(TORCHVISION.read_bytes()[:1000])
        self.refused(self.timed(**given(file)), str(file), "truncated")


class Repeatability(Case):
    def test_deterministic_trials_repeat_bit_for_bit_whatever_the_workers(self):
        def losses(count, **parameters):
            spec = ranks.specification("timed", count, {"steps": 4, "warmup": 0}, data={"synthetic": [128]}, width=0.25, batch=16,
                                       layout="nhwc", deterministic=True, **parameters)
            return ranks.result(WORKER, spec)["series"]["loss"]
        described = json.loads(subprocess.run([WORKER, "--describe"], check=True, capture_output=True, text=True).stdout)
        (workload,) = (w for w in described["workloads"] if w["name"] == "image.mobilenet_v2")
        built = {p["name"]: p.get("built") for p in workload["params"]}
        for count in (1, 2):
            first = losses(count, workers=0)
            self.assertEqual(len(first), 4)
            for workers, kind in ((0, "threads"), (2, "threads"), (2, "processes")):
                if count == 2 and workers == 0:
                    continue  # the next one shows as much
                if built["worker_kind"] is None or kind in built["worker_kind"]:
                    with self.subTest(ranks=count, workers=workers, kind=kind):
                        self.assertEqual(losses(count, workers=workers, worker_kind=kind), first)
            if built["loader"] is None or "native" in built["loader"]:
                with self.subTest(ranks=count, loader="native"):
                    self.assertEqual(losses(count, loader="native", workers=2), losses(count, loader="native", workers=1))


if __name__ == "__main__":
    WORKER = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
