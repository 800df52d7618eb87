#!/usr/bin/env python3
"""Times of training steps and peaks of memory beside another expc, such as that of an earlier commit, in turns.

Both binaries have their workers beside them, and the studies are valid for both. On processors: step times and host memory. With --cards, on
simulated GPUs: device memory, which is the same in each run. Prints a row for each point and metric: the least and the median of both, and
their ratios; with --cards only points that differ, and the largest ratio.

usage: steps_beside.py --expc PATH --old PATH [--runs N] [--cards]
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

CARDS = {
    "llm": """import std.llm
study llm {
  workload llm.finetune(model = tiny, max_length = 128tok)
  factor method in { full, lora, qlora, dpo, qat }
  factor precision in { bf16, fp32 }
  measure device_memory_peak, device_memory_allocated_peak
  design { timed { repeat 1  steps 3  warmup 3 }  seed 1 }
}
""",
    "image": """import std.image
study image {
  workload image.mobilenet_v2(data = synthetic(512), size = 64px, batch = 16)
  factor precision in { fp32, bf16 }
  factor gpus in { 1, 2 }
  measure device_memory_peak, device_memory_allocated_peak
  design { timed { repeat 1  steps 3  warmup 3 }  seed 1 }
}
""",
}
ON = {False: (STUDIES, ("--devices", "cpu:1")), True: (CARDS, ("--null-gpus", "2x80GiB"))}


def medians(expc, study, folder, cards):
    """Runs a study once. Returns its values by the point's place in the report and the metric."""
    say = lambda *words: subprocess.run([expc, *words], cwd=folder, env={**os.environ, "EXPC_DEVICE_LOCKS": "none"}, capture_output=True,
                                        text=True, check=True).stdout
    on = ON[cards][1]
    say("run", f"{study}.exp", "--heat-up", "0", *on, "--quiet")
    points = json.loads(say("report", f"{study}.exp", *(on if cards else ()), "--format", "json"))["points"]
    return {(study, place, name): metric["median"] for place, point in enumerate(points) for name, metric in point["metrics"].items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--expc", required=True, type=pathlib.Path)
    parser.add_argument("--old", required=True, type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--cards", action="store_true")
    arguments = parser.parse_args()
    found = collections.defaultdict(lambda: ([], []))
    for turn in range(arguments.runs):
        for place in (0, 1) if turn % 2 else (1, 0):
            expc = (arguments.old, arguments.expc)[place].resolve()
            for study, text in ON[arguments.cards][0].items():
                with tempfile.TemporaryDirectory() as folder:
                    (pathlib.Path(folder) / f"{study}.exp").write_text(text, encoding="utf-8")
                    for key, value in medians(expc, study, folder, arguments.cards).items():
                        found[key][place].append(value)
    for (study, place, name), (old, new) in found.items():
        if arguments.cards and old == new:
            continue
        print(f"{study} {place} {name}: least {min(old):.6g} {min(new):.6g} ({min(new) / min(old):.3f}); median {statistics.median(old):.6g} "
              f"{statistics.median(new):.6g} ({statistics.median(new) / statistics.median(old):.3f})")
    if arguments.cards:
        ratios = [min(new) / min(old) for old, new in found.values()]
        print(f"{len(ratios)} peaks, {sum(ratio == 1 for ratio in ratios)} of them equal; ratios {min(ratios):.3f} to {max(ratios):.3f}")


if __name__ == "__main__":
    main()
