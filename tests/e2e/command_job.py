#!/usr/bin/env python3
"""A command of the user's through the real binaries: xz packs this project's own sources, from a plan written by hand.

It is measured, cut off by SIGKILL, continued and judged; then its input changes, and then its program is gone.

usage: command_job.py --expc PATH
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/fault"))
import stored  # noqa: E402

PLAN = pathlib.Path(__file__).with_name("compression_plan.json")
SKIPPED = 77


def processes(mark):
    """Those that have `mark` in their environment."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                found.append((entry / "comm").read_text().strip())
        except OSError:
            pass
    return found


def wait_for(condition, what, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        time.sleep(0.01)


class Job:
    def __init__(self, expc, folder):
        self.folder = pathlib.Path(folder)
        self.results = self.folder / "results"
        self.plan = self.folder / "plan.json"
        self.plan.write_text(PLAN.read_text(encoding="utf-8").replace("@ROOT@", str(self.folder)), encoding="utf-8")
        text = b"".join(path.read_bytes() for path in sorted((ROOT / "runtime").rglob("*.cpp")))
        (self.folder / "corpus.txt").write_bytes((text * 2)[:500_000])
        self.mark = f"EXPC_COMMAND_JOB={os.getpid()}"
        name, value = self.mark.split("=")
        self.environment = {**os.environ, name: value}
        self.command = [expc, "run", str(self.plan), "--results", str(self.results), "--heat-up", "0",
                        "--pass-env", name]

    def start(self):
        with open(self.folder / "killed.txt", "w", encoding="utf-8") as said:
            return subprocess.Popen(self.command, stdout=said, stderr=said, env=self.environment)

    def run(self, *more, **environment):
        return subprocess.run([*self.command, *more], capture_output=True, text=True, timeout=200,
                              env={**self.environment, **environment})

    def query(self, text):
        return stored.rows(self.command[0], self.results, text)

    def valid(self):
        return self.query("SELECT count(*) FROM trial WHERE status = 'valid'")[0][0]


def written_as_a_study(job):
    """The language says the same as the plan that is written by hand."""
    study = job.folder / "compression.exp"
    shutil.copy(PLAN.with_name("compression.exp"), study)
    result = subprocess.run([job.command[0], "plan", "--format", "json", str(study)], capture_output=True, text=True, timeout=20)
    study.unlink()
    assert result.returncode == 0, result.stderr
    compiled, by_hand = json.loads(result.stdout), json.loads(job.plan.read_text(encoding="utf-8"))
    assert compiled["workloads"][0]["command"] == by_hand["workloads"][0]["command"], compiled["workloads"]
    assert [point["parameters"] for point in compiled["points"]] == [point["parameters"] for point in by_hand["points"]]


def killed_and_continued(job):
    engine = job.start()
    try:
        wait_for(lambda: "xz" in processes(job.mark), "xz to run")
    except AssertionError as late:
        raise AssertionError(f"{late}; the run said: {(job.folder / 'killed.txt').read_text(encoding='utf-8')}") from None
    time.sleep(2)
    engine.send_signal(signal.SIGKILL)
    engine.wait()
    wait_for(lambda: not processes(job.mark), "what the killed engine had started to be gone")
    before = job.valid()
    job.ended_last = str(job.query("SELECT max(id) FROM trial WHERE status = 'valid'")[0][0])

    result = job.run("--format", "json")
    assert result.returncode == 0, (result.returncode, result.stderr[-2000:])
    judgement = json.loads(result.stdout)
    verdicts = {c["name"]: c["verdict"] for c in judgement["criteria"]}
    print(f"{before} trials before the kill, then {job.valid()}: {verdicts}")
    assert verdicts == {"effort_costs": "pass", "effort_pays": "pass"}, verdicts
    assert job.valid() >= 24
    assert job.query("SELECT count(*) FROM trial WHERE status NOT IN ('valid', 'interrupted')") == [(0,)]


def values_make_sense(job):
    size = (job.folder / "corpus.txt").stat().st_size
    packed = {level: subprocess.run(["xz", f"-{level}", "-c", job.folder / "corpus.txt"], capture_output=True, check=True)
              for level in (0, 6)}
    # xz prints three places; another number of threads packs in other blocks, which may move the last of them.
    wanted = sorted(round(len(run.stdout) / size, 3) for run in packed.values())
    found = sorted(row[0] for row in job.query("SELECT DISTINCT value FROM metric_value WHERE name = 'packed_share'"))
    near = [[i for i, size_wanted in enumerate(wanted) if abs(size_wanted - one) <= 0.002] for one in found]
    assert sorted({i for at in near for i in at}) == [0, 1] and all(len(at) == 1 for at in near), (wanted, found)
    for name, low, high in (("wall", 0.001, 60), ("cpu_time", 0.001, 60), ("host_memory_peak", 1 << 20, 4 << 30)):
        (least, most), = job.query(f"SELECT min(value), max(value) FROM metric_value WHERE name = '{name}'")
        assert low < least <= most < high, (name, least, most)
    # What a trial printed lies beside its folder, under its name with a dot before it.
    kept = {path.name.lstrip(".") for path in (job.results / "trials").iterdir()}
    cut = {str(row[0]) for row in job.query("SELECT id FROM trial WHERE status = 'interrupted'")}
    cut.add(job.ended_last)  # the kill may come between the end of a trial and the removal of its folder
    assert kept <= cut, f"folders of valid trials are removed: {kept - cut}"
    assert sorted(path.name for path in job.folder.iterdir()) == ["corpus.txt", "killed.txt", "plan.json", "results"]
    page = (job.results / "compression.html").read_text(encoding="utf-8")
    assert "effort_costs" in page and "packed_share" in page


def nothing_to_do(job):
    before = job.valid()
    result = job.run()
    assert result.returncode == 0 and "nothing to run" in result.stderr, result.stderr
    assert job.valid() == before


def interrupted(job):
    (job.folder / "corpus.txt").write_bytes((job.folder / "corpus.txt").read_bytes() + b"changed")
    engine = job.start()
    wait_for(lambda: "xz" in processes(job.mark), "xz to run on what has changed")
    engine.send_signal(signal.SIGINT)
    assert engine.wait(timeout=20) == 130
    assert not processes(job.mark)


def refused(job):
    result = job.run(PATH=str(job.folder))
    assert result.returncode == 1, result.returncode
    line, = result.stderr.strip().splitlines()
    assert f"the workload xz: program 'xz' not found in PATH: install it, or write its path (PATH is {job.folder})" in line, line
    (job.folder / "corpus.txt").unlink()
    result = job.run()
    assert result.returncode == 1
    assert f"the workload xz: the input 'corpus.txt' matches no file in {job.folder}" in result.stderr, result.stderr


def a_failing_program(job):
    plan = json.loads(job.plan.read_text(encoding="utf-8"))
    plan["workloads"][0]["command"]["arguments"][-1] = "no-such-file"
    plan["workloads"][0]["command"]["inputs"] = []
    plan["points"] = plan["points"][:1]
    plan["criteria"] = plan["comparisons"] = plan["tables"] = []
    plan["design"]["kinds"][0]["repeat"] = 1
    job.plan.write_text(json.dumps(plan), encoding="utf-8")
    result = job.run()
    assert result.returncode == 5, (result.returncode, result.stderr)
    assert "xz exited with code 1: xz: no-such-file: No such file or directory" in result.stderr, result.stderr
    kept = sorted((job.results / "trials").iterdir())
    assert kept and "No such file" in (kept[0] / "stderr.txt").read_text()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--expc", required=True)
    expc = os.path.abspath(parser.parse_args().expc)
    if not shutil.which("xz"):
        print("SKIPPED: no xz (tools/setup --tests installs it)")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory(prefix="expc-command-job-") as folder:
        job = Job(expc, folder)
        for step in (written_as_a_study, killed_and_continued, values_make_sense, nothing_to_do, interrupted, refused):
            begin = time.monotonic()
            step(job)
            print(f"{step.__name__}: {time.monotonic() - begin:.1f} s")
    with tempfile.TemporaryDirectory(prefix="expc-command-job-") as folder:
        a_failing_program(Job(expc, folder))


if __name__ == "__main__":
    main()
