#!/usr/bin/env python3
"""What a run does about what fails: attempts, points that it gives up, other runs, limits of time, and true counts of all that. Trials are
real programs, run by `expc-worker-command`.

usage: failures_test.py --expc PATH
"""
import re
import signal
import subprocess

from command import OPTIONS, Command, main

# Level 3 needs a file that is not there, unless a test makes it.
LICENCE = """workload tool command ["sh", "-c", "test -e LICENCE -o $$0 -lt 3 || {{ echo no licence >&2; exit 1; }}; echo t $$0", "${{n}}"] {{
  param n : int in 1..9 = 1
  metric t : Time lower from regex("t ([0-9]+)", unit = 1ms)
}}
study lic {{
  workload tool
  factor n in 1..3  baseline 1
  compare r = ratio(t) over n
  criterion c: forall *: r <= 3.5x
  design {{ {design} }}
}}
"""
# Level 2 hangs, unless a test makes the file.
SERVER = """workload ask command ["sh", "-c", "test -e SERVER -o $$0 -lt 2 || sleep 60", "${n}"] {
  param n : int in 1..9 = 1
  metric wall : Time lower
}
study ask {
  workload ask
  factor n in 1..2  baseline 1
  compare r = ratio(wall) over n
  criterion c: forall *: wall <= 1h
  design { timed { repeat 3 } }
  table wall by n
}
"""


class Run(Command):
    timeout = 120

    def study(self, text):
        self.write("s.exp", text)

    def licensed(self, design="repeat 6"):
        self.study(LICENCE.format(design=design).replace("LICENCE", str(self.folder / "licence")))

    def run_study(self, *arguments, code=0):
        return self.expc("run", "s.exp", "--devices", "cpu:1", "--heat-up", "0", *arguments, code=code)

    def trials(self):
        """How the timed trials of each level ended, as `report` counts them."""
        report = self.document("report", "s.exp", code=self.code)
        levels = {next(iter(point["levels"].values())): point["trials"][0] for point in report["points"]}
        return {level: (counts["valid"], counts["failed"]) for level, counts in levels.items()}, levels

    code = 4  # of `report`


class Told(Run):
    def test_quiet_tells_only_what_needs_attention(self):
        self.licensed()
        loud = self.run_study("--where", "n < 3", code=4).stderr
        self.assertIn("[1/12] timed n=", loud)
        quiet = self.run_study("--quiet", code=6)
        self.assertIn("no licence", quiet.stderr)
        self.assertNotIn("valid in", quiet.stderr)
        self.assertNotIn("block ", quiet.stderr.split("timed n=3")[0])
        self.assertRegex(quiet.stdout, r"(?m)^BROKEN +c: ")

    def test_an_interrupt_counts_although_a_shell_told_us_to_ignore_it(self):
        self.study(SERVER.replace("SERVER", str(self.folder / "server")))
        run = subprocess.Popen([OPTIONS.expc, "run", "s.exp", "--devices", "cpu:1", "--heat-up", "0"], cwd=self.folder,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        for line in run.stderr:
            if line.startswith("block 1 "):
                break
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=60)
        self.assertEqual(run.returncode, 130)


class Folders(Run):
    def test_a_results_folder_that_is_removed_or_moved_ends_the_run_once_and_stays_away(self):
        for away in ("rm -rf results", "mv results moved"):
            with self.subTest(away):
                self.study('workload gone command ["sh", "-c", "cd %s && %s && echo done; exit 0", "x"] {\n'
                           '  param n : int in 1..9 = 1\n  metric wall : Time lower\n}\n'
                           'study s {\n  workload gone\n  factor n in 1..2\n  measure wall\n  design { repeat 2 }\n}\n'
                           % (self.folder, away))
                said = self.run_study(code=1).stderr
                self.assertEqual(said.count("disappeared during the run"), 1, said)
                self.assertIn("expc: error: the results folder", said)
                self.assertFalse((self.folder / "results").exists(), said)


class Reasons(Run):
    """Why a command failed, and what it looked for and was not given."""

    def failing(self, script, *, inputs="", **variables):
        self.write("b.py", script)
        self.study('workload b command ["python3", "b.py"] {\n  %s\n  metric wall : Time lower\n}\n'
                   'study s {\n  workload b\n  measure wall\n  design { repeat 1 }\n}\n' % inputs)
        return self.expc("run", "s.exp", "--devices", "cpu:1", "--heat-up", "0", code=None, **variables).stderr

    def test_the_reason_is_the_error_and_not_the_box_behind_it(self):
        said = self.failing("import sys\nsys.exit('RuntimeError: loss is nan\\n' + '=' * 60 + '\\nb.py FAILED\\n' + '=' * 60)")
        self.assertIn("python3 exited with code 1: RuntimeError: loss is nan\n", said)

    def test_no_reason_is_cut_inside_a_character(self):
        said = self.failing("import sys\nsys.exit('x' + 'é' * 200)", PYTHONIOENCODING="utf-8", LC_ALL="C.UTF-8")
        self.assertIn("x" + "é" * 99 + "...", said)
        self.assertNotIn("\ufffd", said)

    def test_a_variable_that_was_not_passed_is_named(self):
        said = self.failing("import os\nos.environ['MODEL_DIR']", MODEL_DIR="/m")
        self.assertIn("KeyError: 'MODEL_DIR'; MODEL_DIR is set here but not passed to commands: --pass-env MODEL_DIR", said)
        line = "HF_HOME, NCCL_DEBUG.* are set here but not passed to commands; --pass-env NAME passes one"
        self.assertRegex(self.failing("", HF_HOME="/hf", NCCL_DEBUG="INFO"), line)
        self.assertRegex(self.expc("plan", "s.exp", HF_HOME="/hf", NCCL_DEBUG="INFO").stderr, line)

    def test_a_file_beside_the_study_that_is_no_input_is_named(self):
        self.write("data/train.txt", "1")
        said = self.failing("open('data/train.txt')")
        self.assertIn("'data/train.txt'; data/train.txt is next to the study but not in the trial's folder: inputs \"data/train.txt\"", said)

    def test_an_import_works_whether_the_script_is_an_input_or_not(self):
        self.write("net.py", "K = 2")
        line = "b.py imports net.py, which is not an input, so a change of it goes unnoticed: inputs \"net.py\""
        for inputs in ("", 'inputs "b.py"'):
            with self.subTest(inputs):
                said = self.failing("import net", inputs=inputs)
                self.assertNotIn("failed", said)
                self.assertIn(line, said)
        self.assertNotIn("imports net.py", self.failing("import net", inputs='inputs "b.py", "net.py"'))
        self.assertIn("No module named 'gone'\n", self.failing("import gone"))

    def test_the_seed_fits_into_31_bits_and_a_block_shares_it(self):
        self.study('workload b command ["sh", "-c", "echo $$EXPC_SEED ${seed} $$0 >> %s/seeds", "${n}"] {\n'
                   '  param n : int in 1..2 = 1\n  metric wall : Time lower\n}\n'
                   'study s {\n  workload b\n  factor n in 1..2\n  measure wall\n  design { repeat 8 }\n}\n' % self.folder)
        self.run_study()
        seeds = [line.split() for line in (self.folder / "seeds").read_text().splitlines()]
        self.assertEqual(len(seeds), 16)
        self.assertTrue(all(first == second and int(first) < 2**31 for first, second, _ in seeds), seeds)
        self.assertEqual(len({seed for seed, _, _ in seeds}), 8)


class Failures(Run):
    code = 6  # a level that fails in every trial is broken

    def test_a_point_that_fails_again_and_again_is_given_up_and_the_others_go_on(self):
        self.licensed()
        said = self.run_study(code=6).stderr
        counts, levels = self.trials()
        self.assertEqual(counts, {"1": (6, 0), "2": (6, 0), "3": (0, 4)})
        self.assertIn("4 of 16 trials failed", said)
        self.assertIn("n=3 has 0 of 6", said)
        self.assertEqual(said.count("no licence"), 2, f"once as it happened, and once at the end\n{said}")
        self.assertIn("again for the same reason", said)
        totals = [int(total) for total in re.findall(r"^\[\d+/(\d+)\]", said, re.M)]
        self.assertEqual((totals[0], max(totals) <= 19), (18, True), "another try adds nothing, a pair to be made up adds its partner")
        self.assertIn("skipping timed n=3 for the rest of this run: it failed 4 times in a row", said)
        self.assertFalse(levels["3"]["lacking"], "another run tries it again")

    def test_nothing_is_all_there_when_something_failed_for_good(self):
        self.licensed()
        self.run_study("--give-up-after", "100", code=6)
        counts, levels = self.trials()
        self.assertEqual(counts["3"], (0, 18), "two attempts in each of 9 blocks")
        self.assertTrue(levels["3"]["lacking"])
        again = self.run_study(code=6)
        self.assertNotIn("are stored", again.stderr)
        self.assertIn("nothing to run: 18 of 33 trials failed; timed n=3 has 0 of 6 (sh exited with code 1: no licence); "
                      "--retry-failed tries again", again.stderr)
        self.assertIn("timed n=3: 0 of 6 blocks; expc has stopped retrying (--retry-failed tries again)", " ".join(again.stdout.split()))
        self.assertEqual(self.trials()[0], counts, "nothing was started")

    def test_what_failed_for_good_is_tried_again_when_asked(self):
        self.licensed()
        self.run_study("--give-up-after", "100", code=6)
        (self.folder / "licence").touch()
        self.run_study("--retry-failed")
        self.code = 0
        counts, levels = self.trials()
        self.assertEqual(counts["3"], (6, 18))
        self.assertFalse(levels["3"]["lacking"])
        self.assertIn("nothing to run: all 27 trials are stored", self.run_study().stderr)

    def test_fail_fast_ends_the_run_at_the_first_place_that_failed_for_good(self):
        self.licensed()
        said = self.run_study("--fail-fast", code=6).stderr
        counts, _ = self.trials()
        self.assertEqual(counts["3"], (0, 2))
        self.assertLessEqual(max(valid for valid, _ in counts.values()), 1)
        self.assertIn("stopped (--fail-fast): every attempt failed: timed n=3: sh exited with code 1: no licence", said)

    def test_a_fresh_run_measures_all_once_more_and_keeps_the_old(self):
        (self.folder / "licence").touch()
        self.licensed("repeat 3")
        self.run_study()
        self.run_study("--fresh")
        self.code = 0
        self.assertEqual(self.trials()[0], {level: (6, 0) for level in "123"})

    def test_a_run_can_be_held_to_some_points(self):
        self.licensed("repeat 3")
        self.code = 4
        self.run_study("--where", "n < 3", code=4)
        self.assertEqual(self.trials()[0], {"1": (3, 0), "2": (3, 0), "3": (0, 0)})
        self.assertIn("no point satisfies n > 5", self.run_study("--where", "n > 5", code=2).stderr)
        self.assertIn("m", self.run_study("--where", "m > 5", code=2).stderr)
        (self.folder / "plan.json").write_text(self.expc("plan", "s.exp", "--format", "json").stdout)
        self.assertIn("is a plan", self.expc("run", "plan.json", "--where", "n < 3", code=2).stderr)

    def test_no_more_than_the_most_of_an_adaptive_design_is_tried(self):
        self.licensed("repeat 4..7 until half_width(r) <= 0.00000001%")
        for _ in range(4):
            said = self.run_study("--give-up-after", "100", code=6).stderr
        _, levels = self.trials()
        self.assertLessEqual(levels["3"]["failed"], 14)
        self.assertLessEqual(levels["1"]["valid"], 7)
        self.assertNotIn("8 of at most", said)


class Timeouts(Run):
    def test_a_timeout_counts_under_its_limit_and_is_run_again_under_a_larger_one(self):
        self.study(SERVER.replace("SERVER", str(self.folder / "server")))
        self.code = 3
        self.run_study("--timeout", "1", code=3)
        _, levels = self.trials()
        self.assertEqual((levels["2"]["timeouts"], levels["2"]["timeout_limit"]), (3, 1))
        self.assertIn("nothing to run: all 6 trials are stored, 3 of them timed out", self.run_study("--timeout", "1", code=3).stderr)
        self.assertIn("nothing to run: all 6 trials are stored, 3 of them timed out", self.run_study("--timeout", "0.5", code=3).stderr)
        (self.folder / "server").touch()
        larger = self.run_study("--timeout", "50")
        self.code = 0
        _, levels = self.trials()
        self.assertEqual((levels["2"]["valid"], levels["2"]["timeouts"], levels["2"]["timeouts_superseded"]), (3, 3, 3))
        self.assertIn("3 timeouts ignored, because another trial had a longer limit", " ".join(larger.stdout.split()))
        self.assertIn("nothing to run: all 9 trials are stored", self.run_study("--timeout", "50").stderr)

    def test_timeouts_that_the_limit_of_the_study_does_not_repeat_need_a_longer_one(self):
        self.study(SERVER.replace("sleep 60", "sleep 1.5").replace('"${n}"] {', '"${n}"] timeout 1s {').replace("SERVER", "/nothing"))
        self.run_study("--timeout", "9", "-D", "design.timed.repeat=1")
        for _ in range(2):
            said = " ".join(self.run_study(code=4).stdout.split())
            self.assertIn("2 timeouts ignored, because another trial had a longer limit", said)
            self.assertIn("Run again what timed out, with a longer limit: expc run s.exp --study ask --timeout 2s ", said)
        self.run_study("--timeout", "20s")

    def test_a_study_of_which_every_trial_times_out_ends_after_four(self):
        self.study(SERVER.replace("SERVER", "/nothing").replace("1..2", "2..3").replace("baseline 1", "baseline 2")
                   .replace("wall <= 1h", "r <= 2x").replace("repeat 3", "repeat 9"))
        done = self.run_study("--timeout", "0.2", code=4)
        said = done.stderr
        self.assertIn("stopped: every timed trial timed out. Fix the cause or raise the limit, and the same command continues. "
                      "The cause: not finished after 0.2 s (--timeout sets another limit)", said)
        self.assertIn("\nINCONCLUSIVE r at n=3: both timed out, so they cannot be compared\n", done.stdout)
        self.assertNotIn("; INCONCLUSIVE", done.stdout)
        _, levels = self.trials()
        self.assertEqual([levels[level]["timeouts"] for level in "23"], [2, 2])


if __name__ == "__main__":
    main()
