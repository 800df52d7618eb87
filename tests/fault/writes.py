#!/usr/bin/env python3
"""Kills every command that writes a store or a whole file in the middle of each of its changes to the file system (killer.cpp), runs it again, and
looks at what is there: nothing lost, nothing twice, no damage, of a file the old one or the new one, and no name that was not there before but hidden
ones that no folder's digest holds. `--kills N`: so many at random of merging and of taking a bundle out."""
import argparse
import contextlib
import json
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import stored

STUDY = """\
workload w command ["sh", "-c", "echo took $$EXPC_TRIAL ms, then 7$$EXPC_TRIAL ms", "${level}"] {
  param level : string = "a"
  metric t : Time lower from regex("PATTERN", unit = 1ms)
}
study s {
  workload w
  factor level in { "a", "b" }
  measure t
  criterion quick: forall *: t <= 1min
  design { repeat 2  seed SEED }
}
"""
VALUES = "SELECT block.seed, session.nodes, trial.point, metric_value.value FROM trial JOIN block ON block.id = trial.block JOIN session ON " \
         "session.id = trial.session JOIN metric_value ON metric_value.trial = trial.id WHERE status = 'valid' ORDER BY 1, 2, 3, 4"


def expect(condition, what):
    if not condition:
        raise AssertionError(f"not so: {what}")


class Writes:
    def __init__(self, options):
        self.options = options
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="expc-writes-"))
        self.environment = dict(os.environ, EXPC_DEVICE_LOCKS="none", TMPDIR=str(self.base / "tmp"))
        (self.base / "tmp").mkdir()
        self.ready = self.base / "ready"
        self.ready.mkdir()
        for name, pattern, seed in (("s1.exp", "took ([0-9]+) ms", 1), ("s2.exp", "took ([0-9]+) ms", 2), ("other.exp", "then ([0-9]+) ms", 1)):
            (self.ready / name).write_text(STUDY.replace("PATTERN", pattern).replace("SEED", str(seed)))
        for seed in (1, 2):
            self.expc(self.ready, "run", f"s{seed}.exp", "--results", f"r{seed}", "--heat-up", "0", "--quiet", "--devices", "cpu:1", "--html", str(self.base / "page.html"))
        # Merged in two steps, so that it has several journals to make one of.
        shutil.copytree(self.ready / "r1", self.ready / "both")
        self.expc(self.ready, "store", "merge", "r2", "--results", "both")
        self.expc(self.ready, "bundle", "s1.exp", "--results", "r1", "--devices", "cpu:1")
        self.expc(self.ready, "data", "make", "shapes", "--count", "4", "--size", "16px", "--classes", "2", "--to", "images")

    def expc(self, folder, *words, kill_at=0):
        """True where it ended by itself, and well."""
        environment = self.environment
        if kill_at:
            environment = dict(environment, LD_PRELOAD=self.options.killer, EXPC_KILL_AT=str(kill_at), ASAN_OPTIONS="verify_asan_link_order=0")
        done = subprocess.run([self.options.expc, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
        if kill_at and done.returncode == -9:
            return False
        expect(done.returncode in (0, 4), f"{words} ends well, not with {done.returncode}: {done.stdout}{done.stderr}")
        return True

    def whole(self, folder, results):
        done = subprocess.run([self.options.expc, "store", "verify", "--results", results], cwd=folder, env=self.environment, capture_output=True, text=True)
        expect(done.returncode == 0, f"{results} is whole: {done.stdout}{done.stderr}")

    def rows(self, folder, results):
        self.whole(folder, results)
        return stored.rows(self.options.expc, folder / results, VALUES)

    def spool(self, folder):
        """As a full disk leaves it: a trial whose end had no room."""
        journal = folder / "r1/journal/000001.jsonl"
        lines = journal.read_text().splitlines(keepends=True)
        last = max(i for i, line in enumerate(lines) if '"entry":"end"' in line)
        name = json.loads(lines[0])["store"]
        (self.base / "tmp" / f"expc-spool-{os.getuid()}-{name}.jsonl").write_text(lines[last])
        journal.write_text("".join(lines[:last]))

    # What is killed: how it is made ready, the command, and the results that it makes.
    def commands(self):
        return {
            "merge": (None, ("store", "merge", "r2", "--results", "r1"), "r1"),
            "merge into nothing": (None, ("store", "merge", "r2", "--results", "new"), "new"),
            "take a bundle out": (None, ("bundle", "s.bundle.tar.zst", "--to", "out"), "out/results"),
            "compact": (None, ("store", "compact", "--results", "both"), "both"),
            "extract": (None, ("extract", "other.exp", "--results", "both", "--devices", "cpu:1"), "both"),
            "take what was spooled": (self.spool, ("store", "compact", "--results", "r1"), "r1"),
        }

    def killed(self, name, at, wanted=None):
        """Whether it was killed, and what is there once it was run again."""
        make_ready, words, results = self.commands()[name]
        folder = self.base / "work"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.ready, folder)
        if make_ready:
            make_ready(folder)
        ended = at > 0 and self.expc(folder, *words, kill_at=at)
        if at and not ended:
            try:
                if (folder / results).exists() and stored.rows(self.options.expc, folder / results, "SELECT 1") is not None:
                    self.whole(folder, results)
            except AssertionError as error:
                raise AssertionError(f"{name}, killed at change {at}: {error}") from error
        if not ended and not (folder / "out").exists():  # what was taken out is whole, and not taken out again
            self.expc(folder, *words)
        found = self.rows(folder, results)
        expect(wanted is None or found == wanted, f"{name}, killed at change {at} and run again: {found}, wanted {wanted}")
        return not ended, found

    def at_each(self, name):
        wanted, at = self.killed(name, 0)[1], 1
        expect(wanted, f"{name} makes something")
        while self.killed(name, at, wanted)[0]:
            at += 1
        print(f"ok    {name}: killed at each of {at - 1} changes", flush=True)

    def whole_files(self):
        """What writes a file or a folder, what it is called, and whether one that is there is replaced."""
        measured = ("--results", "r1", "--devices", "cpu:1")
        return {
            "pack": (("data", "pack", "images", "--to", "out.pack", "--force"), "out.pack", True),
            "draw": (("data", "make", "shapes", "--count", "4", "--size", "16px", "--classes", "2", "--to", "drawn", "--force"), "drawn", True),
            "export CSV": (("export", "s1.exp", *measured, "--to", "out.csv"), "out.csv", True),
            "export Parquet": (("export", "s1.exp", *measured, "--format", "parquet", "--to", "out.parquet"), "out.parquet", True),
            "export SQLite": (("store", "export", "out.sqlite", "--results", "r1"), "out.sqlite", False),
            "bundle": (("bundle", "s2.exp", "--results", "r2", "--devices", "cpu:1", "--study", "s"), "s.bundle.tar.zst", False),
        }

    def what_is(self, path):
        """Contents of a file, or of all files of a folder; nothing where there is none. Of what says when it was made, that it is whole."""
        if path.name.endswith(".tar.zst") and path.exists():
            return {"whole": self.expc(path.parent, "bundle", path.name)}
        if path.suffix == ".sqlite" and path.exists():
            with contextlib.closing(sqlite3.connect(path)) as database:
                return {"rows": list(database.iterdump())}
        return {str(file.relative_to(path)): file.read_bytes() for file in [path, *path.rglob("*")] if file.is_file()}

    def written_whole(self, name):
        words, target, replaces = self.whole_files()[name]
        folder, kills = self.base / "work", 0

        def afresh(old):
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(self.ready, folder)
            (folder / target).unlink(missing_ok=True)
            if old and name == "draw":
                self.expc(folder, *words[:-1], "--seed", "2")
            elif old:
                shutil.copy(self.packed if name == "pack" else self.ready / "s1.exp", folder / target)

        if name == "export Parquet" and not any(pathlib.Path(__file__).resolve().parents[2].glob(".deps/python/lib/python3*/site-packages/pyarrow")):
            return print("SKIPPED export Parquet: there is no pyarrow", flush=True)
        afresh(False)
        self.expc(folder, *words)
        wanted, names = self.what_is(folder / target), {path.name for path in folder.iterdir()}
        expect(wanted, f"{name} makes something")
        self.packed = self.base / "packed"
        if name == "pack":
            shutil.copy(folder / target, self.packed)
            with open(self.packed, "ab") as packed:
                packed.write(b"another one")
        for old in (False, True) if replaces else (False,):
            at = 0
            while True:
                at += 1
                afresh(old)
                before = self.what_is(folder / target)
                ended = self.expc(folder, *words, kill_at=at)
                found = self.what_is(folder / target)
                expect(found in (before, wanted), f"{name}, killed at change {at}: {target} is the old one or the new one")
                expect({path.name for path in folder.iterdir() if not path.name.startswith(".expc-")} - {target} == names - {target},
                       f"{name}, killed at change {at}, leaves nothing that is seen: {list(folder.iterdir())}")
                if replaces or not found:
                    self.expc(folder, *words)
                    expect(not list(folder.glob(".expc-*")), f"{name}, killed at change {at} and run again, removes what was left: {list(folder.iterdir())}")
                expect(self.what_is(folder / target) == wanted, f"{name}, killed at change {at} and run again, writes what it writes")
                if ended:
                    break
                kills += 1
        print(f"ok    {name}: killed at each of {kills} changes", flush=True)

    def no_lease_in_a_bundle(self):
        """A disk that fails when the lease is removed: there is no bundle, since it would be refused."""
        folder = self.base / "work"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.ready, folder)
        environment = dict(self.environment, LD_PRELOAD=self.options.killer, EXPC_KEEP="expc.lease", ASAN_OPTIONS="verify_asan_link_order=0")
        done = subprocess.run([self.options.expc, "bundle", "s1.exp", "--results", "r1", "--devices", "cpu:1", "--to", "new.tar.zst"], cwd=folder,
                              env=environment, capture_output=True, text=True, timeout=120)
        expect(done.returncode == 1 and "expc.lease" in done.stderr, f"it is refused: {done.returncode} {done.stderr}")
        expect(not list(folder.glob("new*")) and not list(folder.glob(".expc-*")), "nothing is left")
        print("ok    no lease in a bundle", flush=True)

    def at_random(self, kills):
        seed = self.options.seed
        print(f"seed {seed}", flush=True)
        moments = random.Random(seed)
        names = ("merge", "merge into nothing", "take a bundle out")
        wanted = {name: self.killed(name, 0)[1] for name in names}
        most, done = dict.fromkeys(names, 400), 0
        while done < kills:
            name = moments.choice(names)
            at = moments.randint(1, most[name])
            if self.killed(name, at, wanted[name])[0]:
                done += 1
            else:
                most[name] = at
        print(f"ok    {done} kills at random", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--expc", required=True, type=os.path.abspath)
    parser.add_argument("--killer", required=True, type=os.path.abspath, help="the library that kills")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--only", default=None)
    options = parser.parse_args()
    if os.access("/dev/shm", os.W_OK):  # a kill leaves there what it leaves on a disk, and thousands of processes write
        tempfile.tempdir = "/dev/shm"
    writes = Writes(options)
    try:
        if options.kills:
            writes.at_random(options.kills)
        if not options.kills and options.only is None:
            writes.no_lease_in_a_bundle()
        for name in () if options.kills else writes.commands():
            if options.only in (None, name):
                writes.at_each(name)
        for name in () if options.kills else writes.whole_files():
            if options.only in (None, name):
                writes.written_whole(name)
    finally:
        shutil.rmtree(writes.base, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
