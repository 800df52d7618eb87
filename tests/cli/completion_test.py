#!/usr/bin/env python3
"""Completion in real shells: a line is typed into bash, zsh and fish on a terminal of its own, with the tab key where a user
presses it, and then run. Shells that are not installed are skipped, bash is not.

usage: completion_test.py --expc PATH
"""
import concurrent.futures
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import tempfile
import time
import unittest

from command import OPTIONS, Command, main

ROOT = pathlib.Path(__file__).resolve().parents[2]

STUDY = """import std.image
study first {
  workload image.mobilenet_v2(data = mnist("data/digits"))
  factor precision in { fp64, fp32 } baseline fp64
  factor gpus in { 1, 2 } baseline 1
  measure step_time
  design { timed { repeat 10  steps 30 }  seed 7 }
  preset quick { only gpus in { 1 } }
  preset small { size = 32px }
}
study second {
  workload image.mobilenet_v2(data = mnist("data/digits"))
  factor layout in { nchw, nhwc } baseline nchw
  measure step_time
  design { timed { repeat 10  steps 30 } }
  preset other { size = 32px }
}
"""

# One level is a text in which a shell would find words of its own.
LEVEL = """workload w command ["echo", "${t}"] {
  param t : string = "a"
  metric wall : Time lower
}
study s {
  workload w
  factor t in { "$(touch pwned) 'a' `b`" }
  measure wall
  design { repeat 7 }
}
"""


class Words(Command):
    """What could stand at the cursor, without a shell."""

    timeout = 60

    def setUp(self):
        super().setUp()
        self.write("study.exp", STUDY)

    def ask(self, *words):
        result = self.expc("complete-words", "--words", *words)
        self.assertEqual(result.stderr, "")
        return [line.split("\t")[0] for line in result.stdout.splitlines()]

    def line(self, text):
        return [line.split("\t")[0] for line in self.expc("complete-words", "--line", text).stdout.splitlines()]

    def test_commands_are_those_of_the_help(self):
        text = self.expc("--help").stdout
        listed = re.findall(r"^  (\w+) {2,}", text.split("Subcommands:")[1], re.M)
        self.assertEqual(self.ask(""), listed)
        self.assertEqual(self.ask("che"), ["check"])
        self.assertEqual(self.ask("--color", "always", "che"), ["check"])

    def test_options_and_their_choices(self):
        self.assertEqual(self.ask("check", "--f"), ["--format", "--fix"])
        self.assertEqual(self.ask("check", "--format", ""), ["text", "json", "sarif"])
        self.assertEqual(self.ask("check", "--format=s"), ["--format=sarif"])
        self.assertEqual(self.ask("plan", "--col"), ["--color"])
        self.assertEqual(self.ask("plan", "--color", "a"), ["auto", "always"])
        self.assertIn("--study", self.ask("run", "-"))
        self.assertEqual(self.ask("run", "--results", ""), [":folders"])
        self.assertEqual(self.ask("run", "--html", ""), [":files"])
        self.assertEqual(self.ask("rehearse", "--results", ""), [":folders"])
        self.assertIn("--again", self.ask("rehearse", "study.exp", "--"))
        self.assertIn("proxima", self.ask("rehearse", "study.exp", "--system", ""))

    def test_commands_within_a_command(self):
        self.assertEqual(self.ask("data", ""), ["make", "prepare", "pack", "inspect", "info", "verify"])
        self.assertEqual(self.ask("data", "make", ""), ["shapes"])
        self.assertEqual(self.ask("data", "make", "shapes", "--format", ""), ["jpeg", "png"])
        self.assertEqual(self.ask("data", "info", "--format", ""), ["text", "json"])
        self.assertEqual(self.ask("data", "make", "shapes", "--to", ""), [":folders"])
        self.assertEqual(self.ask("data", "pack", ""), [":files"])
        self.assertIn("--skip-corrupt", self.ask("data", "pack", "-"))
        self.assertEqual(self.ask("data", "draw", ""), [])

    def test_files_of_a_study(self):
        for command in ("check", "plan", "rehearse", "run", "report", "fmt"):
            self.assertEqual(self.ask(command, ""), [":files .exp"])
        self.assertEqual(self.ask("check", "study.exp", ""), [])
        self.assertEqual(self.ask("fmt", "study.exp", ""), [":files .exp"])

    def test_names_of_the_study_on_the_line(self):
        self.assertEqual(self.ask("plan", "study.exp", "--study", ""), ["first", "second"])
        self.assertEqual(self.ask("plan", "study.exp", "--preset", ""), ["quick", "small", "other"])
        self.assertEqual(self.ask("plan", "study.exp", "--study", "first", "--preset", ""), ["quick", "small"])
        self.assertEqual(self.ask("plan", "--study=second", "study.exp", "--preset="), ["--preset=other"])
        self.assertEqual(self.ask("plan", "--preset", ""), [])

    def test_overrides(self):
        self.assertEqual(self.ask("plan", "study.exp", "-D", "gp"), ["gpus="])
        self.assertEqual(self.ask("plan", "study.exp", "-D", "precision="), ["precision=fp64", "precision=fp32"])
        self.assertEqual(self.ask("plan", "study.exp", "-D", "design.t"), ["design.timed.repeat=", "design.timed.steps="])
        self.assertIn("size=", self.ask("plan", "study.exp", "-D", ""))
        self.assertNotIn("layout=nhwc", self.ask("plan", "study.exp", "--study", "first", "-D", "layout="))

    def test_codes_modules_workloads_shells(self):
        self.assertEqual(self.ask("explain", "E020"), [f"E020{n}" for n in range(1, 10)])
        self.assertEqual(self.ask("explain", "unknown-u"), ["unknown-unit"])
        self.assertIn("std.image", self.ask("doc", "std."))
        self.assertEqual(self.ask("doc", "std.image", ""), ["mobilenet_v2"])
        self.assertEqual(self.ask("completion", ""), ["bash", "fish", "zsh"])

    def test_lines_are_cut_as_a_shell_cuts_them(self):
        self.assertEqual(self.line("expc ch"), ["check"])
        self.assertEqual(self.line("expc check --format "), ["text", "json", "sarif"])
        self.assertEqual(self.line("expc plan 'study.exp' --preset \"qu"), ["quick"])
        os.rename(self.folder / "study.exp", self.folder / "my study.exp")
        self.assertEqual(self.line("expc plan my\\ study.exp --preset q"), ["quick"])

    def test_nothing_to_say_is_no_error(self):
        (self.folder / "broken.exp").write_text("study x {\n  preset early { }\n  factor in\n")
        for words in (["nonsense", ""], ["check", "nowhere.exp", "--preset", ""], ["explain", "E0203", ""], ["new", ""]):
            self.assertEqual(self.ask(*words), [])
        self.assertEqual(self.ask("check", "broken.exp", "--preset", ""), ["early"])

    def test_every_command_is_documented(self):
        page = (ROOT / "docs/command-line.md").read_text(encoding="utf-8")
        for command in self.ask(""):
            self.assertRegex(page, rf"(?m)^### .*`expc {command}\b")
            text = self.expc(command, "--help").stdout
            self.assertNotIn("->", text)
            for option in re.findall(r"^  (--[a-z-]+)", text, re.M):
                self.assertIn(option, page, f"docs/command-line.md does not know {option} of expc {command}")

    def test_the_options_of_a_run_stand_in_groups(self):
        text = self.expc("run", "--help").stdout
        groups = dict(re.findall(r"^(\S.*):\n((?:  .*\n)+)", text, re.M))
        self.assertEqual(re.findall(r"^  (-\S*)", groups["Options"], re.M), ["-h,--help"])
        self.assertIn("--memory-limit", groups["Limits of a trial"])


class Terminal:
    """A shell on a terminal of its own."""

    def __init__(self, arguments, folder, environment):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(arguments[0], arguments, environment)
        self.seen = ""

    def read(self, wanted, seconds=20):
        end = time.monotonic() + seconds
        while not re.search(wanted, self.seen):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.terminal], [], [], left)[0]:
                raise AssertionError(f"no {wanted!r} on the terminal, but: {self.seen[-2000:]!r}")
            try:
                self.seen += os.read(self.terminal, 65536).decode("utf-8", "replace")
            except OSError as error:
                raise AssertionError(f"the shell ended: {self.seen[-2000:]!r}") from error
        return re.search(wanted, self.seen)

    def quiet(self, seconds=0.4):
        """Reads until the shell has had nothing to say for a while, so that a key does not overtake an answer."""
        while select.select([self.terminal], [], [], seconds)[0]:
            try:
                self.seen += os.read(self.terminal, 65536).decode("utf-8", "replace")
            except OSError:
                return

    def type(self, text):
        for part in re.split("(\t)", text):
            os.write(self.terminal, part.encode())
            if part == "\t":
                self.quiet()

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


class Shell:
    """`expc` is a program that answers completion and else says what it was given."""

    def __init__(self, shell, load):
        with tempfile.TemporaryDirectory(prefix="expc-shell-") as folder:
            folder = pathlib.Path(folder)
            (folder / "study.exp").write_text(STUDY)
            (folder / "level.exp").write_text(LEVEL)
            (folder / "steps.txt").write_text("no study\n")
            (folder / "bin").mkdir()
            program = folder / "bin/expc"
            program.write_text('#!/bin/sh\ncase "$1" in complete-words|completion) exec "$EXPC" "$@";; esac\n'
                               'printf "GOT"; for word in "$@"; do printf "<%s>" "$word"; done; echo END\n')
            program.chmod(0o755)
            environment = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "HOME": str(folder), "TERM": "dumb",
                           "LC_ALL": "C.UTF-8", "EXPC": OPTIONS.expc, "PS1": "$ ", "HISTFILE": "/dev/null"}
            for name in ("LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS"):
                if name in os.environ:
                    environment[name] = os.environ[name]
            self.terminal = Terminal(shell, folder, environment)
            try:
                self.terminal.quiet(1)
                self.terminal.type(load + "; echo LOAD''ED\n")
                self.terminal.read("LOADED")
                self.terminal.quiet()
                self.given = {line: self.typed(line) for line in LINES}
            finally:
                self.terminal.close()

    def typed(self, line):
        """What `expc` is given when this line is typed and run."""
        self.terminal.seen = ""
        self.terminal.type(line + "\n")
        return re.findall("<([^>]*)>", self.terminal.read("GOT(.*?)END")[1])


# Lines that every shell must complete alike.
LINES = {"expc expl\tE0203": ["explain", "E0203"],
         "expc explain unknown-un\t": ["explain", "unknown-unit"],
         "expc check stu\t--fi\t": ["check", "study.exp", "--fix"],
         "expc plan st\t--study sec\t--pre\toth\t": ["plan", "study.exp", "--study", "second", "--preset", "other"],
         "expc plan study.exp -D gp\t2": ["plan", "study.exp", "-D", "gpus=2"],
         "expc plan study.exp -D layout=nh\t": ["plan", "study.exp", "-D", "layout=nhwc"],
         "expc check --format=sa\tstudy.exp": ["check", "--format=sarif", "study.exp"],
         "expc plan level.exp -D t=\t": ["plan", "level.exp", "-D", 't="$(touch pwned) \'a\' `b`"'],
         "expc doc std.im\tmob\t": ["doc", "std.image", "mobilenet_v2"]}
SHELLS = {"bash": (["bash", "--norc", "--noprofile", "-i"], 'eval "$(expc completion bash)"; bind "set bell-style none"'),
          "zsh": (["zsh", "-f", "-i"],
                  'unsetopt zle_bracketed_paste; autoload -Uz compinit; compinit -u -D; eval "$(expc completion zsh)"'),
          "fish": (["fish", "--no-config", "-i"], "set -g fish_autosuggestion_enabled 0; expc completion fish | source")}


class Shells(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # All run at once, since they mostly wait for silence.
        with concurrent.futures.ThreadPoolExecutor() as pool:
            cls.typed = {name: pool.submit(Shell, *how) for name, how in SHELLS.items() if shutil.which(name)}

    def lines(self, name):
        if name not in self.typed:
            self.skipTest(f"{name} is not installed")
        for line, given in self.typed[name].result().given.items():
            with self.subTest(line):
                self.assertEqual(given, LINES[line])

    def test_bash(self):
        self.lines("bash")

    def test_zsh(self):
        self.lines("zsh")

    def test_fish(self):
        self.lines("fish")


if __name__ == "__main__":
    main()
