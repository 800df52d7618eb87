#!/usr/bin/env python3
"""Two machines that share a results folder, and folders that go away. A machine of its own is a mount namespace with other ids."""
import os
import pathlib
import signal
import subprocess
import sys
import uuid

import harness
from harness import Folder, expect, expect_no_orphans, wait_for, workers_of

BOOT, MACHINE = "/proc/sys/kernel/random/boot_id", "/etc/machine-id"
# How long a heartbeat is watched before its holder is believed dead, and some.
WATCHED = 90


def machine(folder, *shown):
    """Options that start a command where other ids stand in the files `shown`; None where nothing can be mounted."""
    mounts = []
    for path in shown:
        if not os.path.exists(path):
            return None
        text = folder.path / path.strip("/").replace("/", "-")
        text.write_text((uuid.uuid4().hex if path == MACHINE else str(uuid.uuid4())) + "\n")
        mounts.append(f"mount --bind {text} {path}")
    there = ["unshare", "--mount", "sh", "-c", " && ".join([*mounts, 'exec "$@"']), "sh"]
    return there if subprocess.run([*there, "true"], capture_output=True).returncode == 0 else None


def start_on(there, folder):
    """An engine of that machine. It is the process that was started: unshare and sh become it."""
    name, value = harness.MARK.split("=")
    return subprocess.Popen([*there, *folder.command()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, name: value}, cwd=folder.path)


def freeze(engine):
    """Stops it, and waits until all of it stands still: a signal takes its time."""
    engine.send_signal(signal.SIGSTOP)
    threads = pathlib.Path(f"/proc/{engine.pid}/task")
    wait_for(lambda: all((thread / "stat").read_text().rpartition(")")[2].split()[0] == "T" for thread in threads.iterdir()),
             "every thread is stopped")


def a_machine_of_the_same_name_is_not_taken_for_this_one():
    with Folder(duration="50s") as folder:
        there = machine(folder, BOOT, MACHINE)
        if there is None:
            return "SKIPPED: no permission to mount, or no /etc/machine-id"
        engine = start_on(there, folder)
        wait_for(lambda: workers_of(engine.pid)[1], "a trial runs there", 20)
        folder.run().expect(1, f"in use by process {engine.pid}")
        expect(engine.poll() is None, "it is not disturbed")
        engine.kill()
        engine.communicate()
        expect_no_orphans()


def a_machine_that_was_started_anew_goes_on_at_once():
    with Folder(duration="50s") as folder:
        there = machine(folder, BOOT)
        if there is None:
            return "SKIPPED: no permission to mount"
        engine = start_on(there, folder)
        wait_for(lambda: workers_of(engine.pid)[1], "a trial runs before the power fails", 20)
        engine.kill()
        engine.communicate()
        expect_no_orphans()
        folder.write(duration="5ms")
        folder.run(timeout=20).expect(0, f"process {engine.pid}", "is gone")
        folder.check_store()


def a_frozen_machine_that_wakes_up_commits_nothing():
    with Folder(duration="20ms", timed=40) as folder:
        there = machine(folder, BOOT, MACHINE)
        if there is None:
            return "SKIPPED: no permission to mount, or no /etc/machine-id"
        engine = start_on(there, folder)
        wait_for(lambda: (folder.query("SELECT count(*) FROM trial WHERE status = 'valid'") or [(0,)])[0][0] >= 4, "four trials are over", 20)
        freeze(engine)
        os.utime(folder.results / "expc.lease", (1, 1))  # long ago
        folder.run(timeout=WATCHED).expect(0, f"process {engine.pid}", "gave no sign of life")
        trials = folder.query("SELECT id, status FROM trial ORDER BY id")
        engine.send_signal(signal.SIGCONT)
        _, err = engine.communicate(timeout=30)
        expect(engine.returncode == 1 and "lost its lock" in err, f"it is told so\n{err}")
        expect_no_orphans()
        expect(folder.query("SELECT id, status FROM trial ORDER BY id") == trials, "nothing was added")
        folder.check_store()
        folder.check_complete(40, 1)


def a_folder_that_goes_away_ends_the_run_and_loses_nothing():
    """As a network folder whose server is lost: what was durable is there again with the folder."""
    with Folder(duration="20ms", timed=40) as folder:
        real = folder.path / "server"
        real.mkdir()
        folder.results.mkdir()
        mount = ["mount", "--bind", str(real), str(folder.results)]
        if subprocess.run(mount, capture_output=True).returncode != 0:
            return "SKIPPED: no permission to mount"
        try:
            engine = folder.start()
            wait_for(lambda: (folder.query("SELECT count(*) FROM trial WHERE status = 'valid'") or [(0,)])[0][0] >= 4, "four trials are over", 20)
            subprocess.run(["umount", "-l", str(folder.results)], check=True)
            _, err = engine.communicate(timeout=30)
            expect(engine.returncode == 1 and str(folder.results) in err, f"an error that names the folder\n{err}")
            expect_no_orphans()
            subprocess.run(mount, check=True)
            expect(folder.valid() >= 4, "what was told is there")
            folder.run().expect(0)
            folder.check_store()
            folder.check_complete(40, 1)
        finally:
            subprocess.run(["umount", "-l", str(folder.results)], capture_output=True)


def a_boot_clock_that_starts_anew_is_another_session():
    """As after a checkpoint or in another container: the same boot id, and a clock that is far behind."""
    with Folder(duration="2ms") as folder:
        ahead = ["unshare", "--time", "--fork", "--boottime", "1000000", "--monotonic", "1000000"]
        if subprocess.run([*ahead, "true"], capture_output=True).returncode != 0:
            return "SKIPPED: no permission to make a time namespace"
        first = start_on(ahead, folder)
        _, err = first.communicate(timeout=60)
        expect(first.returncode == 0, f"a run with a clock that is ahead\n{err}")
        folder.write(duration="2ms", timed=9)
        # The earlier verdict stands, unless the two sessions happen to differ.
        again = folder.run()
        expect(again.code in (0, 4), f"a second session after the clock jumped\n{again.err}")
        expect(folder.one("SELECT count(*) FROM trial WHERE seconds < 0 OR seconds > 100") == 0, "no trial took what a clock jumped")
        folder.check_store()
        folder.check_complete(9, 1)


if __name__ == "__main__":
    harness.parse_options(heat_up=0)
    sys.exit(harness.main([a_machine_of_the_same_name_is_not_taken_for_this_one, a_machine_that_was_started_anew_goes_on_at_once,
                           a_frozen_machine_that_wakes_up_commits_nothing, a_folder_that_goes_away_ends_the_run_and_loses_nothing,
                           a_boot_clock_that_starts_anew_is_another_session]))
