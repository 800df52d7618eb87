#!/usr/bin/env python3
"""Everything that goes wrong around a run, one at a time: workers, signals, a second engine, disks, damaged files."""
import contextlib
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import time

import harness
import stored
from harness import Folder, expect, expect_no_orphans, marked_processes, wait_for, workers_of


FILLS = """\
workload w command ["sh", "-c", "COMMAND"] {
  PREPARE
  metric v : Bytes lower from regex("^v ([0-9]+)", unit = 1B)
}
study s {
  workload w
  measure v
  criterion small: forall *: v <= 5B
  design { repeat 8 }
}
"""


def fault(name, status, reason, tail="", timeout="0.4", **study):
    """A study whose every trial has the fault: the run goes on to its end and says why nothing came of it."""
    with Folder(fault=name, timed=1, **study) as folder:
        ended = folder.run("--timeout", timeout)
        expect(ended.code in (3, 4, 5, 6), f"no verdict can pass, got exit code {ended.code}\n{ended.err}")
        rows = folder.query("SELECT DISTINCT status FROM trial")
        expect(rows == [(status,)], f"{name}: all trials are {status}, got {rows}")
        reasons = [row[0] for row in folder.query("SELECT DISTINCT reason FROM trial")]
        expect(all(reason in text for text in reasons), f"{name}: the reason has '{reason}', got {reasons}")
        expect(reason in ended.err, f"{name}: the user sees '{reason}'\n{ended.err}")
        if tail:
            expect(tail in folder.one("SELECT log_tail FROM trial"), f"{name}: the log's tail has '{tail}'")
        blocks = folder.one("SELECT count(DISTINCT block) FROM trial WHERE kind = 'timed'")
        expect(blocks <= 2, f"{name}: retries have a cap, {blocks} blocks were tried")
        expect(folder.one("SELECT max(attempt) FROM trial") == (2 if status == "failed" else 1), f"{name}: two attempts at most")
        expect(not (folder.results / "expc.lease").exists(), "the lease is given back")
        folder.check_store()
        expect_no_orphans()


def faults_of_the_worker():
    fault("exit", "failed", "exited with code 7", tail="the last words of rank 0")
    fault("abort", "failed", "killed by signal 6")
    fault("garbage", "failed", "wrote a line that is not an event: 'step 3 of 10, loss nan'")
    fault("silent", "failed", "ended without a result")
    fault("refuse", "failed", "null.idle was asked to fail")
    fault("late_exit", "failed", "exited with code 9")
    fault("missing_metric", "failed", "has no metric")
    fault("out_of_memory", "infeasible", "out of memory, as asked")
    fault("hang", "timeout", "not finished after 0.4 s")
    fault("flood", "timeout", "not finished after 0.4 s")  # events without end keep nobody from looking at the time
    fault("late_hang", "failed", "did not end within 1 s of the result")


def a_dead_rank_ends_its_siblings():
    if len(os.sched_getaffinity(0)) < 2:
        return "SKIPPED: one core, so no second rank"
    begin = time.monotonic()
    fault("abort", "failed", "rank 1 was killed by signal 6", timeout="40", gpus="2", rank=1, duration="50s")
    expect(time.monotonic() - begin < 20, "rank 0, which would sleep for 50 s, does not hold up the trial")


def an_unreliable_worker_is_tried_again():
    with Folder(fault="exit", rate="0.2", timed=7, quality=1) as folder:
        folder.run().expect(0)
        failed = folder.one("SELECT count(*) FROM trial WHERE status = 'failed'")
        expect(failed > 0, "some attempt failed")
        folder.check_store()
        folder.check_complete(7, 1)
        return f"{failed} failed attempts"


def start_long(folder, *extra):
    """A run whose trials take longer than the test: returned when the first one's rank lives."""
    engine = folder.start(*extra)
    wait_for(lambda: engine.poll() is not None or workers_of(engine.pid)[1], "a trial runs", 20)
    expect(engine.poll() is None, "the run goes on")
    return engine


def interrupt(number):
    with Folder(duration="50s") as folder:
        engine = start_long(folder)
        begin = time.monotonic()
        engine.send_signal(number)
        _, err = engine.communicate(timeout=10)
        expect(engine.returncode == 130, f"exit code 130, got {engine.returncode}\n{err}")
        expect(time.monotonic() - begin < 3, "it ends at once")
        expect("the same command continues" in err, f"the user knows how to go on\n{err}")
        expect_no_orphans()
        expect(folder.query("SELECT status FROM trial") == [("interrupted",)], "the trial is interrupted")
        expect(folder.one("SELECT outcome FROM run") == "interrupted", "the run is interrupted")
        expect(not (folder.results / "expc.lease").exists(), "the lease is given back")
        folder.check_store()
        folder.write(duration="5ms")
        folder.run().expect(0)


def a_stopped_engine_finds_what_ended_meanwhile():
    """Promised: a trial that finished before it was looked at is valid, however late the engine wakes."""
    with Folder(duration="400ms", timed=1) as folder:
        engine = start_long(folder, "--timeout", "0.8")
        engine.send_signal(signal.SIGSTOP)
        time.sleep(2.5)
        expect(not workers_of(engine.pid)[1], "the trial ended beside the stopped engine")
        engine.send_signal(signal.SIGCONT)
        _, err = engine.communicate(timeout=60)
        expect(engine.returncode == 0, f"the run goes on\n{err}")
        expect(folder.query("SELECT DISTINCT status FROM trial") == [("valid",)], f"no trial is taken for late\n{err}")
        expect(folder.one("SELECT max(seconds) FROM trial") < 2, "the engine's sleep is not in the trial's time")
        folder.check_store()


def ctrl_c():
    interrupt(signal.SIGINT)


def sigterm():
    interrupt(signal.SIGTERM)


def ctrl_c_twice():
    with Folder(duration="50s") as folder:
        engine = start_long(folder)
        # A stopped server cannot answer, so the first one has to wait for it.
        server = workers_of(engine.pid)[0]
        for pid in server:
            os.kill(pid, signal.SIGSTOP)
        engine.send_signal(signal.SIGINT)
        time.sleep(0.3)
        expect(engine.poll() is None, "the first one waits for the worker")
        engine.send_signal(signal.SIGINT)
        engine.communicate(timeout=3)
        expect(engine.returncode == 130, f"exit code 130, got {engine.returncode}")
        for pid in server:
            os.kill(pid, signal.SIGCONT)
        expect_no_orphans()
        folder.write(duration="5ms")
        folder.run().expect(0, "resuming")


def a_killed_engine_leaves_nothing_running():
    with Folder(duration="50s") as folder:
        engine = start_long(folder)
        pid = engine.pid
        engine.kill()
        engine.communicate()
        expect_no_orphans()
        holder = json.loads((folder.results / "expc.lease").read_text())
        expect(holder["pid"] == pid, "the lease names the dead engine")
        folder.write(duration="5ms")
        folder.run().expect(0, f"process {pid}", "is gone")


def two_engines():
    with Folder(duration="50s") as folder:
        first = start_long(folder)
        second = folder.run()
        second.expect(1, f"in use by process {first.pid} on host {os.uname().nodename}", "--results")
        expect(first.poll() is None, "the first one is not disturbed")
        report = subprocess.run([harness.options.expc, "report", str(folder.study), "--results", str(folder.results)],
                                capture_output=True, text=True, cwd=folder.path)
        expect(report.returncode != 0 and "a run is in progress" in report.stderr, f"a report says so too\n{report.stderr}")
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=10)
        folder.check_store()


def a_report_beside_a_run():
    with Folder(duration="5ms", timed=40) as folder:
        engine = folder.start()
        wait_for(lambda: (folder.query("SELECT count(*) FROM trial WHERE status = 'valid'") or [(0,)])[0][0] >= 4, "four trials are over", 20)
        for _ in range(10):
            report = subprocess.run([harness.options.expc, "report", str(folder.study), "--results", str(folder.results)],
                                    capture_output=True, text=True, cwd=folder.path)
            expect(report.returncode in (0, 3, 4), f"a report works beside the run\n{report.stderr}")
            expect(engine.poll() is None, "the run goes on meanwhile")
        _, err = engine.communicate(timeout=60)
        expect(engine.returncode == 0, f"the run is not disturbed\n{err}")
        folder.check_store()


def the_launch_server_dies():
    with Folder(duration="300ms", timed=1) as folder:
        engine = start_long(folder)
        server, ranks = workers_of(engine.pid)
        os.kill(server[0], signal.SIGKILL)
        _, err = engine.communicate(timeout=60)
        expect(engine.returncode == 0, f"the run goes on\n{err}")
        expect("starting it again (1 of 3)" in err, f"the user is told\n{err}")
        expect(folder.one("SELECT count(*) FROM trial WHERE status = 'failed' AND reason LIKE '%launch server%'") == 1,
               "its trial failed with the reason")
        expect_no_orphans()
        folder.check_store()


def the_launch_server_keeps_dying():
    with Folder(duration="50s") as folder:
        engine = folder.start()
        end = time.monotonic() + 30
        killed = set()
        while engine.poll() is None and time.monotonic() < end:
            server, ranks = workers_of(engine.pid)
            for pid in server:
                if ranks and pid not in killed:
                    killed.add(pid)
                    with contextlib.suppress(OSError):
                        os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)
        _, err = engine.communicate(timeout=10)
        expect(engine.returncode == 1, f"an error, got {engine.returncode}\n{err}")
        expect("launch server died 4 times" in err and "worker-server.log" in err, f"it says what and where\n{err}")
        expect_no_orphans()
        folder.check_store()


def a_rank_killed_from_outside():
    with Folder(duration="400ms", timed=1) as folder:
        engine = start_long(folder)
        os.kill(workers_of(engine.pid)[1][0], signal.SIGKILL)
        _, err = engine.communicate(timeout=60)
        expect(engine.returncode == 0, f"the attempt is repeated\n{err}")
        expect("killed by signal 9" in err, f"the reason is told\n{err}")
        folder.check_store()


@contextlib.contextmanager
def small_disk(path, size):
    """A tmpfs of that size; yields None where mounting is not allowed."""
    path.mkdir(parents=True, exist_ok=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path)], capture_output=True)
    if mounted.returncode != 0:
        yield None
        return
    try:
        yield lambda options: subprocess.run(["mount", "-o", f"remount,{options}", str(path)], check=True, capture_output=True)
    finally:
        subprocess.run(["umount", "-l", str(path)], capture_output=True)


def a_full_disk():
    with Folder(duration="2ms", timed=40) as folder, small_disk(folder.results, "200k") as remount:
        if remount is None:
            return "SKIPPED: no permission to mount a tmpfs"
        ended = folder.run("--timeout", "5").expect(1)
        expect("disk is full" in ended.err or "No space left" in ended.err, f"it says that the disk is full\n{ended.err}")
        expect(str(folder.results) in ended.err, f"it names the folder\n{ended.err}")
        expect_no_orphans()
        remount("size=50m")
        before = folder.valid()
        expect(before > 0, "some trials were measured before")
        folder.check_store()
        folder.run().expect(0)
        folder.check_store()
        folder.check_complete(40, 1)
        return f"{before} trials before it was full"


def a_disk_that_a_program_fills():
    """What it wrote last is cut off, and is no value; nor does it say that the program failed."""
    fills = "echo v 22; head -c 900000 /dev/zero 2>/dev/null; echo; echo v 2; exit 0"
    prepares = 'prepare ["sh", "-c", "head -c 900000 /dev/zero > big 2>/dev/null; exit 0"]'
    for what, before in ((fills, ""), ("set -e; " + fills, ""), ("echo v 2", prepares)):
        with Folder() as folder, small_disk(folder.results, "400k") as remount:
            if remount is None:
                return "SKIPPED: no permission to mount a tmpfs"
            folder.study.write_text(FILLS.replace("COMMAND", what).replace("PREPARE", before), encoding="utf-8")
            command = [harness.options.expc, "run", str(folder.study), "--results", str(folder.results), "--devices", "cpu:1", "--heat-up", "0"]
            ended = subprocess.run(command, capture_output=True, text=True, cwd=folder.path)
            expect(ended.returncode == 1, f"the run ends\n{ended.stderr}")
            expect("No space left" in ended.stderr and str(folder.results) in ended.stderr, f"it says that the disk is full\n{ended.stderr}")
            remount("size=20m")
            ended = subprocess.run(command, capture_output=True, text=True, cwd=folder.path)
            expect(ended.returncode == 0, f"the same command continues\n{ended.stderr}")
            rows = stored.rows(harness.options.expc, folder.results, "SELECT trial.status, metric_value.value FROM trial LEFT JOIN metric_value ON "
                               "metric_value.trial = trial.id WHERE trial.status IN ('valid', 'failed')")
            expect(len(rows) == 8 and all(row == ("valid", 2) for row in rows), f"every value is the last that the program said: {rows}")


def a_file_size_limit():
    """The same where nothing can be mounted: no file can grow beyond a limit."""
    with Folder(duration="2ms", timed=7) as folder:
        folder.run().expect(0)
        before = folder.valid()
        size = max(file.stat().st_size for file in (folder.results / "journal").iterdir()) + 4096

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        folder.write(duration="2ms", timed=60)
        ended = folder.run(preexec=limit).expect(1, str(folder.results))
        expect("kept" in ended.err, f"it says that nothing is lost\n{ended.err}")
        expect_no_orphans()
        folder.check_store()
        expect(folder.valid() >= before, "nothing is lost")
        folder.run().expect(0)
        folder.check_complete(60, 1)


def a_read_only_folder():
    if os.geteuid() != 0:
        with Folder() as folder:
            folder.results.mkdir()
            folder.results.chmod(0o555)
            folder.run().expect(1, str(folder.results), "--results")
            folder.results.chmod(0o755)
        return None
    with Folder() as folder, small_disk(folder.results, "10m") as remount:
        if remount is None:
            return "SKIPPED: root is not held back by permissions, and no permission to mount a tmpfs"
        remount("ro")
        folder.run().expect(1, str(folder.results), "--results")
        remount("rw")
        folder.run().expect(0)
        remount("ro")
        report = subprocess.run([harness.options.expc, "report", str(folder.study), "--results", str(folder.results), "--html",
                                 str(folder.path / "page.html")], capture_output=True, text=True, cwd=folder.path)
        expect(report.returncode == 0, f"what is there can still be looked at\n{report.stderr}")


def a_copy_of_what_a_kill_left_says_the_same():
    """Times of files, which a copy may or may not keep, decide nothing."""
    with Folder(duration="20ms", timed=40) as folder:
        engine = folder.start()
        wait_for(lambda: (folder.query("SELECT count(*) FROM trial WHERE status = 'valid'") or [(0,)])[0][0] >= 4, "four trials are over", 20)
        engine.kill()
        engine.communicate()
        expect_no_orphans()
        rows = folder.query("SELECT id, status FROM trial ORDER BY id")
        for name, copy in {"new times": shutil.copyfile, "the same times": shutil.copy2}.items():
            other = folder.path / name
            shutil.copytree(folder.results, other, copy_function=copy)
            expect(stored.rows(harness.options.expc, other, "SELECT id, status FROM trial ORDER BY id") == rows, name)


def a_damaged_lease():
    with Folder() as folder:
        folder.run().expect(0)
        lease = folder.results / "expc.lease"
        lease.write_text("half a le")
        folder.run().expect(1, "lock file is damaged")
        os.utime(lease, (1, 1))  # nobody has touched it for long
        folder.run().expect(0, "resuming")


def missing_things():
    with Folder() as folder:
        process = subprocess.run([harness.options.expc, "run", str(folder.study), "--results", str(folder.results), "--worker",
                                  "/no/such/worker"], capture_output=True, text=True, cwd=folder.path)
        expect(process.returncode == 1 and "build it with" in process.stderr, f"a missing worker\n{process.stderr}")
        text = folder.study.read_text()
        folder.study.write_text(text.replace("fault = none", 'data = folder("no/data"), fault = none'))
        folder.run().expect(1, "no/data", "is missing")
        expect(not folder.results.exists(), "nothing was begun")


if __name__ == "__main__":
    harness.parse_options(heat_up=0)
    code = harness.main([faults_of_the_worker, a_dead_rank_ends_its_siblings, an_unreliable_worker_is_tried_again,
                         a_stopped_engine_finds_what_ended_meanwhile, ctrl_c, sigterm,
                         ctrl_c_twice, a_killed_engine_leaves_nothing_running, two_engines, a_report_beside_a_run,
                         the_launch_server_dies, the_launch_server_keeps_dying, a_rank_killed_from_outside, a_full_disk,
                         a_disk_that_a_program_fills, a_file_size_limit, a_read_only_folder,
                         a_copy_of_what_a_kill_left_says_the_same, a_damaged_lease, missing_things])
    left = marked_processes()
    if left:
        print(f"FAIL  processes are left: {left}")
        code = 1
    sys.exit(code)
