#!/usr/bin/env python3
"""The `expc` command as a user types it: outputs, exit codes, refusals. Trials are run by the real engine and `expc-worker-null`.

usage: cli_test.py --expc PATH --null-worker PATH
"""
import json
import os
import pathlib
import subprocess
import zlib

from command import OPTIONS, Command, main

ROOT = pathlib.Path(__file__).resolve().parents[2]

STUDY = """import std.null

/// Two durations on one and two ranks.
study tiny {
  workload null.idle(noise = 0.01)
  factor step in { 20ms, 10ms }  baseline 20ms
  factor gpus in { 1, 2 }  baseline 1
  measure step_time, accuracy
  compare gain = speedup(step_time) over step
  criterion CRITERION
  design { timed { repeat 7  steps 1  warmup 0 } quality { repeat 1  epochs 1 }  seed 7 }
  table step_time by gpus, step
}
"""
PASSES = "faster: forall gpus: gain[step = 10ms] >= 1.5x  with confidence 95%"
FAILS = "faster: forall gpus: gain[step = 10ms] >= 3.0x  with confidence 95%"
UNDECIDED = "faster: forall gpus: gain[step = 10ms] >= 2.0x  with confidence 95%"


class Tiny(Command):
    timeout = 120

    def setUp(self):
        super().setUp()
        self.study = self.write("tiny.exp", STUDY.replace("CRITERION", PASSES))

    def run_study(self, path, *arguments, code=0, heat_up=False):
        cold = () if heat_up else ("--heat-up", "0")
        return self.expc("run", path, "--worker", OPTIONS.null_worker, "--devices", "cpu:2", *cold, *arguments, code=code)


COMMAND = """workload w command ["sh", "-c", "mkdir d; touch d/f; chmod a-w d; test '${level}' = 'a: slow' || exit 0; exit 3"] {
  param level : string = "x"
  metric wall : Time lower
}
study s {
  workload w
  factor level in { "a: slow", "b; quick" }
  measure wall
  criterion quick: forall *: wall <= 1min
  design { repeat 2 }
}
"""


class Surroundings(Tiny):
    """What is around a run: streams that are gone, names of folders, devices, links."""

    def run_command(self, *more, **streams):
        self.write("s.exp", COMMAND)
        return subprocess.run([OPTIONS.expc, "run", "s.exp", "--devices", "cpu:1", "--heat-up", "0", *more], cwd=self.folder, timeout=120, **streams)

    def test_messages_that_nobody_reads_end_no_measurement(self):
        with open("/dev/full", "w") as full:
            self.assertEqual(self.run_command("--results", "a", stderr=full, stdout=subprocess.DEVNULL).returncode, 6)
        closed = self.run_command("--results", "b", stdout=subprocess.DEVNULL, preexec_fn=lambda: os.close(2))
        self.assertEqual(closed.returncode, 6)
        for folder in ("a", "b"):
            for line in (self.folder / folder / "journal/000001.jsonl").read_text().splitlines():
                self.assertTrue(line.startswith("{"), "no message stands in a journal")
            self.assertIn("; no problems found", self.expc("store", "verify", "--results", folder).stdout)

    def test_a_level_is_named_whole(self):
        done = self.run_command(stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.assertIn('level="a: slow" failed: ', done.stdout)
        self.assertNotRegex(done.stdout, r'level="a$')
        self.assertEqual([], list(self.folder.glob("results/trials/.spare*/d")))

    def test_folders_are_called_as_they_are_called(self):
        for name in ("r50%", "a%20b"):
            self.assertEqual(self.run_command("--results", name, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode, 6)
        home = self.folder / "home"
        home.mkdir()
        env = dict(os.environ, HOME=str(home))
        self.assertEqual(self.run_command("--results=~/r", env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode, 6)
        self.assertTrue((home / "r/journal").is_dir())
        self.assertFalse((self.folder / "~").exists())

    def test_a_page_replaces_no_device_pipe_or_link(self):
        self.run_command(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.mkfifo(self.folder / "pipe")
        self.write("target", "x")
        (self.folder / "link").symlink_to("target")
        self.expc("report", "s.exp", "--devices", "cpu:1", "--html", "link", code=6)
        self.assertTrue((self.folder / "link").is_symlink())
        self.assertIn("<html", (self.folder / "target").read_text()[:200])
        self.assertIn("a pipe without a reader", self.expc("report", "s.exp", "--devices", "cpu:1", "--html", "pipe", code=1).stderr)
        self.assertTrue((self.folder / "pipe").is_fifo())

    def test_a_link_in_a_results_folder_leads_no_page_elsewhere(self):
        self.run_command(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        mine = self.write("mine", "mine")
        page = next((self.folder / "results").glob("*.html"))
        page.unlink()
        page.symlink_to(mine)
        self.expc("report", "s.exp", "--devices", "cpu:1", code=6)
        self.assertEqual(mine.read_text(), "mine")
        self.assertTrue(page.is_file() and not page.is_symlink())

    def test_a_results_folder_without_a_name_is_refused(self):
        for words in (("run", self.study), ("rehearse", self.study), ("report", self.study), ("status",), ("attach",), ("cancel",), ("bench", "true")):
            self.assertIn("--results: its name is empty", self.expc(*words, "--results", "", code=2).stderr, words)

    def test_a_results_folder_that_is_a_file_holds_no_results(self):
        self.write("s.exp", COMMAND)
        self.write("file", "x")
        for command in (("report", "s.exp"), ("export", "s.exp"), ("store", "verify"), ("store", "export", "new.sqlite")):
            self.assertIn("no results in 'file': run the study first, or name the folder that has them",
                          self.expc(*command, "--results", "file", code=1).stderr)

    def test_a_job_whose_nodes_can_run_no_point_is_not_submitted(self):
        self.expc("new", "tuned", "--workload", "llm.finetune")
        two = self.write("two", "nodes = 2\ngpus = 2\n")
        self.assertIn("#SBATCH --nodes=2", self.expc("run", "tuned.exp", "-D", "gpus=4", "--on", "slurm", "--site", two, "--dry-run").stdout)
        done = self.expc("run", "tuned.exp", "-D", "gpus=8", "--on", "slurm", "--site", two, "--dry-run", code=5)
        self.assertIn("study tuned: no point can run on 2 nodes with 2 GPUs each: there are fewer devices", done.stderr)
        self.assertEqual(done.stdout, "")
        one = self.write("one", "gpus = h100:1\n")
        self.assertIn("no point can run on 1 node with 1 GPU:",
                      self.expc("run", "tuned.exp", "-D", "gpus=4", "--on", "slurm", "--site", one, "--dry-run", code=5).stderr)
        self.assertIn("nope", self.expc("run", "tuned.exp", "-D", "nope=4", "--on", "slurm", "--dry-run", code=(1, 2)).stderr)
        # The site file does not say how many GPUs there are, so only the nodes can tell.
        unknown = self.write("unknown", "option = --gres=gpu:1\n")
        self.expc("run", "tuned.exp", "-D", "gpus=4", "--on", "slurm", "--site", unknown, "--dry-run")

    def test_a_report_names_what_was_measured_under_other_names(self):
        self.write("s.exp", COMMAND.replace("study s", "study one"))
        self.expc("run", "s.exp", "--devices", "cpu:1", "--heat-up", "0", code=6)
        self.write("s.exp", COMMAND.replace("study s", "study two"))
        report = lambda: " ".join(self.expc("report", "s.exp", "--devices", "cpu:1", code=5).stdout.split())
        said = report()
        self.assertIn("Trials no stored trial counts", said)
        self.assertIn("measured for the study one; `expc run` counts those that fit", said)
        self.write("s.exp", COMMAND.replace("study s", "study one").replace("level", "step"))
        self.assertRegex(report(), r"Trials no stored trial counts.*; stored but ignored: [0-9]+ trials: measured at points that the study no longer has")
        self.assertRegex(self.expc("run", "s.exp", "--devices", "cpu:1", "--heat-up", "0", code=6).stderr, "stored but ignored: [0-9]+ trials: measured at points that the study no longer has")

    def test_an_input_whose_name_looks_like_a_pattern_is_that_file(self):
        for name in ("in[1].txt", "a\\b", "open[.txt"):
            self.write(name, "x")
            quoted = name.replace("\\", "\\\\")
            self.write("i.exp", f'''workload w command ["cat", "{quoted}"] {{ inputs "{quoted}"  metric wall : Time lower }}
study s {{ workload w  measure wall  design {{ repeat 1 }} }}
''')
            self.expc("run", "i.exp", "--devices", "cpu:1", "--heat-up", "0", "--results", f"r-{name[:3]}")

    def test_what_is_no_regular_file_is_no_module(self):
        os.mkfifo(self.folder / "mod.exp")
        for path in ("/dev/zero", "mod.exp"):
            self.write("one.exp", f'import "{path}" as z\n')
            self.assertIn("not a regular file", self.expc("check", "one.exp", code=1, timeout=20).stderr)

    def test_fmt_of_a_folder_leaves_links_alone(self):
        outside = self.write("outside.exp", "let   a=1\n")
        (self.folder / "f").mkdir()
        (self.folder / "f/own.exp").write_text("let   a=1\n")
        (self.folder / "f/link.exp").symlink_to("../outside.exp")
        self.expc("fmt", "f")
        self.assertEqual(outside.read_text(), "let   a=1\n")
        self.assertNotEqual((self.folder / "f/own.exp").read_text(), "let   a=1\n")


class Strangers(Tiny):
    """Files that somebody else wrote."""

    def test_a_plan_or_lock_nested_without_end_is_refused(self):
        deep = self.write("deep.json", '{"a":' * 100000 + "1" + "}" * 100000)
        for command in (("run", deep), ("report", deep), ("plan", self.study, "--diff", deep)):
            self.assertIn("nested deeper than", self.expc(*command, code=1).stderr)
        self.write("tiny.exp.lock", deep.read_text())
        self.assertIn("nested deeper than", self.run_study(self.study, code=1).stderr)

    def test_a_plan_names_no_file_outside_the_results(self):
        plan = self.document("plan", self.study, "--devices", "cpu:2")
        for name in ("../../x", str(self.folder / "x"), "a\0b", ""):
            path = self.write("plan.json", json.dumps({**plan, "study": name}))
            for command in ("run", "report"):
                self.assertIn("$.study:", self.expc(command, path, code=1).stderr)
        self.assertEqual([], list(self.folder.glob("**/*.html")))

    def test_a_plan_whose_cells_name_no_points_is_refused_by_all_that_read_it(self):
        self.run_command(COMMAND, code=6)
        plan = self.document("plan", "c.exp", "--devices", "cpu:1")
        plan["criteria"][0]["cells"][0]["points"] = []
        path = self.write("plan.json", json.dumps(plan))
        for words in (("report", path), ("run", path), ("export", path), ("diagnose", path), ("compare", path, "results", "results"), ("bundle", path)):
            self.assertIn("$.criteria[0].cells[0].points: must name", self.expc(*words, code=1).stderr)

    def test_an_id_that_would_be_read_as_a_control_is_refused(self):
        plan = self.document("plan", self.study, "--devices", "cpu:2")
        plan["points"][0]["id"] = "ab#cd"
        self.assertIn("$.points[0].id: holds a '#'", self.expc("run", self.write("plan.json", json.dumps(plan)), code=1).stderr)


    def run_command(self, text, *more, code=0):
        self.write("c.exp", text)
        return self.expc("run", "c.exp", "--devices", "cpu:1", "--heat-up", "0", "--quiet", *more, code=code)

    def test_a_programs_folder_is_its_own(self):
        golden = self.write("stdout.txt", "mine")
        text = """workload w command ["sh", "-c", "cat stdout.txt; echo took 5; rm -f stdout.txt; echo took 9 >stdout.txt; echo took 9 >stderr.txt"] {
  inputs "stdout.txt"
  metric t : Time lower from regex("took ([0-9]+)", unit = 1ms)
}
study s { workload w  measure t  criterion right: forall *: t <= 6ms  design { repeat 2 } }
"""
        self.run_command(text, "--keep-trials")
        self.assertEqual(golden.read_text(), "mine")
        self.assertEqual((self.folder / "results/trials/1/stdout.txt").read_text(), "took 9\n")
        self.assertEqual((self.folder / "results/trials/.1/stdout.txt").read_text(), "minetook 5\n")

    def test_a_program_that_asks_at_the_terminal_ends(self):
        text = """workload w command ["sh", "-c", "read answer </dev/tty; test -n \\"$answer\\""] { metric wall : Time lower }
study s { workload w  measure wall  criterion right: forall *: wall <= 6min  design { repeat 1 } }
"""
        self.write("c.exp", text)
        done = subprocess.run(["script", "-qec", f"{OPTIONS.expc} run c.exp --devices cpu:1 --heat-up 0 --timeout 60 --quiet", "/dev/null"],
                              cwd=self.folder, capture_output=True, text=True, timeout=50, stdin=subprocess.DEVNULL)
        self.assertIn("/dev/tty", done.stdout)

    def test_a_job_of_a_stranger_ends_no_process_and_hangs_nobody(self):
        jobs = self.folder / "r/jobs"
        jobs.mkdir(parents=True)
        sleep = subprocess.Popen(["sleep", "60"])
        self.addCleanup(sleep.wait)
        self.addCleanup(sleep.kill)
        began = pathlib.Path(f"/proc/{sleep.pid}/stat").read_text().rpartition(")")[2].split()[19]
        job = {"schema": "expc.job/1", "name": f"local-{sleep.pid}", "cluster": "", "id": str(sleep.pid), "study": "\x1b[31mred\n", "host": os.uname().nodename,
               "began": began, "submitted": 1}
        record = jobs / f"local-{sleep.pid}.json"
        record.write_text(json.dumps(job))
        self.assertIn(f"local-{sleep.pid} has already ended", self.expc("cancel", f"local-{sleep.pid}", "--results", "r").stderr)
        self.assertIn("r: nothing to stop", self.expc("cancel", "--results", "r").stderr)
        self.assertIsNone(sleep.poll())
        self.assertNotIn("\x1b", self.expc("status", "--results", "r").stdout)
        (jobs / f"local-{sleep.pid}.log").symlink_to("/dev/zero")
        self.expc("attach", f"local-{sleep.pid}", "--results", "r", code=1, timeout=20)
        record.write_text("[" * 60000)
        self.assertIn("nested deeper", self.expc("status", "--results", "r").stderr)
        record.unlink()
        os.mkfifo(record)
        self.assertIn("not the record of a job", self.expc("status", "--results", "r", timeout=20).stderr)

    def test_a_damaged_file_of_a_job_hides_no_other(self):
        jobs = self.folder / "r/jobs"
        jobs.mkdir(parents=True)
        job = {"schema": "expc.job/1", "name": "local-8", "cluster": "", "id": "8", "study": "a.exp", "host": os.uname().nodename, "began": "1", "submitted": 1}
        (jobs / "local-8.json").write_text(json.dumps(job))
        (jobs / "local-8.code").write_text("3\n")
        (jobs / "local-1.json").write_text("")
        (jobs / "d.json").mkdir()
        for words, code, told in (("status",), 0, "local-8  a.exp  ended with exit code 3: a criterion fails"), (("attach", "local-8"), 3, "local-8: ended"), \
                                 (("cancel", "local-8"), 0, "local-8 has already ended"), (("cancel", "8"), 0, "8 has already ended"):
            done = self.expc(*words, "--results", "r", code=code, timeout=20)
            self.assertIn(told, done.stdout + done.stderr)
            self.assertRegex(done.stderr, r"r/jobs/local-1\.json: .*; it is ignored, remove it")
            self.assertIn("r/jobs/d.json: is not the record of a job; it is ignored, remove it", done.stderr)

    def test_a_name_with_a_line_end_writes_no_line_of_a_job(self):
        self.write("a\ntouch pwned #.exp", COMMAND)
        self.assertIn("has a control character", self.expc("run", "a\ntouch pwned #.exp", "--on", "slurm", "--dry-run", code=1).stderr)
        self.write("s.exp", COMMAND)
        script = self.expc("run", "s.exp", "--results", "a%20b", "--on", "slurm", "--dry-run").stdout
        self.assertIn("/a%%20b/jobs/slurm-%j.log", script)
        self.assertIn("/a%20b/jobs/slurm-$SLURM_JOB_ID.code", script)

    def test_pipes_in_a_results_folder_are_not_waited_for(self):
        self.run_study(self.study)
        results = self.folder / "results"
        journal = next((results / "journal").iterdir())
        journal.unlink()
        os.mkfifo(journal)
        self.assertIn("cannot be read as a journal", self.expc("report", self.study, "--devices", "cpu:2", code=1, timeout=20).stderr)

    def test_walks_end(self):
        deep = self.folder / "/".join("d" * 40)
        deep.mkdir(parents=True)
        data = self.folder / "data"
        data.mkdir()
        (data / "file").write_text("x")
        for link in "abc":
            (data / link).symlink_to(".")
        study = 'study s { workload w  measure wall  design { repeat 7 } }\n'
        self.write("c.exp", 'workload w command ["echo", "${d}"] { param d : path = "data"\n metric wall : Time lower }\n' + study)
        self.expc("plan", "c.exp", "--lock", timeout=60)
        self.write("c.exp", 'workload w command ["echo", "x"] { inputs "' + "**/" * 8 + 'zzz"\n metric wall : Time lower }\n' + study)
        self.expc("plan", "c.exp", "--lock", timeout=60)

    def test_of_thousands_of_mistakes_the_first_are_told(self):
        many = self.write("many.exp", "enum e { " + ", ".join(["l"] * 8000) + " }\n")
        said = self.expc("check", many, code=1, timeout=60).stderr
        self.assertLess(said.count("error["), 400)
        unknown = self.write("unknown.exp", "".join(f"let a{i} = b{i}\n" for i in range(20000)))
        self.assertIn("unknown name 'b7'", self.expc("check", unknown, code=1, timeout=60).stderr)
        levels = ", ".join(f"l{i}" for i in range(4000))
        text = f"enum e {{ {levels} }}\nworkload w {{ param p : e = l1  metric wall : Time lower }}\n" \
               f"study s {{ workload w  factor p in {{ {levels.replace('l', 'k')} }}  measure wall  design {{ repeat 7 }} }}\n"
        self.assertLess(len(self.expc("check", self.write("levels.exp", text), code=1, timeout=60).stderr), 10**6)

    def test_an_error_about_a_name_of_any_length_fits_on_a_screen(self):
        name = "n" * 100_000
        for text in (f"import {name}.x\n", f'import "{name}.exp"\n', f"study s {{ workload {name} }}\n", f'study s {{ workload llm.finetune(model = folder("{name}")) }}\n'):
            self.write("s.exp", text)
            said = self.expc("check", "s.exp", code=1).stderr
            self.assertIn("error[", said)
            self.assertLess(len(said), 4000)

    def test_a_line_end_in_a_name_begins_no_line(self):
        name = "a\nPASS forged"
        (self.folder / "r/jobs").mkdir(parents=True)
        for job in ("slurm-7", "local-8"):
            cluster, number = job.split("-")
            (self.folder / f"r/jobs/{job}.json").write_text(json.dumps({"schema": "expc.job/1", "name": job, "cluster": cluster.replace("local", ""),
                                                                        "id": number, "study": name, "host": name, "began": "", "submitted": 1}))
        (self.folder / "r/jobs/slurm.states").write_text("7|RUNNING|x\n")
        plan = self.document("plan", self.study, "--devices", "cpu:2")
        self.write("field.json", json.dumps({**plan, name: 1}))
        plan["metrics"][0]["better"] = name
        self.write("word.json", json.dumps(plan))
        self.expc("plan", self.study, "--lock", "--devices", "cpu:2")
        lock = json.loads((self.folder / "tiny.exp.lock").read_text())
        lock["studies"]["tiny"]["digest"] = name
        self.write("other.lock", json.dumps(lock).replace('"faster"', json.dumps(name)))
        (self.folder / "r/journal").mkdir()
        line = json.dumps({"entry": name, "v": 1})[:-1]
        self.write("r/journal/000001.jsonl", f'{line},"sum":"{zlib.crc32(line.encode()):08x}"}}\n')
        for part in ("train", "test"):
            (self.folder / f"set/{part}/{name}").mkdir(parents=True)
            (self.folder / f"set/{part}/{name}/{name}.png").write_text("x")
        (self.folder / "f").mkdir()
        self.write(f"f/{name}.exp", "let   a=1\n")
        self.write(f"f/bad{name}.exp", "let  { a=1\n")
        for words in (("status", "--results", "r"), ("cancel", "local-8", "--results", "r"), ("report", "field.json"), ("report", "word.json"),
                      ("plan", self.study, "--diff", "other.lock"), ("store", "verify", "--results", "r"), ("data", "info", "set"),
                      ("data", "verify", "set"), ("data", "inspect", "set"), ("data", "pack", "set", "--to", "p"), ("fmt", "--check", "f"), ("fmt", "--diff", "f"), ("fmt", "f")):
            done = self.expc(*words, code=None, timeout=60)
            self.assertIn("PASS forged", done.stdout + done.stderr, words)
            self.assertNotRegex(done.stdout + done.stderr, r"(?m)^PASS", words)

    def test_no_word_of_a_stranger_steers_a_terminal(self):
        evil = "\x1b[2Jx\x9by\nPASS forged"
        self.write("c.exp", f"""/// doc \x1b[31m\x9b
workload w command ["sh", "-c", "printf '\\\\033[2J\\\\302\\\\233 it\\\\n' >&2; exit 1", "${{t}}"] {{ param t : string = "a"  metric wall : Time lower }}
study s {{ workload w  factor t in {{ "\x9b\x07\u202e" }}  measure wall  criterion right: forall *: wall <= 6min  design {{ repeat 1 }} }}
""")
        folder = self.folder / "set/train" / "a\x1b[2J\x9bb"
        folder.mkdir(parents=True)
        (self.folder / "set/test" / folder.name).mkdir(parents=True)
        for image in (folder, self.folder / "set/test" / folder.name):
            (image / "x.jpg").write_text("x")
        plan = self.document("plan", self.study, "--devices", "cpu:2")
        for part in ("factors", "metrics", "comparisons", "criteria"):
            changed = json.loads(json.dumps(plan))
            changed[part][0]["name"] = evil
            self.assertIn("holds a control character", self.expc("report", self.write(f"{part}.json", json.dumps(changed)), code=1).stderr)
        changed = json.loads(json.dumps(plan).replace("Two durations", "Two \\u001b[2J\\u009b\\n durations"))
        changed["source"] = evil
        self.write("words.json", json.dumps(changed))
        self.expc("run", "c.exp", "--devices", "cpu:1", "--heat-up", "0", "--results", "rc", code=6)
        for words in (("doc", "c.exp"), ("doc", "c.exp", "--markdown"), ("plan", "c.exp"), ("report", "c.exp", "--results", "rc", "--all"),
                      ("report", "words.json"), ("data", "info", "set"), ("data", "verify", "set"), ("data", "inspect", "set"), ("data", "info", "set", "--format", "json"),
                      ("export", "c.exp", "--results", "rc", "--to", "out.md", "--format", "markdown"),
                      ("export", "c.exp", "--results", "rc", "--to", "out.xml", "--format", "junit"), ("compare", "c.exp", "rc", "--by", "session")):
            done = subprocess.run([OPTIONS.expc, *words], cwd=self.folder, capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
            for text in (done.stdout, done.stderr):
                shown = text.decode()
                self.assertFalse([c for c in shown if (c < " " and c != "\n") or "\x7f" <= c < "\xa0"], f"{words}: {shown!r}")
                self.assertNotIn("\nPASS forged", shown)
                if "json" in words:
                    json.loads(done.stdout)
        for words in ("fmt --diff c.exp", "export c.exp --results rc", "plan c.exp --format jsonl"):  # byte by byte elsewhere
            done = subprocess.run(["script", "-qec", f"{OPTIONS.expc} {words}", "/dev/null"], cwd=self.folder, capture_output=True, timeout=60,
                                  stdin=subprocess.DEVNULL)
            self.assertFalse([c for c in done.stdout.decode() if (c < " " and c not in "\r\n") or "\x7f" <= c < "\xa0"], words)
        self.assertNotRegex(next((self.folder / "rc").glob("*.html")).read_text(), "[\x7f-\x9f]")
        for file in self.folder.glob("out.*"):
            self.assertFalse([c for c in file.read_text() if (c < " " and c != "\n") or "\x7f" <= c < "\xa0"], file.name)


class Usage(Tiny):
    def test_help_names_every_command(self):
        text = self.expc("--help").stdout
        for command in ("check", "plan", "rehearse", "run", "report"):
            self.assertIn(command, text)
        for command in ("check", "plan", "rehearse", "run", "report"):
            self.assertIn("FILE", self.expc(command, "--help").stdout)

    def test_wrong_usage_exits_with_2(self):
        self.expc(code=2)
        self.expc("chek", self.study, code=2)
        self.expc("check", code=2)
        self.expc("plan", self.study, "--format", "xml", code=2)
        for limit in ("--memory-limit", "--log-limit"):
            self.assertIn("16: a size needs a unit, as in 16GiB", self.expc("run", self.study, limit, "16", code=2).stderr)
            self.assertIn(f"{limit}: '5XB' is not a size: write it as 16GiB or 16GB (units: B, kB, KiB to EB, EiB)\n", self.expc("run", self.study, limit, "5XB", code=2).stderr)
        for limit, time in (("--timeout", "5parsec"), ("--timeout", "5sec"), ("--heat-up", "x")):
            self.assertIn(f"{limit}: '{time}' is not a time: write it as 30s (units: ms, s, min, h)\n", self.expc("run", self.study, limit, time, code=2).stderr)

    def test_an_option_that_is_none_gets_the_nearest(self):
        for words, said in ((("run", self.study, "--reslts", "r"), "unknown option '--reslts': did you mean '--results'?"),
                            (("store", "verify", "--reslts=r"), "unknown option '--reslts': did you mean '--results'?"),
                            (("run", self.study, "-q"), "unknown option '-q': --help behind the command lists its options")):
            self.assertIn(said, self.expc(*words, code=2).stderr)
        # Behind `--` nothing is an option.
        self.assertIn("The following argument was not expected: --reslts", self.expc("run", self.study, "--", "--reslts", code=2).stderr)

    def test_store_takes_the_folder_alone(self):
        for verb in ("verify", "compact"):
            self.assertIn("no results in 'nowhere'", self.expc("store", verb, "nowhere", code=1).stderr)

    def test_a_folder_names_its_studies(self):
        self.write("b.exp", "")
        self.assertIn("cannot read .: Is a directory; name a study in it: b.exp, tiny.exp", self.expc("check", ".", code=1).stderr)

    def test_missing_file_is_named(self):
        for command in (["check"], ["plan"], ["rehearse", "--system", "proxima"], ["run"], ["report"]):
            self.assertIn("nowhere.exp", self.expc(*command, "nowhere.exp", code=1).stderr)

    def test_folder_instead_of_file(self):
        self.assertIn(str(self.folder), self.expc("check", self.folder, code=1).stderr)


class Check(Tiny):
    def test_clean_study_is_confirmed_in_one_line(self):
        result = self.expc("check", self.study)
        self.assertEqual((result.stdout, result.stderr), ("", f"{self.study}: no mistakes found\n"))

    def test_a_script_is_called_what_it_is(self):
        for command in ("check", "plan", "run"):
            self.assertIn("train.py is not a study; `expc new` writes one", self.expc(command, self.write("train.py", "x = 1"), code=1).stderr)

    def test_times_and_shares_take_their_units(self):
        self.write("s.exp", COMMAND)
        self.expc("run", "s.exp", "--devices", "cpu:1", "--timeout", "30s", "--heat-up", "0s", code=6)
        self.assertNotIn("--margin", self.expc("compare", "s.exp", "results", "results", "--margin", "3%", code=1).stderr)

    def test_error_has_place_code_and_suggestion(self):
        bad = self.write("bad.exp", STUDY.replace("CRITERION", PASSES).replace("over step", "over stpe"))
        text = self.expc("check", bad, code=1).stderr
        self.assertIn("bad.exp:9:", text)
        self.assertRegex(text, r"error\[E\d{4}\]")
        self.assertIn("step", text)

    def test_json_diagnostics(self):
        bad = self.write("bad.exp", STUDY.replace("CRITERION", PASSES).replace("baseline 1\n", "baseline 9\n"))
        document = self.document("check", bad, code=1)
        self.assertEqual(document["schema"], "expc.diagnostics/1")
        self.assertTrue(any(d["severity"] == "error" and d["range"]["begin"]["line"] == 7 for d in document["diagnostics"]))
        self.assertEqual(self.document("check", self.study)["diagnostics"], [])

    def test_empty_and_binary_files_are_diagnosed(self):
        for name, content in (("empty.exp", b""), ("nul.exp", b"study\0x {}"), ("latin.exp", b"study \xe9 {}")):
            path = self.folder / name
            path.write_bytes(content)
            self.assertRegex(self.expc("check", path, code=1).stderr, r"error\[E\d{4}\]", name)

    def test_unknown_preset_and_override(self):
        self.assertIn("nope", self.expc("check", self.study, "--preset", "nope", code=2).stderr)
        self.assertIn("nope", self.expc("check", self.study, "-D", "nope=1", code=2).stderr)


class Plan(Tiny):
    def test_text_counts_points_and_trials(self):
        text = self.expc("plan", self.study, "--devices", "cpu:2").stdout
        self.assertRegex(text, r"Points +4 \(all combinations\)")
        self.assertRegex(text, r"Trials +32")
        self.assertIn("faster", text)

    def test_json_plan_is_accepted_by_run(self):
        document = self.expc("plan", self.study, "--devices", "cpu:2", "--format", "json").stdout
        self.assertEqual(json.loads(document)["schema"], "expc.plan/3")
        plan = self.write("plan.json", document)
        self.assertIn("PASS", self.run_study(plan).stdout)
        self.expc("run", plan, "-D", "gpus=1", code=2)

    def test_json_lines_have_a_header_and_a_line_for_each_point(self):
        lines = [json.loads(line) for line in
                 self.expc("plan", self.study, "--devices", "cpu:2", "--format", "jsonl").stdout.splitlines()]
        self.assertEqual(len(lines), 5)
        self.assertEqual(len({line["point"] for line in lines[1:]}), 4)

    def test_override_restricts(self):
        lines = self.expc("plan", self.study, "-D", "gpus=1", "--devices", "cpu:2", "--format", "jsonl").stdout.splitlines()
        self.assertEqual(len(lines), 3)
        full = self.expc("plan", self.study, "--devices", "cpu:2", "--format", "jsonl").stdout
        for line in lines[1:]:
            self.assertIn(json.loads(line)["point"], full, "a restricted point keeps its id")

    def test_damaged_plan_is_refused(self):
        document = self.document("plan", self.study, "--devices", "cpu:2")
        for name, damage in (("version", {"schema": "expc.plan/99"}), ("points", {"points": 3}), ("factors", {"factors": None})):
            path = self.write(f"{name}.json", json.dumps({**document, **damage}))
            self.assertIn(path.name, self.expc("run", path, code=1).stderr)
        self.expc("run", self.write("cut.json", json.dumps(document)[:200]), code=1)


class Run(Tiny):
    def test_pass_fail_undecided(self):
        for claim, code, word in ((PASSES, 0, "PASS"), (FAILS, 3, "FAIL"), (UNDECIDED, 4, "INCONCLUSIVE")):
            path = self.write("tiny.exp", STUDY.replace("CRITERION", claim))
            with self.subTest(word):
                self.assertIn(word, self.run_study(path, code=code).stdout)
                self.run_study(path, "--verdicts-ok", code=0)

    def test_second_run_measures_nothing_and_report_agrees(self):
        first = self.run_study(self.study)
        page = self.folder / "results" / "tiny.html"
        self.assertTrue(page.read_text().lower().startswith("<!doctype html>"))
        self.assertIn(str(pathlib.Path("results") / "tiny.html"), first.stdout)
        second = self.run_study(self.study)
        self.assertEqual(first.stdout, second.stdout)
        report = self.expc("report", self.study, "--devices", "cpu:2")
        self.assertEqual(report.stdout, first.stdout)

    def test_json_result(self):
        document = json.loads(self.run_study(self.study, "--format", "json", heat_up=True).stdout)
        self.assertEqual(document["schema"], "expc.report/1")
        self.assertEqual([c["verdict"] for c in document["criteria"]], ["pass"])

    def test_a_page_that_nobody_asked_for_and_that_cannot_be_written_does_not_hide_the_verdicts(self):
        self.write("fails.exp", STUDY.replace("CRITERION", FAILS))
        self.run_study(self.folder / "fails.exp", code=3)
        page = self.folder / "results" / "tiny.html"
        page.unlink()
        page.mkdir()  # stands in its way, whoever runs the test
        done = self.expc("report", "fails.exp", "--devices", "cpu:2", code=3)
        self.assertIn("the report page was not written: the report results/tiny.html: Is a directory; write it elsewhere", done.stderr)
        self.assertIn("FAIL", done.stdout)
        self.expc("report", "fails.exp", "--devices", "cpu:2", "--html", "results/tiny.html", code=1)

    def test_report_of_nothing(self):
        self.assertIn("results", self.expc("report", self.study, code=1).stderr)

    def test_missing_worker_says_what_to_do(self):
        self.assertIn("no-such-worker", self.expc("run", self.study, "--worker", "/no-such-worker", code=1).stderr)

    def test_estimate_after_a_run(self):
        self.run_study(self.study)
        self.assertRegex(self.expc("plan", self.study, "--devices", "cpu:2").stdout, r"forecast .* \(from stored trials\)")

    def test_two_studies_in_one_file(self):
        text = STUDY.replace("CRITERION", PASSES)
        other = STUDY.replace("CRITERION", FAILS).replace("study tiny", "study other").replace("import std.null\n", "")
        both = self.write("both.exp", text + other)
        self.run_study(both, code=3)
        self.run_study(both, "--study", "tiny", code=0)
        self.assertIn("--study", self.expc("plan", both, "--format", "json", code=2).stderr)
        self.assertIn("nope", self.expc("plan", both, "--study", "nope", code=2).stderr)
        # One page and one document are of one study: neither is written over by the next, or followed by it.
        of_one = [("run", both), ("report", both), ("compare", both, "results", "results")]
        for command in of_one:
            self.assertIn("has 2 studies, but a document is for one: choose it with --study NAME",
                          self.expc(*command, "--format", "json", code=2).stderr)
        for command in of_one[:2]:
            self.assertIn("has 2 studies, but a page is for one", self.expc(*command, "--html", "x.html", code=2).stderr)
        self.assertFalse((self.folder / "x.html").exists())
        self.assertIn("a picture is for one", self.expc("report", both, "--format", "svg", code=2).stderr)

    def test_who_closed_the_pipe_has_seen_enough(self):
        read, write = os.pipe()
        os.close(read)
        process = subprocess.Popen([OPTIONS.expc, "plan", self.study, "--devices", "cpu:2"], stdout=write, stderr=subprocess.PIPE)
        os.close(write)
        self.assertEqual(process.communicate(timeout=60)[1], b"")
        self.assertEqual(process.returncode, 0)


class LargerPlans(Tiny):
    """Plans with what a design can ask for beyond repetitions, as `run` accepts them."""

    def plan(self, change):
        plan = self.document("plan", self.study, "--devices", "cpu:2")
        change(plan)
        return self.write("plan.json", json.dumps(plan))

    def timed(self, plan):
        return next(kind for kind in plan["design"]["kinds"] if kind["kind"] == "timed")

    def test_controls_and_adaptive_repetition_are_run_and_reported(self):
        def change(plan):
            plan["controls"] = [{"name": "twice", "point": plan["points"][0]["id"]}]
            self.timed(plan).update(repeat_most=8,
                                    until=[{"subject": "gain", "half_width": 1e-6, "relative": True}])

        path = self.plan(change)
        result = self.run_study(path)
        self.assertIn("after 7 of at most 8 blocks: half-width of gain", result.stderr)
        self.assertNotIn("Controls", result.stdout)
        whole = self.expc("report", path, "--devices", "cpu:2", "--all").stdout
        self.assertIn("Controls", whole)
        self.assertIn("(control twice), run twice in each", " ".join(whole.split()))
        self.assertIn("timed trials, 8 of at most 8 repetitions", whole)
        report = self.document("report", path, "--devices", "cpu:2")
        self.assertEqual(report["controls"][0]["scope"]["complete"], 8)
        self.assertEqual(report["points"][0]["metrics"]["step_time"]["n"], 8)
        page = next((self.folder / "results").glob("*.html"))
        self.assertIn("Controls: identical runs in one block", page.read_text(encoding="utf-8"))

    def test_a_budget_ends_a_run_with_the_exit_code_of_the_verdicts(self):
        def change(plan):
            plan["design"]["budget_seconds"] = 0.001

        result = self.run_study(self.plan(change), code=4)
        self.assertIn("the budget of", result.stderr)
        self.assertIn("INCONCLUSIVE", result.stdout)

    def test_what_is_expected_infeasible_is_not_started_unless_asked(self):
        def change(plan):
            for point in plan["points"][2:]:
                point["expected_infeasible"] = "needs 120 GiB"

        path = self.plan(change)
        result = self.run_study(path, code=4)
        self.assertIn("2 points are estimated not to fit in memory and skipped (needs 120 GiB)", result.stderr)
        self.assertIn("was not started: its estimated memory exceeds the device's: needs 120 GiB", " ".join(result.stdout.split()))
        self.assertIn("PASS", self.run_study(path, "--try-infeasible").stdout)

    def test_a_claim_that_memory_runs_out_is_decided_by_trials(self):
        def change(plan):
            point = plan["points"][3]
            point["expected_infeasible"] = "needs 120 GiB"
            cell = {"kind": "timed", "estimator": "median", "levels": [], "points": [point["id"]], "term": {"constant": 1}}
            plan["criteria"] = [{"name": "too_large", "text": "forall *: infeasible", "factors": [], "infeasible": True, "unit": "",
                                 "bound": {"low": 1, "relation": ">=", "text": "infeasible"}, "not_asked": False, "domain": "", "doc": "",
                                 "cells": [cell], "claim": {"is": "forall", "children": [{"is": "cell", "cell": 0}]}}]

        result = self.run_study(self.plan(change), code=3)
        self.assertIn("ran well in", " ".join(result.stdout.split()))
        self.assertNotIn("not started", result.stdout + result.stderr)

    def test_a_workload_that_is_not_in_the_worker_is_one_line(self):
        def change(plan):
            plan["workloads"][0]["name"] = "llm.finetune"

        result = self.run_study(self.plan(change), code=1)
        self.assertIn("llm.finetune version 1 is not in this build of expc-worker-null", result.stderr)
        self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
        self.assertFalse((self.folder / "results").exists())


if __name__ == "__main__":
    main("--null-worker")
