#!/usr/bin/env python3
"""The kernel's memory killer, in a control group with a limit: what is reported is what happened to the trial's own processes."""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys

import harness
from harness import Folder, expect, expect_no_orphans, wait_for

LIMIT = 200 << 20
EAT = "b = bytearray()\nwhile True: b += bytes(1 << 20)"  # zeros are written, so they take memory

STUDY = """\
workload tool command ["python3", "-c", "{program}"] {{
  metric wall : Time lower
}}
study faults {{
  workload tool
  measure wall
  design {{ timed {{ repeat 1 }} }}
}}
"""


def own_group():
    """The memory group of this process, where groups can be made in it; else None."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            for mount in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
                front, back = mount.split(" - ")
                if back.startswith("cgroup ") and "memory" in back.split()[2].split(","):
                    folder = pathlib.Path(front.split()[4] + path)
                    return folder if os.access(folder, os.W_OK) else None
    return None


@contextlib.contextmanager
def limited_group():
    """A group with a limit; yields None where none can be made."""
    parent = own_group()
    group = parent / f"expc-fault-{os.getpid()}" if parent else None
    try:
        if group:
            group.mkdir()
            (group / "memory.limit_in_bytes").write_text(str(LIMIT))
    except OSError:
        group = None
    try:
        yield group
    finally:
        if group:
            group.rmdir()


def enter(group):
    return lambda: (group / "cgroup.procs").write_text(str(os.getpid()))


def run_in(group, folder, program, *options, meanwhile=lambda engine: None):
    folder.study.write_text(STUDY.format(program=program.replace("\\", "\\\\").replace("\n", "\\n")))
    engine = folder.start(*options, preexec=enter(group))
    meanwhile(engine)
    _, err = engine.communicate(timeout=60)
    expect_no_orphans()
    left = [child for child in group.iterdir() if child.is_dir()]
    expect(not left, f"groups that were made are removed: {left}")
    return err, folder.query("SELECT status, reason FROM trial")


def a_program_that_was_killed_for_memory_is_infeasible_with_the_evidence():
    with limited_group() as group, Folder() as folder:
        if group is None:
            return "SKIPPED: no memory group can be made"
        err, rows = run_in(group, folder, EAT)
        expect({status for status, _ in rows} == {"infeasible"}, f"it ran out of memory: {rows}\n{err}")
        expect("was killed by signal 9" in rows[0][1], f"it says how it ended: {rows}")
        expect("memory.oom_control says" in rows[0][1] or "the kernel's log says" in rows[0][1], f"and the evidence: {rows}")
    return None


def what_a_program_started_and_was_killed_for_memory_is_infeasible():
    with limited_group() as group, Folder() as folder:
        if group is None:
            return "SKIPPED: no memory group can be made"
        eater = EAT.replace("\n", "\\n")
        err, rows = run_in(group, folder, f"import subprocess, sys; subprocess.run([sys.executable, '-c', '{eater}'], check=True)")
        expect({status for status, _ in rows} == {"infeasible"}, f"it ran out of memory: {rows}\n{err}")
        expect("the kernel killed 1 process of it for memory, as " in rows[0][1], f"the evidence is there: {rows}")
        expect("memory.oom_control says" in rows[0][1], f"and where it is from: {rows}")
    return None


def another_process_that_was_killed_for_memory_is_not_the_trials():
    with limited_group() as group, Folder() as folder:
        if group is None:
            return "SKIPPED: no memory group can be made"
        killed = []

        def meanwhile(engine):
            wait_for(lambda: engine.poll() is not None or harness.workers_of(engine.pid)[1], "a trial runs", 20)
            other = subprocess.run([sys.executable, "-c", EAT], preexec_fn=enter(group), check=False)
            killed.append(other.returncode)

        err, rows = run_in(group, folder, "import time, sys; time.sleep(1); sys.exit('MemoryError: no such option')", meanwhile=meanwhile)
        expect(killed == [-signal.SIGKILL], f"the other one was killed: {killed}")
        expect({status for status, _ in rows} == {"failed"}, f"the trial failed by itself: {rows}\n{err}")
        expect("exited with code 1: MemoryError: no such option" in rows[0][1], f"with its own words: {rows}")
    return None


def a_program_killed_by_hand_is_not_out_of_memory():
    with limited_group() as group, Folder() as folder:
        if group is None:
            return "SKIPPED: no memory group can be made"
        _, rows = run_in(group, folder, "import os; os.kill(os.getpid(), 9)")
        expect({status for status, _ in rows} == {"failed"}, f"it failed: {rows}")
        expect("killed by signal 9 (Killed)" in rows[0][1] and "memory" not in rows[0][1], f"and nobody says why: {rows}")
    return None


def a_trial_beyond_its_memory_limit_is_infeasible_and_takes_nothing_from_others():
    with limited_group() as group, Folder() as folder:
        if group is None:
            return "SKIPPED: no memory group can be made"
        err, rows = run_in(group, folder, EAT, "--memory-limit", "150MiB")
        expect({status for status, _ in rows} == {"infeasible"}, f"it ran out of memory: {rows}\n{err}")
        expect("(its limit is 150 MiB)" in rows[0][1] or "the kernel's log says 'Memory cgroup out of memory" in rows[0][1], f"the evidence is there: {rows}")
    return None


if __name__ == "__main__":
    harness.parse_options(heat_up=0)
    sys.exit(harness.main([a_program_that_was_killed_for_memory_is_infeasible_with_the_evidence,
                           what_a_program_started_and_was_killed_for_memory_is_infeasible,
                           another_process_that_was_killed_for_memory_is_not_the_trials,
                           a_program_killed_by_hand_is_not_out_of_memory,
                           a_trial_beyond_its_memory_limit_is_infeasible_and_takes_nothing_from_others]))
