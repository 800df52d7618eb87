#!/usr/bin/env python3
"""The way of docs/clusters.md from an account to a verdict: its site file and each of its commands, read from the page, on a real Slurm."""
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "fault"))
import cluster  # noqa: E402
import harness  # noqa: E402
from harness import MARK, Folder, expect, expect_no_orphans, main, parse_options  # noqa: E402

STUDY = """\
workload sorts command ["sort", "numbers", "-o", "sorted", options] {
  inputs "numbers"
  param parallel : int in 1..2 = 1
  metric wall    : Time lower
}

study sorting {
  workload sorts()
  factor parallel in { 1, 2 } baseline 1
  measure wall
  compare gain = speedup(wall) over parallel
  criterion close: forall parallel: gain >= 0.001x with confidence 90%
  design { timed { repeat 6 } }
}
"""

# These are the tests' own, so that they neither wait for other runs nor are left behind.
OF_THE_TESTS = "export = EXPC_DEVICE_LOCKS\nexport = EXPC_FAULT_TEST\n"


def blocks():
    """The indented blocks of the page's first part: the site file and the commands."""
    part = (ROOT / "docs" / "clusters.md").read_text().split("\n## From an account to a verdict\n")[1].split("\n## ")[0]
    found = [[]]
    for line in part.splitlines():
        if line.startswith("    "):
            found[-1].append(line[4:])
        elif found[-1]:
            found.append([])
    return [block for block in found if block]


class Account(Folder):
    """A folder with the study, and commands as a user types them there."""

    def say(self, line):
        words = shlex.split(line, comments=True)
        expect(words[0] == "expc", f"the page's commands are ours: {line}")
        name, value = MARK.split("=")
        return subprocess.run([harness.options.expc, *words[1:]], cwd=self.path, text=True, capture_output=True, timeout=300,
                              env={**os.environ, name: value})


def each_command_of_the_page_does_what_it_says():
    site, commands = blocks()
    with Account() as account:
        account.study = account.path / "study.exp"
        account.study.write_text(STUDY)
        (account.path / "numbers").write_text("".join(f"{number * 7919 % 10007}\n" for number in range(10007)))
        (account.path / "site").write_text("\n".join(site) + "\n" + OF_THE_TESTS)
        said = {}
        for line in commands:
            done = account.say(line)
            expect(done.returncode == 0, f"{line}: exit code {done.returncode}\n{done.stderr}{done.stdout}")
            said[" ".join(shlex.split(line, comments=True)[1:])] = done
        run = "run study.exp --on slurm --site site"
        expect("#SBATCH --partition=main" in said[f"{run} --dry-run"].stdout, "the script is printed")
        expect("slurm-" in said[f"{run} --detach"].stderr, "the job is named")
        expect("slurm-" in said["status"].stdout, f"status tells of it\n{said['status'].stdout}")
        expect("PASS" in said["attach"].stdout + said["attach"].stderr, "attach shows the run to its end")
        expect(re.search("PASS +close", said["report study.exp"].stdout), f"there is a verdict\n{said['report study.exp'].stdout}")
        account.check_store(metric="wall")
        expect_no_orphans()


if __name__ == "__main__":
    cluster.skip_without()
    parse_options(heat_up=0)
    with cluster.Slurm() as slurm:
        sys.exit(main([each_command_of_the_page_does_what_it_says]))
