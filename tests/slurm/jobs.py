#!/usr/bin/env python3
"""Runs of a study as jobs of a real Slurm: the commands of docs/clusters.md, jobs that are told to end, preempted and cancelled."""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fault"))
import cluster  # noqa: E402
import harness  # noqa: E402
from harness import MARK, Folder, expect, expect_no_orphans, main, parse_options  # noqa: E402

SECRET = "hunter2-of-the-tests"
SITE = """\
# what this cluster wants
partition = main
time = 30:00
cpus = 2
export = EXPC_DEVICE_LOCKS
export = EXPC_FAULT_TEST
secret = A_TOKEN
setup = export FROM_SETUP=yes; test -n "$A_TOKEN"
"""

slurm = None


class Study(Folder):
    """A study with a site file, and runs of it on the cluster."""

    def __enter__(self):
        (self.path / "site").write_text(SITE)
        return self

    def expc(self, *arguments, **variables):
        name, value = MARK.split("=")
        return subprocess.run([harness.options.expc, *arguments], cwd=self.path, text=True, capture_output=True, timeout=300,
                              env={**os.environ, name: value, "A_TOKEN": SECRET, **variables})

    def on_slurm(self, *extra):
        command = self.command("--on", "slurm", "--site", "site", "--devices", "cpu:1", *extra)
        return self.expc(*command[1:])

    def submit(self, *extra):
        done = self.on_slurm("--detach", *extra)
        expect(done.returncode == 0, f"the job is taken\n{done.stderr}")
        return done.stderr.split("slurm-")[1].split(":")[0]

    def say(self, command, *more):
        return self.expc(command, "--results", str(self.results), *more)

    def has_valid(self):
        """Whether a trial was measured."""
        return list(self.results.glob("journal/*.jsonl")) and self.valid() > 0

    def log(self, job):
        path = self.results / "jobs" / f"slurm-{job}.log"
        return path.read_text() if path.exists() else ""

    def settle(self, job, code):
        """Waits until the run itself is over, however often its job was queued."""
        path = self.results / "jobs" / f"slurm-{job}.code"
        slurm.until(lambda: path.exists() and path.read_text().strip(), f"the run ends\n{self.log(job)}", 240)
        expect(path.read_text().strip() == str(code), f"with exit code {code}\n{self.log(job)}")


def a_dry_run_prints_what_is_submitted_and_a_followed_run_exits_as_the_run_does():
    with Study() as study:
        dry = study.on_slurm("--dry-run")
        expect(dry.returncode == 0 and "#SBATCH --partition=main\n" in dry.stdout, f"the script is printed\n{dry.stderr}")
        expect(not (study.results / "jobs").exists(), "nothing was submitted")
        done = study.on_slurm()
        expect(done.returncode == 0, f"the verdicts are the local run's\n{done.stderr}{done.stdout}")
        expect("faster" in done.stdout, "and are shown")
        script, = (study.results / "jobs").glob("*.sh")
        expect(script.read_text() == dry.stdout, "what was submitted is what the dry run printed")
        status = study.say("status")
        expect("ended with exit code 0" in status.stdout, f"status says how it ended\n{status.stdout}{status.stderr}")
        report = study.say("report", str(study.study), "--devices", "cpu:1")
        expect(report.returncode == 0 and "faster" in report.stdout, f"report shows the same\n{report.stderr}{report.stdout}")
        environment, = (study.results / "jobs").glob("*.environment")
        expect("FROM_SETUP=yes" in environment.read_text(), "what the set-up set is recorded")
        for file in study.path.rglob("*"):
            expect(not file.is_file() or SECRET.encode() not in file.read_bytes(), f"a secret's value is not in {file}")
        study.check_store()


def a_job_that_is_told_to_end_is_queued_again_and_the_run_goes_on():
    with Study(duration="60ms") as study:
        job = study.submit()
        slurm.until(study.has_valid, "trials are measured")
        slurm.call("scancel", "--batch", "--signal=USR1", job)
        slurm.until(lambda: slurm.state(job) == "PENDING", f"it is queued again\n{study.log(job)}")
        slurm.start_again(job)
        study.settle(job, 0)
        study.check_store()
        expect(study.one("SELECT count(*) FROM trial WHERE status = 'failed'") == 0, "no trial failed")


def a_preempted_job_goes_on_after_the_one_that_took_its_place():
    with Study(duration="1s") as study:
        job = study.submit()
        # Slurm's signal reaches the program under way when it reaches the engine: its end is no failure of it.
        for count in range(3):
            slurm.until(lambda: study.has_valid() and study.valid() > 2 * count, "trials are measured")
            urgent = slurm.call("sbatch", "--parsable", "-p", "urgent", "--exclusive", "--chdir=/tmp", "--output=/dev/null",
                                "--wrap=sleep 1").strip()
            slurm.until(lambda: slurm.state(job) == "PENDING" and slurm.state(urgent) == "COMPLETED", "it gives way")
            slurm.start_again(job)
        study.settle(job, 0)
        study.check_store()
        expect(study.one("SELECT count(*) FROM trial WHERE status = 'failed'") == 0, f"no trial failed\n{study.log(job)}")


def a_cancelled_job_leaves_nothing_behind():
    with Study(duration="1s") as study:
        job = study.submit()
        slurm.until(study.has_valid, "it runs trials")
        done = study.say("cancel")
        expect(done.returncode == 0 and "being stopped" in done.stderr, f"cancel says so\n{done.stderr}")
        slurm.until(lambda: slurm.state(job) == "CANCELLED", "it is cancelled")
        expect_no_orphans()
        attached = study.say("attach")
        expect("CANCELLED" in attached.stderr and attached.returncode == 1, f"attach says so\n{attached.stderr}")


def a_run_within_an_allocation_keeps_to_its_end():
    with Study() as study:
        run = ["srun", "--nodes=1", "--ntasks=1", *study.command("--devices", "cpu:1")]
        short = subprocess.run(["salloc", "--quiet", "--time=1", *run], cwd=study.path, capture_output=True, text=True, timeout=120)
        expect("the allocation is too short for one block" in short.stderr, f"a minute is too short for any block\n{short.stderr}")
        expect(study.one("SELECT count(*) FROM trial") == 0, "and none was begun")
        whole = subprocess.run(["salloc", "--quiet", "--time=30", *run], cwd=study.path, capture_output=True, text=True, timeout=120)
        expect(whole.returncode == 0 and "faster" in whole.stdout, f"half an hour is enough\n{whole.stderr}")


def what_a_job_lacks_is_said_before_it_is_queued():
    with Study() as study:
        (study.path / "site").write_text("partiton = main\n")
        done = study.on_slurm()
        expect(done.returncode == 1 and "site:1: unknown setting 'partiton'" in done.stderr, done.stderr)
        (study.path / "site").write_text("time = 30min\n")
        done = study.on_slurm()
        expect(done.returncode == 1 and "site:1: 'time' takes" in done.stderr, done.stderr)
        (study.path / "site").write_text("secret = NOT_SET_HERE\n")
        done = study.on_slurm()
        expect(done.returncode == 1 and "NOT_SET_HERE, which is not set here" in done.stderr, done.stderr)
        (study.path / "site").write_text("partition = none_such\n")
        done = study.on_slurm()
        expect(done.returncode == 1 and "sbatch exited with 1" in done.stderr, done.stderr)


if __name__ == "__main__":
    cluster.skip_without()
    parse_options(heat_up=0)
    with cluster.Slurm() as slurm:
        sys.exit(main([what_a_job_lacks_is_said_before_it_is_queued,
                       a_dry_run_prints_what_is_submitted_and_a_followed_run_exits_as_the_run_does,
                       a_job_that_is_told_to_end_is_queued_again_and_the_run_goes_on,
                       a_preempted_job_goes_on_after_the_one_that_took_its_place, a_cancelled_job_leaves_nothing_behind,
                       a_run_within_an_allocation_keeps_to_its_end]))
