#!/usr/bin/env python3
"""`expc bench`: the study that it writes, what it says, what it refuses; and what runs around a start of a command (before, warmup, exit).
Trials are real programs, run by `expc-worker-command`.

usage: bench_test.py --expc PATH
"""
import shutil
import subprocess

from command import OPTIONS, Command, main

# A second start in one folder, or one without what `before` makes there, fails. Each leaves a line beside the study.
AROUND = """workload tool command ["sh", "-c", "test ! -e mine && touch mine && test -e ready && echo start $$0 >> $$EXPC_STUDY_FOLDER/log; exit $$0", "${{code}}"] {{
  {clauses}
  param code : int in 0..9 = 0
  metric wall : Time lower
}}
study around {{
  workload tool
  measure wall
  design {{ timed {{ repeat 3  {settings} }} }}
}}
"""
READY = 'before ["sh", "-c", "touch ready; echo before >> $$EXPC_STUDY_FOLDER/log"]'


class Commands(Command):
    def read(self, name="bench.exp"):
        return (self.folder / name).read_text(encoding="utf-8")

    def values(self, study="bench.exp"):
        points = self.document("report", study, code=None)["points"]
        return [point["metrics"]["wall"]["values"] for point in points]


class Bench(Commands):
    def bench(self, *words, code=(0, 3, 4)):
        """Verdicts about times are their own affair, unless a test names the code."""
        done = self.expc("bench", "--heat-up", "0", *words, code=code)
        for study in self.folder.glob("bench*.exp"):
            self.expc("fmt", "--check", study.name)
            self.assertEqual(self.expc("check", study.name).stderr, f"{study.name}: no mistakes found\n")
        return done

    def test_two_commands_have_one_table_and_one_verdict(self):
        done = self.bench("sleep 0.2", "sleep 1", code=0)
        self.assertIn("wrote bench.exp", done.stderr)
        self.assertRegex(done.stdout, r"^Yes: sleep 0.2 is [0-9.]+ times as fast as sleep 1\.")
        # The answer, a table with a row for each command, and where the rest is.
        # A sentence about wide intervals may stand below the table.
        self.assertIn(len(done.stdout.splitlines()), range(8, 12), done.stdout)
        # Ten of each are enough for what is so clear; shorter ones would not be where other programs take the cores.
        self.assertEqual([len(values) for values in self.values()], [10, 10])
        study = self.read()
        self.assertIn('/// sleep 0.2\nworkload sleep_0_2 command ["sleep", "0.2"] {', study)
        self.assertIn("compare others_take = ratio(wall) over workload against sleep_0_2", study)
        self.assertNotIn("shell", study)
        # The other way round the answer is no.
        self.assertNotIn("already stored", done.stderr)
        done = self.bench("sleep 1", "sleep 0.2", code=3)
        self.assertTrue((self.folder / "bench_2.exp").exists())
        self.assertNotIn("already stored", done.stderr)  # all trials are, and the run says so
        done = self.bench("-r", "6", "sleep 0.2", "sleep 0.3", code=(0, 3, 4))
        self.assertIn("10 runs that were already stored count too; --results DIR keeps runs apart", done.stderr)

    def test_long_commands_are_named_by_what_differs(self):
        common = "sh -c true a_word_that_is_quite_long_and_says_nothing --chunk "
        self.bench("-r", "7", common + "16", common + "17")
        self.assertIn("workload chunk_16", self.read())
        self.assertIn("workload chunk_17", self.read())

    def test_what_is_stored_is_read_once_for_a_plan(self):
        if not shutil.which("strace"):
            self.skipTest("strace is not installed")
        self.bench("-r", "7", "sleep 0.01", "sleep 0.05")
        trace = self.folder / "trace"
        plan = subprocess.run(["strace", "-f", "-e", "trace=openat", "-o", trace, OPTIONS.expc, "plan", "bench.exp"], cwd=self.folder, capture_output=True,
                              text=True, timeout=300)
        self.assertEqual(plan.returncode, 0, plan.stderr)
        self.assertIn("14 stored, 0 to run", plan.stdout)
        self.assertIn("at the noise of stored trials", plan.stdout)
        # A journal is opened for its first line and for all of them.
        self.assertEqual(trace.read_text().count("results/journal/000001.jsonl"), 2, trace.read_text())

    def test_a_study_that_differs_is_never_written_over(self):
        line = ["-r", "7", "sleep 0.01", "sleep 0.05"]
        self.bench(*line)
        self.assertIn("continuing bench.exp", self.bench(*line).stderr)
        self.assertEqual([len(values) for values in self.values()], [7, 7])
        self.assertIn("14 runs that were already stored count too", self.bench(*line, "--fresh").stderr)
        grown = self.read().replace("repeat 7", "repeat 8")
        self.write("bench.exp", grown)
        self.assertIn("wrote bench_2.exp", self.bench(*line).stderr)
        self.assertEqual(self.read(), grown)
        self.assertIn("study bench_2 {", self.read("bench_2.exp"))
        self.expc("run", "bench.exp", "--heat-up", "0", code=(0, 3, 4))  # which goes on with it
        self.assertGreaterEqual(len(self.values()[0]), 8)

    def test_words_are_split_as_a_shell_does_and_a_shell_runs_the_rest(self):
        self.write("a file", "x\n")
        self.bench("-r", "1", """python3 -c 'import sys; sys.exit(sys.argv[1:] != ["a b", "$x"])' "a b" '$x'""")
        self.assertIn('"a b", "$$x"\n]', self.read())
        self.assertNotIn("shell", self.read())
        done = self.bench("-r", "7", """grep -q "x" 'a file' && V=1""", "A=b true")
        self.assertRegex(done.stdout, r"(?m)^grep -q \"x\" 'a file' && V=1 ")
        study = self.read("bench_2.exp")
        self.assertEqual(study.count("Started through a shell"), 2)
        self.assertIn('"sh", "-c", "A=b true"', study)
        self.bench("-r", "7", r"printf a\ b", "test -z ''")
        self.assertIn(r'"sh", "-c", "printf a\\ b"', self.read("bench_3.exp"))
        self.assertIn('"sh", "-c", "test -z \'\'"', self.read("bench_3.exp"))

    def test_each_start_finds_the_files_that_are_named(self):
        self.write("data.txt", "x" * 10000)
        self.write("helper.py", "RIGHT = 0\n")
        self.write("script.py", "import sys, helper\nsys.exit(helper.RIGHT)\n")
        (self.folder / "many" / "more").mkdir(parents=True)
        self.write("many/more/one.txt", "1\n")
        self.bench("-r", "9", "rm data.txt", "sh -c 'rm data.txt'", "cat many/more/one.txt", "python3 script.py")
        self.assertEqual(self.read("data.txt"), "x" * 10000)
        self.assertIn('inputs copy "data.txt"', self.read())
        self.assertIn('inputs copy "many/more/one.txt"', self.read())
        self.bench("-r", "2", "--here", "ls many helper.py")
        self.assertIn('"cd \\"$$EXPC_STUDY_FOLDER\\" && ls many helper.py"', self.read("bench_2.exp"))

    def test_a_parameter_is_a_factor(self):
        self.bench("-r", "2", "-P", "n=1,2", "-P", "unit=ms,s", "test {n}{unit} = 1ms -o {n}{unit} != 1ms")
        study = self.read()
        self.assertIn('factor n    in { 1, 2 }', study)
        self.assertIn('factor unit in { "ms", "s" }', study)
        self.assertIn('"${n}${unit}"', study)
        self.assertEqual(len(self.values()), 4)
        done = self.bench("-r", "7", "-P", "t=1,5", "sleep 0.0{t}", "sleep 0.1{t}")
        self.assertIn("param t : int", " ".join(self.read("bench_2.exp").split()))
        self.assertRegex(done.stdout, "^(Yes|No|Undecided)")
        self.assertIn("plot  wall over t by workload", self.read("bench_2.exp"))

    def test_one_command_has_a_table_and_no_verdict(self):
        done = self.bench("true a b")
        self.assertIn("wall", done.stdout)
        self.assertNotIn("criterion", self.read())
        self.assertEqual([len(values) for values in self.values()], [10])

    def test_what_is_prepared_and_what_runs_before(self):
        self.write("made.c", "int main() { return CODE; }\n")
        self.bench("-r", "2", "-w", "1", "-P", "o=0,2", "--prepare", "cp made.c made{o}", "--before", "touch ready", "test -e ready -a -e {prepared}/made{o}")
        self.assertIn('prepare ["cp", "made.c", "made${o}"]', self.read())
        self.assertIn('before ["touch", "ready"]', self.read())
        self.assertIn("warmup 1", self.read())

    def test_the_option_for_what_runs_before_each_start_is_named(self):
        done = self.bench("-r", "2", "--prepare", "true", "true")
        self.assertIn("what runs before each start is --before", done.stderr)

    def test_runs_with_which_the_claim_could_not_fail_are_refused(self):
        for words, needed in ((["-r", "6", "true", "true a", "true b"], 7), (["-r", "6", "-P", "n=1,2", "true {n}", "true a {n}"], 7)):
            self.assertIn(f"needs {needed} runs of each", self.expc("bench", *words, code=2).stderr)

    def test_what_is_no_measurement_is_refused_before_anything_is_written(self):
        for words, said in [
            (["nowhere-at-all x", "true"], "program 'nowhere-at-all' not found in PATH"),
            (["true", "./nowhere x"], "program './nowhere' not found"),
            (["-r", "5", "true", "false"], "-r 5: a verdict with 95 % confidence needs 6 runs"),
            (["true", "true"], "'true' is given twice"),
            (["gzip", "-6", "f", "zstd", "-3", "f"], "quote each command: expc bench 'gzip -6 f' 'zstd -3 f'"),
            (["gzip", "-6", "f"], "program '-6' not found in PATH; quote each command"),
            (["-P", "n=1,2", "true {n}", "false"], "-P n: 'false' has no {n} in it"),
            (["-P", "n=1,1", "true {n}"], "a value is there twice"),
            (["-P", "n", "true {n}"], "write a name and its values"),
            (["-P", "study=1,2", "true {study}"], "write a name and its values"),
            ([" "], "a command is empty"),
            ([], "required"),
        ]:
            done = self.expc("bench", *words, code=2)
            self.assertIn(said, done.stderr)
            self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_command_that_fails_is_broken(self):
        done = self.bench("-r", "7", "true", "ls nowhere", code=6)
        self.assertIn("nowhere", done.stdout + done.stderr)


class Around(Commands):
    """What runs around a start, in studies of one's own."""

    def around(self, clauses, settings="", code=0):
        self.write("a.exp", AROUND.format(clauses=clauses, settings=settings))
        done = self.expc("run", "a.exp", "--heat-up", "0", code=code)
        log = self.folder / "log"
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return " ".join((done.stderr + done.stdout).split()), lines

    def test_before_and_uncounted_starts_each_have_a_fresh_folder(self):
        self.assertEqual(self.around(READY)[1], ["before", "start 0"] * 3)
        said, lines = self.around(READY, "warmup 2")  # which is another trial
        self.assertEqual(lines, ["before", "start 0"] * 9)
        self.assertIn("other settings of timed trials", said)
        self.assertEqual(len(self.values("a.exp")[0]), 3)
        self.assertEqual(self.around(READY, "warmup 2")[1], [])

    def test_what_runs_before_is_part_of_a_trial(self):
        self.around(READY)
        self.assertIn("started otherwise", self.around(READY.replace("touch ready", "touch  ready"))[0])
        self.assertIn("started otherwise", self.around(READY + "\n  exit 0, 3")[0])

    def test_a_program_that_is_told_warms_itself(self):
        self.write("a.exp", AROUND.format(clauses=READY, settings="warmup 2").replace('"${code}"]', '"${code}", "${warmup}"]'))
        self.expc("run", "a.exp", "--heat-up", "0")
        self.assertEqual((self.folder / "log").read_text().splitlines(), ["before", "start 0"] * 3)

    def test_exit_codes_that_are_accepted(self):
        three = lambda clauses: AROUND.format(clauses=f"{READY}\n  {clauses}", settings="warmup 1").replace("= 0\n", "= 3\n")
        self.write("a.exp", three(""))
        self.assertIn("a start that does not count: sh exited with code 3", " ".join(self.expc("run", "a.exp", "--heat-up", "0", code=5).stderr.split()))
        self.write("a.exp", three("exit 0, 3"))
        self.expc("run", "a.exp", "--heat-up", "0")
        self.write("a.exp", AROUND.format(clauses=f"{READY}\n  exit 3", settings=""))  # 0 is no success then
        self.assertIn("sh exited with code 0", " ".join(self.expc("run", "a.exp", "--heat-up", "0", code=5).stderr.split()))

    def test_what_runs_before_fails_the_trial(self):
        said, lines = self.around('before ["sh", "-c", "echo no disk >&2; exit 4"]', code=5)
        self.assertIn("before: sh exited with code 4: no disk", said)
        self.assertEqual(lines, [])
        self.assertIn("PATH", self.around('before ["nowhere-at-all"]', code=1)[0])


if __name__ == "__main__":
    main()
