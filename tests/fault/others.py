#!/usr/bin/env python3
"""What other people and programs do to a run: journals that are removed, mounts in a trial's folder, a second user of a group, commands that change
the process that started them."""
import csv
import io
import os
import pathlib
import re
import subprocess
import sys
import time

import harness
from harness import Folder, expect, wait_for

STUDY = """\
workload w command ["sh", "-c", "SCRIPT", "${level}"] {
  param level : string = "a"
  metric t : Time lower from regex("t ([0-9.]+)", unit = 1ms)
  METRICS
}
study s { workload w factor level in { "a", "b" } measure t MORE criterion quick: forall *: t <= 100h design { repeat 10 seed 3 } }
"""


class Study(Folder):
    def __init__(self, script, metrics="", more=""):
        super().__init__()
        self.study.write_text(STUDY.replace("SCRIPT", script).replace("METRICS", metrics).replace("MORE", more))

    def command(self, *extra):
        return [harness.options.expc, "run", str(self.study), "--results", str(self.results), "--heat-up", "0", "--devices", "cpu:1", *extra]

    def rows(self):
        """What counts: one for each metric of a trial."""
        text = subprocess.run([harness.options.expc, "export", str(self.study), "--results", str(self.results)], capture_output=True, text=True).stdout
        return [row for row in csv.DictReader(io.StringIO(text)) if row["counts"] == "true"]


def done(study):
    return len((study.path / "done").read_text().split()) if (study.path / "done").exists() else 0


def a_journal_that_is_removed_replaced_or_cut_is_written_again():
    """By git clean, rsync --delete, a restore: the run says so, and all that it measured is there."""
    def removed(journal):
        journal.unlink()

    def older(journal):
        other = journal.with_name("old")
        other.write_bytes(journal.read_bytes()[:-300])
        other.rename(journal)

    def another(journal):
        other = journal.with_name("old")
        other.write_bytes(journal.with_name("000001.jsonl").read_bytes())
        other.rename(journal)

    def cut(journal):
        os.truncate(journal, 0)

    for harm in (removed, older, another, cut):
        with Study("sleep 0.1; echo x >>$$EXPC_STUDY_FOLDER/done; echo t 5") as study:
            study.run("-D", "design.timed.repeat=2").expect(0)
            first = len(study.rows())
            (study.path / "done").unlink()
            engine = study.start()
            wait_for(lambda: done(study) >= 4, "four more trials are over", 60)
            harm(study.results / "journal" / "000002.jsonl")
            _, err = engine.communicate(timeout=120)
            expect(engine.returncode == 0, f"{harm.__name__}: the run goes on\n{err}")
            expect("journal/000002.jsonl was removed or changed while this run wrote to it" in err, f"{harm.__name__}: it is said\n{err}")
            study.check_store("t")
            expect(len(study.rows()) == first + done(study) == 20, f"{harm.__name__}: {done(study)} programs ended, {len(study.rows())} trials are kept")
            study.run().expect(0, "nothing to run")


def a_results_folder_that_is_removed_leaves_what_was_measured():
    """Its journals have no name any more: they are kept where temporary files go."""
    with Study("sleep 0.1; echo x >>$$EXPC_STUDY_FOLDER/done; echo t 5") as study:
        engine = study.start()
        wait_for(lambda: done(study) >= 4, "four trials are over", 60)
        subprocess.run(["rm", "-rf", study.results], check=False)
        _, err = engine.communicate(timeout=120)
        kept = re.search(r"kept in the results folder (\S+)", err)
        expect(engine.returncode == 1 and kept, f"it ends, and says where they are\n{err}")
        before, study.results = study.results, pathlib.Path(kept.group(1))
        expect(len(study.rows()) >= 3, f"{done(study)} programs ended, {len(study.rows())} trials are kept")
        study.check_store("t")
        subprocess.run(["rm", "-rf", study.results, before], check=False)


def in_a_mount_namespace():
    there = ["unshare", "--mount", "sh", "-c", 'mount --make-rprivate / && exec "$@"', "sh"]
    return there if subprocess.run([*there, "true"], capture_output=True).returncode == 0 else None


def nothing_is_removed_across_a_mount():
    """A program mounts another folder in its own and ends: what is mounted there stays, after a trial that ended well, one that failed, and the
    next run in the same folder."""
    there = in_a_mount_namespace()
    if there is None:
        return "SKIPPED: no permission to mount"
    for last, code in (("echo t 5", 0), ("exit 7", 6)):
        with Study(f"mkdir m; mount --bind $$EXPC_STUDY_FOLDER/precious m; {last}") as study:
            (study.path / "precious" / "deep").mkdir(parents=True)
            for name in ("a", "deep/b"):
                (study.path / "precious" / name).write_text("mine")
            # Of the second run the first trial has the first one's number, since its journals are gone.
            line = 'unset EXPC_SEED; "$@"; code=$?; rm -rf results/journal; "$@"; exit $code'
            ran = subprocess.run([*there, "sh", "-c", line, "sh", *study.command("-D", "design.timed.repeat=1")], capture_output=True, text=True,
                                 cwd=study.path, timeout=120)
            expect(ran.returncode == code, f"{last}: ended with {ran.returncode}\n{ran.stderr}")
            for name in ("a", "deep/b"):
                expect((study.path / "precious" / name).read_text() == "mine", f"{last}: '{name}' is still there")
            expect("/m: another file system is mounted there" in ran.stderr, f"{last}: it is said where\n{ran.stderr}")


def a_command_that_changes_its_parent_changes_no_other_trial():
    """Each trial begins as the first one did."""
    harm = "renice -n 15 -p $$PPID >/dev/null; prlimit --pid $$PPID --nofile=77:77; taskset -p 1 $$PPID >/dev/null; echo 500 >/proc/$$PPID/oom_score_adj"
    own = "echo n $$(nice), f $$(ulimit -n), c $$(nproc), o $$(cat /proc/self/oom_score_adj)"
    metrics = " ".join(f'metric {name} : Ratio lower from regex("{name} ([0-9.]+)")' for name in "nfco")
    with Study(f"echo t 5; if [ ${{level}} = b ]; then {harm}; echo n 0, f 0, c 0, o 0; else {own}; fi", metrics, ", n, f, c, o") as study:
        study.run().expect(0)
        seen = {}
        for row in study.rows():
            if row["factor_level"] == "a":
                seen.setdefault(row["metric"], set()).add(row["value"])
        expect(set(seen) == set("tnfco") and all(len(values) == 1 for values in seen.values()), f"alike in all trials: {seen}")
        expect(float(*seen["n"]) == os.nice(0), f"and as this process is: {seen}")


def two_users_of_a_group_take_turns():
    """In a folder with setgid, as groups share one: runs, failures, preparations, rehearsals, merges, kills."""
    if os.getuid() != 0:
        return "SKIPPED: only root can be two users"
    with Study("echo t 5") as study:
        study.study.write_text(study.study.read_text().replace("metric t", 'prepare ["sh", "-c", "echo x >$$EXPC_PREPARED/p"]\n  metric t'))
        harness.share(study)
        for turn in range(6):
            study.run("-D", f"design.timed.repeat={turn + 2}", preexec=harness.user(turn)).expect(0)
        for turn in range(8):  # one is killed, and the other goes on
            engine = study.start("-D", f"design.timed.repeat={turn + 40}", preexec=harness.user(turn))
            time.sleep(0.1 + 0.05 * turn)
            engine.kill()
            engine.communicate()
        study.run("-D", "design.timed.repeat=50", preexec=harness.user(0)).expect(0)
        study.check_store("t")
        for path in study.results.rglob("*"):
            state = path.lstat()
            expect(state.st_gid == harness.GROUP and state.st_mode & 0o060 == 0o060, f"the group may write {path}: {oct(state.st_mode)}")
        # A log that its owner alone may write is in nobody's way.
        log = study.results / "worker-server.log"
        log.chmod(0o644)
        other = 1 if log.stat().st_uid == harness.USERS[0] else 0
        study.run("-D", "design.timed.repeat=52", preexec=harness.user(other)).expect(0)


def a_folder_that_trials_cannot_be_told_is_refused_before_the_first():
    with Study("echo t 5") as study:
        there = os.path.join(os.fsencode(study.path), b"b\xfcro")
        os.mkdir(there)
        with open(os.path.join(there, b"s.exp"), "w", encoding="utf-8") as file:
            file.write(study.study.read_text())
        for words in (["run", "s.exp", "--devices", "cpu:1", "--heat-up", "0"], ["run", str(study.study), "--results", "r"]):
            ran = subprocess.run([harness.options.expc, *words], cwd=there, capture_output=True, text=True)
            expect(ran.returncode == 1 and "is not UTF-8" in ran.stderr and ran.stderr.count("\n") == 1, f"{words}: {ran.returncode}\n{ran.stderr}")
        os.symlink("/nowhere/at/all", study.results)
        study.run().expect(1, "is a link to '/nowhere/at/all', which does not exist")


def without_proc_nothing_is_run():
    there = in_a_mount_namespace()
    if there is None:
        return "SKIPPED: no permission to mount"
    with Study("echo t 5") as study:
        line = 'umount -l /proc && exec "$@"'
        ran = subprocess.run([*there, "sh", "-c", line, "sh", *study.command()], capture_output=True, text=True, cwd=study.path)
        expect(ran.returncode == 1 and "/proc is not mounted" in ran.stderr, f"{ran.returncode}\n{ran.stderr}")


if __name__ == "__main__":
    harness.parse_options(heat_up=0)
    sys.exit(harness.main([a_journal_that_is_removed_replaced_or_cut_is_written_again, a_results_folder_that_is_removed_leaves_what_was_measured,
                           nothing_is_removed_across_a_mount, a_command_that_changes_its_parent_changes_no_other_trial,
                           two_users_of_a_group_take_turns, a_folder_that_trials_cannot_be_told_is_refused_before_the_first,
                           without_proc_nothing_is_run]))
