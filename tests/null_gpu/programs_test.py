#!/usr/bin/env python3
"""`expc null` on programs with torch: what it says of faults that need no GPU to be found (programs/), and whether it counts the memory of
clients as torch does (clients/).

usage: programs_test.py EXPC NULL_GPU_FOLDER PYTHON PROGRAMS_FOLDER TORCHTUNE_FOLDER [TEST...]

PYTHON has torch, and the folders what torch, transformers, peft, accelerate and Lightning need, and what torchtune needs besides
(tools/setup --tests).
"""
import collections
import csv
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RANKS = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


def environment(**variables):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NULLGPU_", "CUDA_", "RANK", "PYTORCH", "TORCH_", "HF_"))}
    return kept | {"EXPC_NULLGPU_FOLDER": FOLDER, "PYTHONPATH": PROGRAMS, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", **variables}


class Programs(unittest.TestCase):
    def null(self, cards, *words, fails=False, json_=False, **variables):
        """The exit code is 0 unless the program fails. Returns standard error in one line, or the JSON."""
        options = ["--format", "json"] if json_ else []
        done = subprocess.run([EXPC, "null", cards, *options, "--", PYTHON, *map(str, words)], env=environment(**variables),
                              capture_output=True, text=True, timeout=800)
        self.assertEqual(done.returncode != 0, fails, done.stdout + done.stderr)
        return json.loads(done.stdout) | {"said": done.stderr} if json_ else " ".join((done.stdout + done.stderr).split())


class Faults(Programs):
    """Each program of programs/ has one fault; docs/null-gpu.md has the table."""

    def test_a_collective_that_one_rank_omits_names_both_calls(self):
        said = self.null("2x4GiB", *RANKS, HERE / "programs/omitted_collective.py", fails=True, TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC="100")
        self.assertRegex(said, "rank 0 calls AllReduce of 1 x float32 .sum., rank 1 calls Broadcast of 3 x int32 from rank 0; all ranks must call the same")

    def test_a_buffer_that_is_reused_too_early_names_both_places(self):
        said = self.null("1x4GiB", HERE / "programs/early_reuse.py", fails=True)
        self.assertIn("nullgpu:", said)
        self.assertIn("page-locked", said)

    def test_a_missing_wait_is_a_data_race_for_torchs_sanitizer(self):
        said = self.null("1x4GiB", HERE / "programs/missing_wait.py", fails=True, TORCH_CUDA_SANITIZER="1")
        self.assertIn("possible data race", said)
        self.assertIn("missing_wait.py", said)

    def test_a_card_that_two_ranks_use_is_named(self):
        said = self.null("2x4GiB", *RANKS, HERE / "programs/wrong_card.py")
        self.assertIn("card 0: rank 0 and rank 1 all keep memory on it", said)
        self.assertIn("tensors include workspace of cuBLAS: 32 MiB a thread", said)
        self.assertNotIn("card 1: rank", said)

    def test_memory_that_grows_with_every_step_is_told(self):
        self.assertIn("memory grew until the end", self.null("1x8GiB", HERE / "programs/growing_memory.py"))

    def test_a_wait_in_every_step_has_its_line_and_no_memory_that_grows(self):
        said = self.null("1x4GiB", HERE / "programs/item_each_step.py")
        waits = re.search(r"item_each_step\.py:8 (\d+) ", said)
        self.assertTrue(waits and int(waits[1]) >= 20, said)
        self.assertNotIn("memory grew", said)

    def test_out_of_memory_has_owners(self):
        process, = self.null("1x1GiB", HERE / "programs/out_of_memory.py", fails=True, json_=True)["processes"]
        told = process["cards"][0]["out_of_memory"]
        weights = 8 * (1024 * 1024 + 1024) * 4
        self.assertEqual(told["parameters_bytes"], weights)
        self.assertEqual(told["gradients_bytes"], weights)
        self.assertGreaterEqual(told["optimizer_bytes"], 2 * weights)
        self.assertGreater(told["activations_bytes"], 0)


class Clients(Programs):
    """Programs of users over unmodified libraries; each rank prints torch's own peaks of its card.

    DDP and FSDP2 run on four cards. The others run on two, or on CLIENT_CARDS. All but torchtune's, which `tune run` starts by torchrun, are forks of
    one process (clients/forked.py), since a rank imports for seconds."""

    cards = int(os.environ.get("CLIENT_CARDS", 2))

    def peaks(self, ranks, *words, **variables):
        """The peaks that `ranks` ranks print are those that expc has."""
        with tempfile.TemporaryDirectory() as folder:
            told = self.null(f"{max(4, self.cards)}x80GiB", *words, json_=True, TMPDIR=folder, **variables)
        # A progress bar of another rank may stand before them in the same line.
        said = [tuple(map(int, numbers)) for numbers in re.findall(r"peaks (\d+) (\d+) (\d+)$", told["said"], re.M)]
        found = [(each["card"], each["torch"]["allocated_bytes"], each["torch"]["reserved_bytes"])
                 for process in told["processes"] for each in process["cards"] if "torch" in each and each["torch"]["allocated_bytes"]]
        self.assertEqual(len(said), ranks, told["said"][-3000:])
        self.assertEqual(sorted(said), sorted(found))

    def test_torch_transformers_peft_accelerate_and_lightning(self):
        ranks = {"ddp": 4, "fsdp2": 4, "trainer": self.cards, "accelerated": self.cards, "lit": self.cards, "objects": self.cards}
        self.peaks(sum(ranks.values()), HERE / "clients/forked.py", *itertools.chain(*ranks.items()))

    def test_torchtune(self):
        self.peaks(self.cards, HERE / "clients/tuned.py", self.cards, PYTHONPATH=f"{TORCHTUNE}:{PROGRAMS}")


class ClientsOnCpu(Programs):
    def study(self, folder, verb, study, *words, passed=(), **variables):
        """Returns what expc says of a study in the folder, whose trials run on this machine's processors.

        The wheel of torch is that for CUDA, whose libraries it needs to be imported, hence LD_LIBRARY_PATH."""
        given = environment(LD_LIBRARY_PATH=FOLDER, PATH=f"{pathlib.Path(PYTHON).parent}:{os.environ['PATH']}", EXPC_DEVICE_LOCKS="none", **variables)
        if verb == "run":
            words += ("--heat-up", "0", "--quiet", *(word for name in ("PYTHONPATH", "LD_LIBRARY_PATH", *passed) for word in ("--pass-env", name)))
        done = subprocess.run([EXPC, verb, study, *words], env=given, cwd=folder, capture_output=True, text=True, timeout=1500)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def measure(self, study, clients, packages, *files):
        """Measures points of a study. Returns the rows of its series."""
        with tempfile.TemporaryDirectory() as folder:
            for file in [*(HERE / "clients").iterdir(), *files]:
                if file.is_file():
                    shutil.copy(file, folder)
            said = lambda verb, *words: self.study(folder, verb, study, "--devices", "cpu:1", "-D", f"client={{{clients}}}", *words,
                                                   PYTHONPATH=packages, TMPDIR=folder)
            self.assertNotIn("failed", said("run"))
            return list(csv.DictReader(said("export", "--table", "series").splitlines()))

    def test_a_study_measures_them_on_the_cpu(self):
        """The libraries of the other clients run in the next test."""
        self.measure("clients.exp", "ddp, fsdp2", PROGRAMS)

    def test_the_lines_that_the_docs_show(self):
        page = ROOT / "docs/your-own-program.md"
        rows = [*self.measure("shown.exp", "accelerate, lightning, trainer", PROGRAMS, page),
                *self.measure("shown.exp", "torchtune", f"{TORCHTUNE}:{PROGRAMS}", page)]
        counts = collections.Counter((row["factor_client"], row["series"]) for row in rows)
        for client in re.findall(r"^```python steps_(\w+)\.py$", page.read_text(), re.M):
            self.assertEqual((counts[client, "loss"], counts[client, "step_times"]), (6, 4), counts)  # two steps of six warm up

    def test_two_torchruns_at_once_do_not_meet(self):
        """Each torchrun waits for the other one before its ranks start work, so both stores are up at once."""
        with tempfile.TemporaryDirectory() as folder:
            for file in ("pair.exp", "pair.py"):
                shutil.copy(HERE / "clients" / file, folder)
            self.study(folder, "run", "pair.exp", "--devices", "cpu:2", "--jobs", "2", "--fail-fast", passed=["MEET"], MEET=folder)
            ports = pathlib.Path(folder, "ports").read_text().split()
            self.assertGreaterEqual(len(ports), 2)  # more if a trial was disturbed
            self.assertEqual(len(ports), len(set(ports)))


if __name__ == "__main__":
    EXPC, FOLDER, PYTHON, PROGRAMS, TORCHTUNE = (str(pathlib.Path(sys.argv.pop(1)).absolute()) for _ in range(5))
    for needed in (PROGRAMS, TORCHTUNE):
        if not pathlib.Path(needed).is_dir():
            sys.exit(f"{needed} is missing: run tools/setup --tests")
    unittest.main()
