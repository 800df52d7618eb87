#!/usr/bin/env python3
"""A study of 1, 2 and 4 ranks of the real worker while ranks, servers and engines are killed and stopped, its data goes away and its disk
fills up. Every trial must end as measured, failed with its reason, or repeated, and memory must not grow. `make soak` takes ten minutes."""
import argparse
import contextlib
import os
import pathlib
import random
import shutil
import signal
import statistics
import subprocess
import tempfile
import threading
import time

import harness
from harness import expect, marked_processes, parent, wait_for

STUDY = """\
import std.image

study soak {
  workload image.mobilenet_v2(data = mnist("digits"), size = 32px, width = 0.25, batch = 8, layout = nhwc)
  factor loader in { dataloader, native }  baseline dataloader
  factor gpus   in { 1, 2, 4 }             baseline 1
  measure step_time
  compare gain = ratio(images_per_s) over loader
  criterion runs: forall *: gain >= 0.001x
  design { timed { repeat 10  steps 6  warmup 1 }  seed 3 }
}
"""
DIGITS = pathlib.Path(__file__).resolve().parents[2] / "experiments/data/digits"
TIMEOUT = 12  # seconds of a trial: what a stopped rank costs
ENDINGS = ("killed by signal 9", "expc died while it ran", "lost the others", "launch server", "digits", "not finished after", "interrupted",
           "exited with code")


class Soak(harness.Folder):
    """The study on a small disk of its own, and what is done to it."""

    def __init__(self, options):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="expc-soak-"))
        self.study = self.path / "soak.exp"
        self.study.write_text(STUDY)
        shutil.copytree(DIGITS, self.path / "digits")
        self.results = self.path / "results"
        self.options, self.random = options, random.Random(options.seed)
        self.engine, self.done, self.memory, self.exits = None, {}, {}, []

    def command(self, *extra):
        return [self.options.expc, "run", str(self.study), "--results", str(self.results), "--worker", self.options.worker,
                "--devices", "cpu:4", "--heat-up", "0.2", "--timeout", str(TIMEOUT), *extra]

    # What can be done. Each returns False where there was nothing to do it to.

    def ranks(self):
        servers = [pid for pid in marked_processes() if parent(pid) == self.engine.pid]
        return servers, [pid for pid in marked_processes() if parent(pid) in servers]

    def one_rank(self, number):
        ranks = self.ranks()[1]
        if not ranks:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.random.choice(ranks), number)
        return True

    def kill_a_rank(self):
        return self.one_rank(signal.SIGKILL)

    def stop_a_rank(self):
        return self.one_rank(signal.SIGSTOP)

    def kill_the_server(self):
        for server in self.ranks()[0]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(server, signal.SIGKILL)

    def kill_the_engine(self):
        self.engine.kill()

    def interrupt_the_engine(self):
        self.engine.send_signal(signal.SIGINT)

    def hide_the_data(self):
        file = self.path / "digits/train-images-idx3-ubyte"
        file.rename(file.with_suffix(".hidden"))
        time.sleep(self.random.uniform(0.5, 3))
        file.with_suffix(".hidden").rename(file)

    def fill_the_disk(self):
        filler = self.results / "filler"
        with contextlib.suppress(OSError), open(filler, "wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 16))
        time.sleep(self.random.uniform(0.5, 3))
        filler.unlink(missing_ok=True)

    def disturb(self, end):
        """Something every few seconds; the dear ones seldom."""
        common, seldom = [self.kill_a_rank, self.kill_a_rank, self.hide_the_data], [
            self.stop_a_rank, self.kill_the_server, self.kill_the_engine, self.interrupt_the_engine, self.fill_the_disk]
        while time.monotonic() < end:
            time.sleep(self.random.uniform(1, 6))
            action = self.random.choice(seldom if self.random.random() < 0.2 else common)
            if self.engine.poll() is None and action() is not False:
                self.done[action.__name__] = self.done.get(action.__name__, 0) + 1

    def watch(self, end):
        """Resident memory of the engine and its server, by process, every half second."""
        while time.monotonic() < end:
            for pid in [self.engine.pid, *self.ranks()[0]]:
                with contextlib.suppress(OSError, IndexError):
                    pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
                    self.memory.setdefault(pid, []).append(pages * 4096 / 2**20)
            time.sleep(0.5)

    def run_until(self, end):
        """One engine after the other, whatever ends them."""
        while time.monotonic() < end:
            self.engine = self.start("-D", "design.timed.repeat=9999")
            threading.Thread(target=self.end_at, args=(self.engine, end), daemon=True).start()
            _, err = self.engine.communicate()
            self.exits.append((self.engine.returncode, err.strip().splitlines()[-1] if err.strip() else ""))
            wait_for(lambda: not marked_processes(), "an engine leaves no process behind", 20)

    def end_at(self, engine, end):
        while engine.poll() is None and time.monotonic() < end:
            time.sleep(0.2)
        if engine.poll() is None:
            engine.send_signal(signal.SIGINT)

    # What must hold.

    def check(self):
        self.check_store()
        for status, reason, count in self.query("SELECT status, reason, count(*) FROM trial GROUP BY status, reason"):
            expect(status in ("valid", "failed", "timeout", "interrupted"), f"trials end in a known way, not '{status}' ({reason})")
            expect(status == "valid" or any(word in reason for word in ENDINGS), f"'{reason}' ({count} x {status}) says what happened")
        expect(self.one("SELECT count(*) FROM trial WHERE status = 'running'") == 0, "no trial is left open")
        lost = self.query("SELECT block, point FROM trial GROUP BY block, point HAVING sum(status = 'valid') = 0 AND max(attempt) < 2 AND "
                          "sum(status = 'failed') > 0 AND block < (SELECT max(block) FROM trial)")
        counts = dict(self.query("SELECT status, count(*) FROM trial GROUP BY status"))
        repeated = self.one("SELECT count(*) FROM trial WHERE attempt > 1")
        for code, last in self.exits:
            expect(code in (-signal.SIGKILL, 130, 0, 1, 3, 4, 5, 6), f"an engine ends by a documented code, not {code}: {last}")
            expect(code != 1 or "full" in last or "No space" in last or "digits" in last or "server" in last, f"an engine that gives up says why: {last}")
        return counts, repeated, len(lost)

    def check_memory(self):
        """Within each process that lived a minute: the last third against the first."""
        growth = []
        for sizes in self.memory.values():
            if len(sizes) < 100:
                continue
            third = len(sizes) // 3
            growth.append(statistics.median(sizes[-third:]) - statistics.median(sizes[:third]))
        expect(growth, "some process lived for a minute")
        expect(max(growth) < 16, f"no process grows by 16 MiB: {[round(g, 1) for g in growth]}")
        return max(growth)


@contextlib.contextmanager
def small_disk(path, size):
    path.mkdir(parents=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path)], capture_output=True).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(path)], capture_output=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--expc", required=True, type=os.path.abspath)
    parser.add_argument("--worker", required=True, type=os.path.abspath)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it, and so would our engines
    print(f"soak: {options.seconds:.0f} s, --seed {options.seed}", flush=True)
    with Soak(options) as soak, small_disk(soak.results, f"{64 + options.seconds // 5:.0f}m") as small:  # a store grows by 10 kB a trial, twice
        if not small:
            soak.fill_the_disk = lambda: False
            print("no permission to mount a tmpfs: the disk stays as it is")
        end = time.monotonic() + options.seconds
        soak.engine = soak.start()
        soak.engine.communicate()  # ten whole blocks in peace, so that there is something to lose
        threads = [threading.Thread(target=work, args=(end,), daemon=True) for work in (soak.disturb, soak.watch)]
        for thread in threads:
            thread.start()
        soak.run_until(end)
        for thread in threads:
            thread.join()
        counts, repeated, lost = soak.check()
        print(f"done to it: {soak.done}\ntrials: {counts}, {repeated} of them repetitions; {len(soak.exits)} engines; {lost} points of whole blocks not tried again",
              flush=True)
        growth = soak.check_memory()
        print(f"memory: at most {growth:+.1f} MiB between the first and the last third of a process's life")
        ended = soak.run()
        expect(ended.code in (0, 4), f"left in peace, the study ends, not with code {ended.code}\n{ended.out}\n{ended.err}")
        soak.check_store()
    print("soak: everything held")


if __name__ == "__main__":
    main()
