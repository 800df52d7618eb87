#!/usr/bin/env python3
"""The main job through the real binaries on real digits: a cut of the quick preset is measured, interrupted with SIGKILL, continued and judged.

usage: main_job.py --expc PATH
"""
import argparse
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/fault"))
import stored  # noqa: E402


def valid_trials(expc, folder):
    """How many are in the store of a run that goes on."""
    rows = stored.rows(expc, folder, "SELECT count(*) FROM trial WHERE status = 'valid'")
    return rows[0][0] if rows else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--expc", required=True)
    expc = parser.parse_args().expc
    # One step of the preset's size, seven pairs: the shape of `make run` in a fraction of its time.
    study = [str(ROOT / "experiments/precision.exp"), "--preset", "quick", "-D", "precision={fp64,fp32}",
             "-D", "design.timed.steps=4", "-D", "design.timed.warmup=2", "-D", "design.quality.epochs=1"]

    with tempfile.TemporaryDirectory(prefix="expc-main-job-") as folder:
        command = [expc, "run", *study, "--devices", "cpu:2", "--heat-up", "100ms", "--results", folder]
        first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 300
        while valid_trials(expc, folder) < 7:
            assert first.poll() is None and time.monotonic() < end, first.returncode
            time.sleep(0.05)
        first.send_signal(signal.SIGKILL)
        assert first.wait() == -signal.SIGKILL
        # One epoch is too few to learn: the accuracy claim fails, and that is exit code 3 and a verdict all the same.
        result = subprocess.run([*command, "--format", "json"], capture_output=True, text=True, timeout=400)
        assert result.returncode in (0, 3, 4), (result.returncode, result.stderr[-2000:])
        verdicts = {c["name"]: c["verdict"] for c in json.loads(result.stdout)["criteria"]}
        print("verdicts:", verdicts)
        assert set(verdicts) == {"fp32_pays", "learns"}, verdicts
        assert "not run" not in verdicts.values(), verdicts

        counts = dict(stored.rows(expc, folder, "SELECT kind, count(*) FROM trial WHERE status = 'valid' GROUP BY kind"))
        print("valid trials:", counts)
        assert counts == {"timed": 28, "quality": 4}, counts
        images = stored.rows(expc, folder, "SELECT min(value) FROM metric_value WHERE name = 'images_per_s'")[0][0]
        assert images > 0
        page = next(pathlib.Path(folder).glob("precision.quick.*.html")).read_text(encoding="utf-8")
        assert "fp32_pays" in page and "step_time" in page

        again = subprocess.run([*command, "--verdicts-ok"], capture_output=True, text=True, timeout=60)
        assert again.returncode == 0, again.stderr
        after = valid_trials(expc, folder)
        assert after == 32, f"a complete study measured again: {after}"


if __name__ == "__main__":
    main()
