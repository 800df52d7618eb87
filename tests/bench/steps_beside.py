#!/usr/bin/env python3
"""Times of training steps and peaks of host memory beside another expc, such as that of an earlier commit, in turns and on processors.

Both binaries have their `expc-worker` beside them, and the studies are valid for both. Prints a row for each point and metric: the least and
the median of both, and their ratios.

usage: steps_beside.py --expc PATH --old PATH [--runs N]
"""
import argparse
import collections
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

STUDIES = {
    "llm": """import std.llm
study llm {
  workload llm.finetune
  factor model in { tiny }
  factor max_length in { 64tok }
  factor method in { lora, qlora, dpo, qat }
  measure iteration_time, host_memory_peak
  design { timed { repeat 1  steps 30  warmup 5 }  seed 1 }
}
""",
    "image": """import std.image
study image {
  workload image.mobilenet_v2
  factor data in { synthetic(512) }
  factor size in { 64px }
  factor batch in { 16 }
  measure step_time, host_memory_peak
  design { timed { repeat 1  steps 20  warmup 3 }  seed 1 }
}
""",
}


def medians(expc, study, folder):
    """Runs a study once. Returns its values by the point's place in the report and the metric."""
    say = lambda *words: subprocess.run([expc, *words], cwd=folder, env={**os.environ, "EXPC_DEVICE_LOCKS": "none"}, capture_output=True,
                                        text=True, check=True).stdout
    say("run", f"{study}.exp", "--heat-up", "0", "--devices", "cpu:1", "--quiet")
    points = json.loads(say("report", f"{study}.exp", "--format", "json"))["points"]
    return {(study, place, name): metric["median"] for place, point in enumerate(points) for name, metric in point["metrics"].items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--expc", required=True, type=pathlib.Path)
    parser.add_argument("--old", required=True, type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=6)
    arguments = parser.parse_args()
    found = collections.defaultdict(lambda: ([], []))
    for turn in range(arguments.runs):
        for place in (0, 1) if turn % 2 else (1, 0):
            expc = (arguments.old, arguments.expc)[place].resolve()
            for study, text in STUDIES.items():
                with tempfile.TemporaryDirectory() as folder:
                    (pathlib.Path(folder) / f"{study}.exp").write_text(text, encoding="utf-8")
                    for key, value in medians(expc, study, folder).items():
                        found[key][place].append(value)
    for (study, place, name), (old, new) in found.items():
        print(f"{study} {place} {name}: least {min(old):.6g} {min(new):.6g} ({min(new) / min(old):.3f}); median {statistics.median(old):.6g} "
              f"{statistics.median(new):.6g} ({statistics.median(new) / statistics.median(old):.3f})")


if __name__ == "__main__":
    main()
