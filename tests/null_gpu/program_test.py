#!/usr/bin/env python3
"""`expc null`: any program on null cards. The programs here are Python that calls the runtime by ctypes, so no torch is needed.

usage: program_test.py EXPC NULL_GPU_FOLDER [TEST...]
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

# Opens the runtime as a program does that is linked with it.
PROLOGUE = """
import ctypes, os, signal, sys
runtime = ctypes.CDLL("libcudart.so.13")
def ok(error):
    assert error == 0, error
def take(size):
    place = ctypes.c_void_p()
    return runtime.cudaMalloc(ctypes.byref(place), ctypes.c_size_t(size)), place
"""
TRAINS = PROLOGUE + """
ok(runtime.cudaSetDevice(int(os.environ.get("RANK", 0))))
error, card = take(1 << 20)
ok(error)
host = ctypes.create_string_buffer(1000)
for step in range(3):
    ok(runtime.cudaMemcpy(card, host, ctypes.c_size_t(1000), 1))
    ok(runtime.cudaDeviceSynchronize())  # line 16
print("trained")
sys.exit(int(os.environ.get("CODE", 0)))
"""
KILLED = PROLOGUE + """
ok(take(1 << 20)[0])
os.kill(os.getpid(), signal.SIGKILL)
"""
GREEDY = PROLOGUE + """
ok(take(1 << 30)[0])
sys.exit(take(1 << 30)[0])  # cudaErrorMemoryAllocation is 2
"""
SERVES = PROLOGUE + """
import http.server
ok(take(1 << 28)[0])
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler).serve_forever()
"""
SERVED = """service model command ["PYTHON", "train.py", "${port}"] {
  inputs "train.py"
  param gpus : int in 1..1 = 1
  ready http("/")
  metric held : Bytes lower  from device_memory_sampled
}
workload ask command ["true"] {
  service model
  metric wall : Time lower
}
study s {
  workload ask
  measure held, wall
  design { repeat 2 }
}
"""
BOTH = """
import os, subprocess, sys
children = [subprocess.Popen([sys.executable, sys.argv[1]], env={**os.environ, "RANK": rank}) for rank in "01"]
sys.exit(max(child.wait() for child in children))
"""


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, **texts):
        """Writes Python files of these names into the folder."""
        for name, text in texts.items():
            (self.folder / f"{name}.py").write_text(text)

    def expc(self, *words, code=0, **variables):
        """Runs expc in the folder; it must end with the code."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("NULLGPU_", "CUDA_", "RANK"))}
        done = subprocess.run([EXPC, *words], cwd=self.folder, env={**clean, "EXPC_NULLGPU_FOLDER": FOLDER, **variables}, capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done


class Null(Case):
    def null(self, *words, **given):
        return self.expc("null", *words, **given)

    def program(self, text):
        self.write(train=text)
        return [sys.executable, "train.py"]

    def document(self, *words, **given):
        return json.loads(self.null(*words[:1], "--format", "json", "--", *words[1:], **given).stdout)

    def test_spawned_processes_have_names(self):
        program = self.program(PROLOGUE + """
import multiprocessing
def work():
    ok(take(1 << 20)[0])
if __name__ == "__main__":
    child = multiprocessing.get_context("spawn").Process(target=work)
    child.start()
    child.join()
    print("child", child.pid)
    sys.exit(child.exitcode)
""")
        done = self.null("1", "--", *program)
        self.assertIn("spawned process " + done.stdout.split()[1], done.stdout + done.stderr)

    def test_the_command_keeps_its_output_and_its_exit_code(self):
        done = self.null("2x1GiB", "--", *self.program(TRAINS), code=7, CODE="7")
        self.assertEqual(done.stdout, "trained\n")
        for said in ("memory of simulated GPUs", "nothing was computed", "1.00 MiB", "3 (2.93 KiB)", "train.py:16"):
            self.assertIn(said, done.stderr)
        self.assertNotIn("workspace", done.stderr)  # which torch's tensors have

    def test_json_has_all_and_the_command_writes_aside(self):
        done = self.null("1", "--format", "json", "--", *self.program(TRAINS))
        self.assertEqual(done.stderr, "trained\n")
        document = json.loads(done.stdout)
        self.assertEqual((document["schema"], document["exit_code"]), ("expc.null/1", 0))
        process, = document["processes"]
        self.assertEqual(process["cards"], [{"card": 0, "peak_bytes": 1 << 20}])
        self.assertEqual(process["copies"]["to_card"], {"calls": 3, "bytes": 3000})
        self.assertTrue(process["ended"])
        self.assertGreaterEqual(process["waits"], 3)
        # Every wait has the line at which it happened.
        self.assertEqual(sum(place["waits"] for place in process["places"]), process["waits"])
        self.assertEqual({place["at"].rsplit("/", 1)[1] for place in process["places"]} - {"train.py:15"}, {"train.py:16"})

    def test_each_rank_is_a_process(self):
        self.write(inner=TRAINS)
        processes = self.document("2", *self.program(BOTH), "inner.py")["processes"]
        self.assertEqual([(process["rank"], process["cards"][0]["card"]) for process in processes], [(0, 0), (1, 1)])

    def test_memory_of_a_service_on_its_cards(self):
        self.write(train=SERVES)
        (self.folder / "s.exp").write_text(SERVED.replace("PYTHON", sys.executable))
        done = self.expc("run", "s.exp", "--null-gpus", "1x8GiB", "--heat-up", "0")
        report = self.expc("report", "s.exp", "--null-gpus", "1x8GiB", "--format", "json")
        held = json.loads(report.stdout)["points"][0]["metrics"]["held"]
        self.assertEqual((held["n"], held["median"] >= 1 << 28, held["median"] < 8 << 30), (2, True, True), done.stdout + done.stderr)

    def test_a_killed_program_has_its_counts(self):
        done = self.null("1", "--", *self.program(KILLED), code=128 + 9)
        self.assertIn("ended without its exit handlers", " ".join(done.stderr.split()))
        self.assertEqual(self.document("1", *self.program(KILLED), code=137)["processes"][0]["cards"][0]["peak_bytes"], 1 << 20)

    def test_out_of_memory_names_the_least_card(self):
        done = self.null("3x1536MiB", "--", *self.program(GREEDY), code=2)
        said = " ".join(done.stderr.split())
        self.assertIn("card 0 was out of memory: 1.00 GiB were held and 1.00 GiB more were asked for.", said)
        self.assertIn("needs a card of at least 2.00 GiB; `expc null 3x6GiB` shows the peak beyond it", said)
        self.assertEqual(self.document("1x1536MiB", *self.program(GREEDY), code=2)["processes"][0]["cards"][0]["out_of_memory"],
                         {"held_bytes": 1 << 30, "asked_bytes": 1 << 30, "least_card_bytes": 2 << 30})
        self.null("1x2GiB", "--", *self.program(GREEDY))

    def test_faults_on_demand(self):
        self.null("1", "--faults", "allocation=2", "--", *self.program(GREEDY), code=2)
        refused = self.null("1", "--faults", "alocation=2", "--", "true", code=125).stderr
        self.assertIn('NULLGPU_FAULTS="alocation=2": no such fault', refused)
        self.assertEqual(refused.count("\n"), 1, refused)

    def test_a_program_without_cuda_is_told_so(self):
        done = self.null("1", "--", "sh", "-c", "exit 5", code=5)
        self.assertIn("exit code 5, and no process of it used a simulated GPU", done.stderr)
        self.assertIn("CUDA 12 and 13", done.stderr)

    def test_a_program_for_cuda_12(self):
        said = self.null("2x1GiB", "--", *self.program(TRAINS.replace("libcudart.so.13", "libcudart.so.12"))).stderr
        for word in ("1.00 MiB", "3 (2.93 KiB)", "train.py:16"):
            self.assertIn(word, said)

    def torch(self, version, cuda):
        """Writes a package that says which torch it is, and commands whose interpreter finds it."""
        package = self.folder / "torch"
        package.mkdir(exist_ok=True)
        (package / "__init__.py").write_text("raise ImportError('not here')")
        (package / "version.py").write_text(f"__version__ = {version!r}\ncuda: str = {cuda!r}\n")
        script = self.folder / "torchrun"
        script.write_text(f"#!{sys.executable}\nprint('ran')\n")
        script.chmod(0o755)
        return [sys.executable, "-c", "print('ran')"], [str(script)]

    def test_torch_of_another_cuda_is_refused(self):
        for command in self.torch("2.5.1+cu118", "11.8"):
            done = self.null("1", "--", *command, code=125, PYTHONPATH=str(self.folder))
            self.assertEqual(done.stdout, "")
            self.assertIn("has torch 2.5.1+cu118 for CUDA 11.8. Simulated GPUs stand in for CUDA 12 and 13", done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_the_torch_of_a_program_without_cuda_is_named(self):
        for version, cuda, named in (("2.6.0+cu124", "12.4", "for CUDA 12.4."), ("2.6.0+cpu", None, "without CUDA.")):
            for command in self.torch(version, cuda):
                said = self.null("1", "--", *command, PYTHONPATH=str(self.folder)).stderr
                self.assertIn("does not see them. /", said)
                self.assertIn(f"has torch {version} {named}", said)

    def test_what_does_not_run_has_a_code_of_its_own(self):
        (self.folder / "plain").write_text("no program")
        for words, code, said in ((("1",), 2, "stands behind --"),
                                  (("1", "--"), 2, "stands behind --"),
                                  (("4", "python3", "train.py", "--lr", "1"), 2, "expc null 4 -- python3 train.py --lr 1"),
                                  (("found", "--", "true"), 2, "expected a number of GPUs"),
                                  (("1x3", "--", "true"), 125, "optionally with their memory"),
                                  (("65", "--", "true"), 125, "a number of GPUs up to 64"),
                                  (("1", "--", str(self.folder / "plain")), 126, "Permission denied"),
                                  (("1", "--", "no-such-program"), 127, "there is no such program"),
                                  (("1", "--", "./no-such-program"), 127, "no-such-program")):
            with self.subTest(words):
                self.assertIn(said, self.null(*words, code=code).stderr)
        self.assertIn("`make cuda` builds", self.null("1", "--", "true", code=125, EXPC_NULLGPU_FOLDER="/nonexistent").stderr)


RANKED = """workload train command ["python3", "train.py"] {
  inputs "train.py"
  ranks gpus
  param gpus : int in 1..2 = 1
  outputs trial
  metric loss : float lower
  expect regex("nothing prints this")
}
study tried { workload train  factor gpus in { 1, 2 }  measure loss  design { timed { repeat 1 } } }
"""
# Trains for good, unless its trial ends the steps.
MARKED = PROLOGUE + """
import itertools, expc, time
ok(runtime.cudaSetDevice(int(os.environ["LOCAL_RANK"])))
error, card = take(1 << 20)
for batch in BATCHES:
    ok(runtime.cudaDeviceSynchronize())
    time.sleep(0.01)
"""


# Each start of a program appends a line to a file in the study's folder.
STARTS = """
import os
with open(os.environ["EXPC_STUDY_FOLDER"] + "/NAME", "a") as file:
    file.write("started\\n")
"""
SERVER = STARTS.replace("NAME", "servers") + PROLOGUE + """
import socket, time
ok(take(1 << 23)[0])
door = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    door.accept()[0].close()
"""
CLIENT = """
import os, socket, sys
assert os.path.exists(os.environ["EXPC_PREPARED"] + "/made")
socket.create_connection(("127.0.0.1", int(sys.argv[1])))
"""
WITH_SERVER = """service server command ["python3", "server.py", "${port}"] {
  inputs "server.py"
  ready tcp
}
workload load command ["python3", "client.py", "${server.port}", "${n}", "${gpus}"] {
  inputs "client.py", "prepare.py"
  prepare ["python3", "prepare.py"]
  service server
  param gpus : int in 1..2 = 1
  param n : int in 1.. = 1
  metric wall : Time lower
}
study tried { workload load  factor n in { 1, 2, 3 }  measure wall  design { timed { repeat 1 } } }
"""
INSIDE = """workload sweep command ["python3", "train.py", "${size}", "${gpus}"] {
  inputs "train.py"
  outputs csv("out.csv")
  param gpus : int in 1..2 = 1
  param size : Bytes inside
  metric time : Time lower
}
study tried { workload sweep  factor size in { 1KiB, 4KiB }  measure time  design { timed { repeat 1 } } }
"""


class Rehearsal(Case):
    def output(self, script, *words, cards="2x1GiB", study=RANKED, **given):
        self.write(train=script)
        (self.folder / "s.exp").write_text(study)
        return self.expc("rehearse", "s.exp", "--null-gpus", cards, *words, **given).stdout

    def rehearse(self, script, *words, **given):
        return {point["label"]: point for point in json.loads(self.output(script, "--format", "json", *words, **given))["points"]}

    def test_a_command_is_tried_until_its_third_step_its_end_or_its_time(self):
        endless = MARKED.replace("BATCHES", "itertools.count()")
        for script, words, waits in ((MARKED.replace("BATCHES", "expc.trial().steps(range(10))"), (), 3), (TRAINS, (), 6), (endless, ("--timeout", "6"), 10)):
            points = self.rehearse(script, *words)
            self.assertEqual({label: point["outcome"] for label, point in points.items()}, {"gpus=1": "runs", "gpus=2": "runs"})
            one, two = (points[f"gpus={gpus}"]["rehearsed"]["ranks"] for gpus in (1, 2))
            self.assertEqual([len(one), len(two)], [1, 2])
            self.assertEqual({rank["device_memory_allocated"] for rank in one + two}, {1 << 20})
            self.assertTrue(all(rank["synchronisations"] == waits if waits < 10 else rank["synchronisations"] > 3 for rank in one + two), points)

    def test_a_command_that_does_not_fit_or_fails(self):
        points = self.rehearse(GREEDY, cards="2x1536MiB", code=3)
        self.assertEqual(points["gpus=1"]["outcome"], "does not fit")
        self.assertIn("card 0 would need at least 2.00 GiB", points["gpus=1"]["reason"])
        self.assertIn("no process of the command used a simulated GPU", self.rehearse("print(1)", code=3)["gpus=2"]["reason"])

    def served(self, code=0, server=SERVER, made="open('made', 'w').close()", **options):
        self.write(server=server, client=CLIENT, prepare=STARTS.replace("NAME", "preparations") + made)
        return self.rehearse("", code=code, study=WITH_SERVER, **options)

    def test_a_service_and_a_preparation_start_once_and_the_service_counts(self):
        points = self.served()
        for point in points.values():
            self.assertEqual((point["outcome"], point["reason"]), ("runs", ""))
            self.assertEqual([rank["device_memory_allocated"] for rank in point["rehearsed"]["ranks"]], [1 << 23])
        for name in ("servers", "preparations"):
            self.assertEqual((self.folder / name).read_text().splitlines(), ["started"])
        self.assertFalse((self.folder / "results/prepared").exists())
        logs = self.folder / "results/rehearsals/logs"
        self.assertEqual([log.name for log in logs.glob("*.0.log") if not log.stat().st_size], [])

    def test_a_service_or_a_preparation_that_fails_is_the_reason_of_its_points(self):
        for point in self.served(code=3, cards="2x4MiB").values():
            self.assertEqual(point["outcome"], "does not fit")
            self.assertRegex(point["reason"], "the service server: .*card 0 would need at least")
        for point in self.served(code=3, made="import sys; sys.exit('no compiler')").values():
            self.assertEqual(point["outcome"], "failed")
            self.assertRegex(point["reason"], "preparing workload load .*no compiler")
        self.assertEqual(len((self.folder / "preparations").read_text().splitlines()), 2)  # one for each call

    def test_a_process_that_goes_through_levels_is_started_once(self):
        script = STARTS.replace("NAME", "sweeps") + "assert __import__('sys').argv[1] == '1024,4096'\n" + TRAINS
        points = self.rehearse(script, study=INSIDE)
        self.assertEqual({label: point["outcome"] for label, point in points.items()}, {"size=1KiB": "runs", "size=4KiB": "runs"})
        self.assertEqual({point["rehearsed"]["ranks"][0]["device_memory_allocated"] for point in points.values()}, {1 << 20})
        self.assertEqual((self.folder / "sweeps").read_text().splitlines(), ["started"])

    def test_points_that_are_not_rehearsed_say_why_once(self):
        said = self.output("", code=5, study=RANKED.replace("  ranks gpus\n", "").replace("gpus", "n"))
        self.assertEqual(said.count("not rehearsed"), 3, said)  # a row for each point, and the reason
        self.assertNotIn("peak", said)


if __name__ == "__main__":
    EXPC, FOLDER = sys.argv.pop(1), str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
