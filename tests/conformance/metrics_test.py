#!/usr/bin/env python3
"""A study that asks for every metric of image.mobilenet_v2 at once, through `expc run`: each is a positive number in every trial of its
kind, or "not on this device" where a CPU has no such thing. Never zero, and never silently missing.

usage: metrics_test.py EXPC EXPC_WORKER
"""
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import ranks  # noqa: E402

# What only a GPU has: its memory and energy counters, calls, copies, kernels. And here no step copies: the loader's batch is the network's.
GPU_ONLY = {"device_memory_peak", "device_memory_allocated_peak", "energy", "copy_time", "api_time", "launch_time", "launch_count", "copies_htod",
            "stream_synchronize_time", "event_synchronize_time", "event_destroy_time", "memcpy_async_time", "memcpy_htod_time",
            "memcpy_dtoh_time", "memcpy_dtod_time", "bytes_htod", "bytes_dtoh", "bytes_dtod", "kernel_time", "nccl_time", "nccl_all_reduce_time", "nccl_all_gather_time",
            "nccl_reduce_scatter_time", "nccl_broadcast_time", "gpu_busy_share"}
# Counts of what goes wrong, for which none is a measurement.
MAY_BE_ZERO = {"images_skipped"}

STUDY = """import std.image

/// Everything that can be measured.
study everything {{
  workload image.mobilenet_v2(data = mnist("{data}"), size = 32px, width = 0.25, batch = 64, workers = 1)
  factor gpus in {{ 1, 2 }}
  measure {metrics}
  design {{
    timed {{ repeat 1  epochs 2 }}
    quality {{ repeat 1  epochs 1 }}
    profile {{ repeat 1  steps 3  warmup 1 }}
  }}
}}
"""


def main():
    expc, worker = sys.argv[1:3]
    described = json.loads(subprocess.run([worker, "--describe"], capture_output=True, text=True, check=True).stdout)
    workload = next(w for w in described["workloads"] if w["name"] == "image.mobilenet_v2")
    metrics = [metric["name"] for metric in workload["metrics"]]
    assert GPU_ONLY < set(metrics), GPU_ONLY - set(metrics)

    with tempfile.TemporaryDirectory(prefix="expc-metrics-") as folder:
        study = pathlib.Path(folder) / "everything.exp"
        study.write_text(STUDY.format(data=ranks.DIGITS, metrics=", ".join(metrics)))
        command = [expc, "run", str(study), "--devices", "cpu:2", "--heat-up", "0", "--results", str(pathlib.Path(folder) / "results"),
                   "--format", "json"]
        run = subprocess.run(command, capture_output=True, text=True, timeout=500)
        assert run.returncode == 0, (run.returncode, run.stderr[-3000:])
        result = json.loads(run.stdout)
    points, dimensions = result["points"], {metric["name"]: metric["dimension"] for metric in result["metrics"]}

    problems = []
    assert len(points) == 2, points
    for point in points:
        gpus = point["levels"]["gpus"]
        for trials in point["trials"]:
            if trials["valid"] != 1:
                problems.append(f"gpus={gpus}: {trials}")
        for name in metrics:
            found = point["metrics"].get(name)
            if name in GPU_ONLY or name == "all_reduce_time" and str(gpus) == "1":
                if found is not None or name not in point["not_on_device"]:
                    problems.append(f"gpus={gpus}: {name} is {found}, and a CPU has none")
            elif found is None or found["n"] != 1:
                problems.append(f"gpus={gpus}: {name} has no value")
            elif not all(value > 0 or (value == 0 and name in MAY_BE_ZERO) for value in found["values"]) or not found["values"]:
                problems.append(f"gpus={gpus}: {name} is {found['values']}")
            elif dimensions[name] == "share" and max(found["values"]) > 1:
                problems.append(f"gpus={gpus}: {name} is a share of {found['values']}")
    print("\n".join(problems) or f"ok: {len(metrics)} metrics, {len(GPU_ONLY)} of them not on this device")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
