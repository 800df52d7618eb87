#!/usr/bin/env python3
"""Runs that are left to themselves on this machine; they need no Slurm."""
import os
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fault"))
import harness  # noqa: E402
from harness import Folder, expect, expect_no_orphans, main, marked_processes, parse_options, wait_for  # noqa: E402


def say(folder, command, *more):
    return subprocess.run([harness.options.expc, command, "--results", str(folder.results), *more], text=True, capture_output=True,
                          timeout=300)


def a_detached_run_survives_the_terminal_and_attach_exits_as_it_does():
    with Folder() as folder:
        terminal = folder.start("--detach", preexec=os.setsid)
        terminal.communicate(timeout=60)
        expect(terminal.returncode == 0, "it is left to itself")
        try:
            os.killpg(terminal.pid, signal.SIGHUP)
        except ProcessLookupError:
            pass  # nothing of it is left in the terminal's group
        attached = say(folder, "attach")
        expect(attached.returncode == 0, f"attach exits as the run does\n{attached.stderr}{attached.stdout}")
        expect("faster" in attached.stdout, "and shows what it printed")
        expect("ended with exit code 0" in say(folder, "status").stdout, "status says how it ended")
        folder.check_store()


def a_cancelled_run_leaves_nothing_behind_and_the_same_command_continues():
    with Folder(duration="50ms") as folder:
        folder.start("--detach").communicate(timeout=60)
        wait_for(lambda: "running" in say(folder, "status").stdout, "it runs", 30)
        wait_for(lambda: list(folder.results.glob("journal/*.jsonl")) and folder.valid() > 0, "trials are measured", 60)
        cancelled = say(folder, "cancel")
        expect(cancelled.returncode == 0, cancelled.stderr)
        expect(say(folder, "attach").returncode == 130, "it was interrupted")
        expect_no_orphans()
        folder.run(timeout=120).expect(0)
        folder.check_store()


def a_killed_run_is_over_without_an_exit_code():
    with Folder(duration="1s") as folder:
        folder.start("--detach").communicate(timeout=60)
        number = int(next((folder.results / "jobs").glob("*.json")).stem.split("-")[1])
        expect(number in marked_processes(), "it is there")
        os.kill(number, signal.SIGKILL)
        wait_for(lambda: "no exit code recorded" in say(folder, "status").stdout, "status says so", 30)
        expect_no_orphans()


if __name__ == "__main__":
    parse_options(heat_up=0)
    sys.exit(main([a_detached_run_survives_the_terminal_and_attach_exits_as_it_does,
                   a_cancelled_run_leaves_nothing_behind_and_the_same_command_continues, a_killed_run_is_over_without_an_exit_code]))
