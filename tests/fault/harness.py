"""What the fault tests share: a study of the null worker, a run of it, and looks into the store and at the processes."""
import argparse
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid

import stored

# Which needs at least six blocks to be decided at all.
CRITERION = "criterion faster: forall gpus: gain[step = 10ms] >= 1.05x with confidence 95%"

# Every process of one test carries this in its environment, so that what is left of it can be found.
MARK = f"EXPC_FAULT_TEST={uuid.uuid4()}"

# Tests of leases have a folder of their own; the others share this machine's cores.
os.environ["EXPC_DEVICE_LOCKS"] = "none"

STUDY = """\
import std.null

study faults {{
  workload null.idle(duration = {duration}, fault = {fault}, fault_rank = {rank}, fault_rate = {rate})

  factor step in {{ 10ms, 12ms }} baseline 12ms
  factor gpus in {{ {gpus} }}

  measure step_time, accuracy, device_memory_peak

  compare gain = speedup(step_time) over step

  {criterion}
  criterion right: forall *: accuracy >= 50%

  design {{
    timed   {{ repeat {timed}  steps 5 }}
    quality {{ repeat {quality}  epochs 1 }}
    seed 11
  }}
}}
"""

# Made-up users of one group, who share a folder as groups do.
GROUP, USERS = 10000, (10001, 10002)

options = None


def parse_options(heat_up):
    """`heat_up`: seconds of load before the first trial of a session, for all runs."""
    global options
    parser = argparse.ArgumentParser()
    parser.add_argument("--expc", required=True)
    parser.add_argument("--worker", required=True)
    parser.add_argument("--torch-worker", default=None, help="expc-worker, where it was built")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", default=None, help="one test by name")
    parser.add_argument("--kills", type=int, default=60, help="of kills.py")
    parser.add_argument("--users", action="store_true", help="of kills.py: two users of a group take turns; needs root")
    parser.add_argument("--minutes", type=float, default=4, help="of kills.py: no kill after this long")
    options = parser.parse_args()
    options.heat_up = str(heat_up)
    options.expc = os.path.abspath(options.expc)
    options.worker = os.path.abspath(options.worker)
    options.torch_worker = options.torch_worker and os.path.abspath(options.torch_worker)
    return options


class Folder:
    """A temporary folder with a study in it, and a results folder."""

    def __init__(self, duration="10ms", fault="none", rank=0, rate="1.0", gpus="1", timed=7, quality=1):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="expc-fault-"))
        self.study = self.path / "faults.exp"
        self.results = self.path / "results"
        self.write(duration, fault, rank, rate, gpus, timed, quality)

    def write(self, duration="10ms", fault="none", rank=0, rate="1.0", gpus="1", timed=7, quality=1):
        criterion = CRITERION if timed >= 6 else ""
        self.study.write_text(STUDY.format(**{k: v for k, v in locals().items() if k != "self"}))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def command(self, *extra):
        return [options.expc, "run", str(self.study), "--results", str(self.results), "--worker", options.worker, "--heat-up",
                options.heat_up, *extra]

    def start(self, *extra, preexec=None):
        name, value = MARK.split("=")
        return subprocess.Popen(self.command(*extra), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, name: value}, preexec_fn=preexec, cwd=self.path)

    def run(self, *extra, preexec=None, timeout=60):
        process = self.start(*extra, preexec=preexec)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"expc run did not end in {timeout} s\n{err}")
        return Ended(process.returncode, out, err)

    def query(self, sql, *values):
        """Asks what the folder holds now, beside a live run too."""
        return stored.rows(options.expc, self.results, sql, values)

    def age(self, seconds):
        """All sessions were last seen so much earlier."""
        for session, wall, boot in self.query("SELECT id, last_seen, last_seen_boot FROM session"):
            stored.append(self.results, {"entry": "seen", "session": session, "at": [wall - seconds, boot - seconds]})

    def one(self, sql, *values):
        return self.query(sql, *values)[0][0]

    def valid(self):
        return self.one("SELECT count(*) FROM trial WHERE status = 'valid'")

    def check_store(self, metric="step_time"):
        """What must hold of every store at every moment."""
        done = subprocess.run([options.expc, "store", "verify", "--results", str(self.results)], capture_output=True, text=True)
        expect(done.returncode == 0, f"every line is whole\n{done.stderr}{done.stdout}")
        expect(self.query("PRAGMA foreign_key_check") == [], "no row without its parent")
        expect(self.one("SELECT count(*) FROM (SELECT 1 FROM trial WHERE status = 'valid' GROUP BY block, point, label "
                        "HAVING count(*) > 1)") == 0, "no trial counts twice")
        expect(self.one("SELECT count(*) FROM trial JOIN block ON block.id = trial.block "
                        "WHERE trial.session <> block.session") == 0, "no block spans two sessions")
        expect(self.one("SELECT count(*) FROM trial WHERE status = 'valid' AND kind = 'timed' AND NOT EXISTS "
                        "(SELECT 1 FROM metric_value WHERE trial = trial.id AND name = ? AND value > 0)", metric) == 0,
               "every valid timed trial has its metric")

    def check_complete(self, pairs, quality):
        """Enough whole pairs, each within one block and session."""
        for gpus, in self.query("SELECT DISTINCT json_array_length(devices) FROM trial"):
            rows = self.query(
                "SELECT block, count(DISTINCT point), count(DISTINCT session) FROM trial WHERE status = 'valid' AND kind = 'timed' "
                "AND json_array_length(devices) = ? GROUP BY block", gpus)
            whole = [row for row in rows if row[1] == 2]
            expect(all(row[2] == 1 for row in whole), "no pair across sessions")
            expect(len(whole) >= pairs, f"{pairs} whole pairs with {gpus} devices, found {len(whole)}")
        rows = self.query("SELECT point, count(*) FROM trial WHERE status = 'valid' AND kind = 'quality' GROUP BY point")
        expect(rows and all(count >= quality for _, count in rows), f"{quality} quality trials of each point")


class Ended:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def expect(self, code, *parts):
        expect(self.code == code, f"exit code {code}, got {self.code}\n{self.err}\n{self.out}")
        for part in parts:
            expect(part in self.err, f"stderr says '{part}'\n{self.err}")
        return self


def share(folder):
    """The group may write the results, and everybody reach them."""
    os.chmod(folder.path, 0o755)
    folder.results.mkdir()
    os.chown(folder.results, 0, GROUP)
    os.chmod(folder.results, 0o2775)


def user(turn):
    """What makes a process the one of the two users whose turn it is."""
    def become():
        os.umask(0o002)
        os.setgroups([])
        os.setgid(GROUP)
        os.setuid(USERS[turn % 2])
        os.environ["HOME"] = "/"
    return become


def expect(condition, what):
    if not condition:
        raise AssertionError(f"not so: {what}")


def wait_for(condition, what, seconds=10):
    end = time.monotonic() + seconds
    while (begin := time.monotonic()) < end:
        value = condition()
        if value:
            return value
        # Many conditions start a process. Those that wait take half of a core, and the rest is left to what they wait for.
        time.sleep(min(max(0.005, time.monotonic() - begin), 0.05))
    raise AssertionError(f"not so after {seconds} s: {what}")


def marked_processes():
    """Process number -> command line, of every process that descends from this test."""
    found = {}
    mark = MARK.encode()
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if mark in pathlib.Path(entry.path, "environ").read_bytes():
                found[int(entry.name)] = pathlib.Path(entry.path, "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue  # it ended, or is another user's
    return found


def expect_no_orphans():
    wait_for(lambda: not marked_processes(), f"no process is left: {marked_processes()}", 5)


def workers_of(engine):
    """The launch server of an engine, and its ranks."""
    server = [pid for pid in marked_processes() if parent(pid) == engine]
    return server, [pid for pid in marked_processes() if parent(pid) in server]


def parent(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def main(tests):
    """Runs the functions, prints a line for each; the exit code says whether all passed."""
    failed = 0
    for test in tests:
        if options.only and options.only != test.__name__:
            continue
        begin = time.monotonic()
        try:
            note = test() or ""
            print(f"ok    {test.__name__}  {time.monotonic() - begin:.1f} s  {note}", flush=True)
        except Exception as error:  # whatever went wrong fails this test and no other
            failed += 1
            print(f"FAIL  {test.__name__}: {error}", flush=True)
            for pid in marked_processes():
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit("this is a module: run kills.py or faults.py")
