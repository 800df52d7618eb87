#!/usr/bin/env python3
"""Devices and cores: who has them, and what happens when they cannot be had."""
import contextlib
import json
import os
import pathlib
import signal
import sys
import tempfile

import harness
from harness import Folder, expect, marked_processes, wait_for


@contextlib.contextmanager
def leases_in(folder):
    before = os.environ["EXPC_DEVICE_LOCKS"]
    os.environ["EXPC_DEVICE_LOCKS"] = folder
    try:
        yield folder
    finally:
        os.environ["EXPC_DEVICE_LOCKS"] = before


@contextlib.contextmanager
def leases():
    """A machine's folder of leases for this test alone."""
    with tempfile.TemporaryDirectory(prefix="expc-leases-") as folder, leases_in(folder):
        yield folder


def measuring(folder):
    """A run that is at a trial."""
    process = folder.start()
    wait_for(lambda: folder.results.exists() and folder.query("SELECT 1 FROM trial"), "the first trial has begun")
    return process


def two_runs_with_two_folders_do_not_share_cores():
    with leases(), Folder(duration="300ms") as one, Folder() as other:
        first = measuring(one)
        other.run().expect(1, "core 0", f"process {first.pid}, a run of faults", str(one.results), "EXPC_DEVICE_LOCKS=none")
        expect(not other.query("SELECT 1 FROM trial"), "the second run has started nothing")
        with leases_in("none"):
            other.run().expect(0)
        # However the first one ends, its leases end with it.
        first.kill()
        first.communicate()
        other.run("--fresh").expect(0)


def a_run_with_nothing_to_do_needs_no_devices():
    with leases(), Folder() as done, Folder(duration="300ms") as one:
        done.run().expect(0)
        first = measuring(one)
        done.run().expect(0, "nothing to run")
        first.send_signal(signal.SIGINT)
        first.communicate()


def leases_that_cannot_be_taken_are_said():
    with Folder() as folder, leases_in("/proc/no-such-folder"):
        folder.run().expect(0, "cannot reserve devices", "/proc/no-such-folder")


STUDY = """\
workload tool command ["./tool.sh", "${{n}}"] {{
  param n : int
  metric wall : Time lower
}}
study faults {{
  workload tool
  factor n in {{ 1, 2 }}
  measure wall
  design {{ timed {{ repeat {repeat} }}  share 2 }}
}}
"""


def commands(folder, script, repeat=4):
    folder.study.write_text(STUDY.format(repeat=repeat))
    tool = folder.path / "tool.sh"
    tool.write_text("#!/bin/sh\n" + script)
    tool.chmod(0o755)


def blocks_beside_each_other_have_devices_of_their_own():
    with Folder() as folder:
        # Says which core it has, and how many of its kind there are now.
        commands(folder, f"""
mkdir {folder.path}/here.$EXPC_TRIAL
taskset -pc $$ > {folder.path}/core.$EXPC_TRIAL
for i in 1 2 3 4 5 6; do ls -d {folder.path}/here.* >> {folder.path}/seen.$EXPC_TRIAL; sleep 0.05; done
rmdir {folder.path}/here.$EXPC_TRIAL
""")
        folder.run("--devices", "cpu:2").expect(0, "2 blocks run in parallel, on devices 0, 1")
        folder.check_store("wall")
        expect(folder.one("SELECT count(*) FROM trial WHERE status = 'valid'") == 3 * 4, "two points and the control in four blocks")
        expect(folder.one("SELECT count(DISTINCT session) FROM trial") == 2, "each lane has a session")
        expect(folder.query("SELECT block FROM trial GROUP BY block HAVING count(DISTINCT devices) > 1") == [], "a block keeps its devices")
        shared = 0
        for trial, label in folder.query("SELECT id, label FROM trial"):
            seen = set((folder.path / f"seen.{trial}").read_text().split())
            if label == "run.alone":
                expect(len(seen) == 1, f"the control ran alone, not beside {seen}")
            elif len(seen) > 1:
                shared += 1
        expect(shared > 0, "other trials ran beside each other")
        alone = folder.run("--devices", "cpu:2", "--jobs", "1").expect(0)
        expect("stored but ignored" in alone.err, "what ran beside others counts only beside such")
        return f"{shared} trials beside others"


@contextlib.contextmanager
def freezer():
    """A control group in which a process is in state D and does not die; yields None where none can be made."""
    group = pathlib.Path(f"/sys/fs/cgroup/freezer/expc-fault-{os.getpid()}")
    try:
        group.mkdir()
    except OSError:
        yield None
        return
    try:
        yield group
    finally:
        thaw(group)
        wait_for(lambda: not (group / "cgroup.procs").read_text(), "what was frozen is gone")
        group.rmdir()


def thaw(group):
    (group / "freezer.state").write_text("THAWED")


def a_process_that_does_not_die_closes_its_lane_and_keeps_its_devices():
    with freezer() as group, leases(), Folder() as folder:
        if group is None:
            return "SKIPPED: no freezer group can be made"
        commands(folder, f"""
if mkdir {folder.path}/once 2> /dev/null; then
  echo $$ > {group}/cgroup.procs
  echo $$ > {folder.path}/pid
  echo FROZEN > {group}/freezer.state
fi
sleep 0.1
""")
        ended = folder.run("--devices", "cpu:2", "--timeout", "2", timeout=120)
        pid = (folder.path / "pid").read_text().strip()
        ended.expect(0, f"process {pid}, in state D", "the others continue")
        expect(folder.one("SELECT count(*) FROM trial WHERE status = 'timeout'") == 1, "its trial timed out")
        core = "core " + str(json.loads(folder.one("SELECT devices FROM trial WHERE status = 'timeout'"))[0]["cores"][0])
        folder.check_store("wall")
        # Who wants all devices is told who has one of them.
        folder.run("--devices", "cpu:2", "--fresh").expect(1, f"{core} is in use by process {pid}, which an earlier run killed")
        thaw(group)
        folder.run("--devices", "cpu:2", "--fresh").expect(0)


def temporary_files_of_a_trial_go_with_it():
    with Folder() as folder, tempfile.TemporaryDirectory(prefix="expc-tmp-") as temporary:
        os.environ["TMPDIR"] = temporary
        try:
            commands(folder, f"""
test -z "$(ls -A $TMPDIR)" || exit 1
echo $TMPDIR >> {folder.path}/folders
mkdir -p $TMPDIR/some/where; echo x > $TMPDIR/some/where/left
test $1 = 1 || sleep 60
""", repeat=2)
            folder.run("--devices", "cpu:2", "--timeout", "1")
        finally:
            del os.environ["TMPDIR"]
        folders = (folder.path / "folders").read_text().split()
        expect(len(folders) >= 6 and all(name.startswith(temporary) for name in folders), f"each trial had one, below TMPDIR: {folders}")
        left = [name for name in folders if os.path.exists(name)]
        expect(not left, f"they are gone, also those of trials that were killed: {left}")


if __name__ == "__main__":
    harness.parse_options(heat_up=0)
    code = harness.main([two_runs_with_two_folders_do_not_share_cores, a_run_with_nothing_to_do_needs_no_devices,
                         leases_that_cannot_be_taken_are_said, blocks_beside_each_other_have_devices_of_their_own,
                         a_process_that_does_not_die_closes_its_lane_and_keeps_its_devices,
                         temporary_files_of_a_trial_go_with_it])
    left = marked_processes()
    if left:
        print(f"FAIL  processes are left: {left}")
        code = 1
    sys.exit(code)
