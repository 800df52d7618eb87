#!/usr/bin/env python3
"""Devices and cores: who has them, and what happens when they cannot be had."""
import contextlib
import os
import signal
import sys
import tempfile

import harness
from harness import Folder, expect, marked_processes, wait_for


@contextlib.contextmanager
def leases():
    """A machine's folder of leases for this test alone."""
    with tempfile.TemporaryDirectory(prefix="expc-leases-") as folder:
        os.environ["EXPC_DEVICE_LOCKS"] = folder
        try:
            yield folder
        finally:
            os.environ["EXPC_DEVICE_LOCKS"] = "none"


def measuring(folder):
    """A run that is at a trial."""
    process = folder.start()
    wait_for(lambda: folder.results.exists() and folder.query("SELECT 1 FROM trial"), "the first trial has begun")
    return process


def two_runs_with_two_folders_do_not_share_cores():
    with leases(), Folder(duration="300ms") as one, Folder() as other:
        first = measuring(one)
        other.run().expect(1, "core 0", f"process {first.pid}: a run of faults", str(one.results), "--no-device-lease")
        expect(not other.query("SELECT 1 FROM trial"), "the second run has started nothing")
        other.run("--no-device-lease").expect(0)
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
    with Folder() as folder:
        os.environ["EXPC_DEVICE_LOCKS"] = "/proc/no-such-folder"
        try:
            folder.run().expect(0, "devices are not leased", "/proc/no-such-folder")
        finally:
            os.environ["EXPC_DEVICE_LOCKS"] = "none"


if __name__ == "__main__":
    harness.parse_options(heat_up=0)
    code = harness.main([two_runs_with_two_folders_do_not_share_cores, a_run_with_nothing_to_do_needs_no_devices,
                         leases_that_cannot_be_taken_are_said])
    left = marked_processes()
    if left:
        print(f"FAIL  processes are left: {left}")
        code = 1
    sys.exit(code)
