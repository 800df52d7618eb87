#!/usr/bin/env python3
"""A study of a program of the user's, from its text to its verdicts, through the real binaries: methods/methods.exp.

The program prints times that follow from its arguments and seed, so every verdict is known beforehand. The run is cut off by
SIGKILL, continued, repeated and stopped by a budget; methods/steady.exp has a control and repeats until it is precise enough.

usage: methods_study.py --expc PATH
"""
import argparse
import collections
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "fault"))
import stored  # noqa: E402

CASES = {("none", None), ("lora", "8"), ("lora", "16"), ("qlora", "8"), ("qlora", "16")}


class Study:
    def __init__(self, expc, folder, name):
        self.expc, self.folder, self.name = expc, folder, name
        self.results = folder / "results"

    def command(self, what, *more):
        heat_up = ["--heat-up", "0"] if what == "run" else []
        return [self.expc, what, f"{self.name}.exp", "--results", str(self.results), *heat_up, *more]

    def do(self, what, *more, code=0):
        result = subprocess.run(self.command(what, *more), cwd=self.folder, capture_output=True, text=True, timeout=120)
        assert result.returncode == code, (result.args, result.returncode, result.stderr)
        return result

    def pause(self, seconds):
        """How long the program takes from now on."""
        (self.folder / "pause").write_text(seconds, encoding="utf-8")

    def report(self, *more, code=0):
        return json.loads(self.do("report", "--format", "json", *more, code=code).stdout)

    def trials(self):
        """(block, point, label, status) of every trial."""
        return stored.rows(self.expc, self.results, "SELECT block, point, label, status FROM trial ORDER BY id") or []


def verdicts(report):
    return {criterion["name"]: criterion["verdict"] for criterion in report["criteria"]}


def killed(study):
    study.pause("0.2")
    engine = subprocess.Popen(study.command("run"), cwd=study.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while sum(trial[3] == "valid" for trial in study.trials()) < 5:
        assert engine.poll() is None and time.monotonic() < end, (engine.returncode, study.trials())
        time.sleep(0.02)
    engine.send_signal(signal.SIGKILL)
    assert engine.wait() == -signal.SIGKILL
    study.pause("0")
    report = study.report(code=4)
    assert verdicts(report)["costs"] == "inconclusive", verdicts(report)


def continued(study):
    before = study.trials()
    study.do("run")
    after = study.trials()
    assert after[:len(before) - 1] == before[:-1], "what was measured stays"
    counted = collections.Counter(trial[:3] for trial in after if trial[3] == "valid")
    assert set(counted.values()) == {1}, "no point twice in a block"
    of_points = collections.Counter(point for _, point, _ in counted)
    assert sorted(of_points.values()) == [7, 7, 7], of_points
    statuses = collections.Counter(trial[3] for trial in after)
    assert statuses["valid"] == 21 and statuses["infeasible"] == 4 and statuses["interrupted"] <= 1, statuses
    assert sum(statuses.values()) <= 26, statuses


def judged(study):
    report = study.report()
    assert verdicts(report) == {"costs": "pass", "oom": "pass", "close": "pass"}, verdicts(report)
    assert report["schema"] == "expc.report/1" and report["exit_code"] == 0 and report["kept_not_counted"] == 0
    points = {(point["levels"]["method"], point["levels"]["rank"]): point["metrics"] for point in report["points"]}
    assert set(points) == CASES, points.keys()
    for (method, rank), metrics in points.items():
        if method == "qlora":
            assert all(not metric["values"] for metric in metrics.values()), metrics
            continue
        wanted = {"step_time": 0.010 if method == "none" else 0.012, "launch_share": 0.25, "loss": 1.25 - 0.01 * int(rank or 0)}
        for name, value in wanted.items():
            found = metrics[name]
            assert found["n"] == 7 and all(abs(one - value) < 1e-9 for one in found["values"]), (method, rank, name, found)
        assert metrics["wall"]["minimum"] > 0
    criteria = {criterion["name"]: criterion for criterion in report["criteria"]}
    assert [cell["levels"] for cell in criteria["oom"]["cells"]] == [{"method": "qlora", "rank": rank} for rank in ("8", "16")]
    for cell in criteria["costs"]["cells"]:
        assert cell["levels"]["method"] == "lora" and abs(cell["estimate"] - 1.2) < 1e-9, cell
        assert cell["scope"]["complete"] == 7 and cell["scope"]["lost"] == 0, cell
    gap, = criteria["close"]["cells"]
    assert gap["levels"] == {"method": "lora", "rank": "16"} and abs(gap["estimate"] - 0.08) < 1e-9, gap
    page = (study.results / "methods.html").read_text(encoding="utf-8")
    assert "launch_share" in page and "ran out of memory" in page


def nothing_to_do(study):
    before = study.trials()
    again = study.do("run", "--format", "json")
    assert "nothing to run" in again.stderr, again.stderr
    assert study.trials() == before
    assert json.loads(again.stdout)["criteria"] == study.report()["criteria"]


def budget(study):
    study.pause("0.1")
    spent = study.do("run", "-D", "design.budget=300ms", code=4)
    assert "the budget of 300 ms is used up" in spent.stderr and "-D design.budget=TIME" in spent.stderr, spent.stderr
    before = study.trials()
    assert 0 < len(before) < 25 and len(before) % 5 == 0, "stopped at the end of a block"
    study.do("run")
    assert study.trials()[:len(before)] == before
    assert set(verdicts(study.report()).values()) == {"pass"}


def adaptive(study):
    lines = [line for line in study.do("run").stderr.splitlines() if line.startswith("after ")]
    state, = study.report()["repetitions"]
    done = state["repetitions"]
    assert 6 < done < 12 and state["met"] and state["widest"] <= 0.007, state
    # Six blocks have no interval of the share of the level that goes to a width; each further one tells its half-width.
    assert len(lines) == done - 5 and lines[0].startswith("after 6 of at most 12 blocks: no interval of cost yet"), lines
    widths = [float(line.split("half-width of cost is ")[1].split(" %")[0]) for line in lines[1:]]
    assert widths and all(width > 0.7 for width in widths[:-1]) and widths[-1] <= 0.7, widths
    # A bound out of reach ends at the most that the design allows, and takes what is there. The verdict of the earlier look stands.
    study.do("run", "--preset", "sharper")
    state, = study.report("--preset", "sharper")["repetitions"]
    assert state["repetitions"] == 12 and not state["met"], state
    assert collections.Counter(trial[2:] for trial in study.trials()) == {("", "valid"): 24, ("twice", "valid"): 12}


def control(study):
    trusted, = study.report()["controls"]
    assert not trusted["untrusted"] and trusted["interval"]["low"] == trusted["interval"]["high"] == 1, trusted
    assert abs(trusted["margin"] - 0.15) < 1e-9, "half of what 1.3x claims"


def mistrusted(study):
    seen = study.folder / "seen"
    seen.mkdir()
    study.do("run", code=4)
    report = study.report(code=4)
    assert verdicts(report) == {"costs": "pass"} and report["exit_code"] == 4, "an untrusted verdict stays, and decides nothing"
    control, = report["controls"]
    assert control["untrusted"] and control["interval"]["low"] < 0.85, control
    assert report["criteria"][0]["untrusted"].split(", half of")[0] == control["why"].split(", half of")[0], report["criteria"]
    assert "(untrusted)" in study.do("report", code=4).stdout


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--expc", required=True)
    expc = str(pathlib.Path(arguments.parse_args().expc).resolve())
    for name, steps in (("methods", (killed, continued, judged, nothing_to_do)), ("methods", (budget,)), ("steady", (adaptive, control)),
                        ("steady", (mistrusted,))):
        with tempfile.TemporaryDirectory(prefix="expc-methods-") as folder:
            shutil.copytree(HERE / "methods", folder, dirs_exist_ok=True)
            study = Study(expc, pathlib.Path(folder), name)
            for step in steps:
                begin = time.monotonic()
                step(study)
                print(f"{name} {step.__name__}: {time.monotonic() - begin:.1f} s")


if __name__ == "__main__":
    main()
