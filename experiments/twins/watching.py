"""A profile trial's numbers under the names of std.profiler, from the trace of torch's own profiler or from Nsight Systems (`nsys`).

Times are sums over the watched steps. Without a GPU no call of CUDA was made, so they are 0. torch leaves cudaEventDestroy out of its traces; nsys has
it, and says bytes in rounded MB, so these are not taken from there. No torch is loaded before something is watched.
"""
import csv
import json
import os
import subprocess
import sys
import tempfile
import time

REPORTS = ("cuda_api_sum", "cuda_gpu_kern_sum", "cuda_gpu_mem_time_sum")
TIMES = {"launch_time": "cudaLaunchKernel", "stream_synchronize_time": "cudaStreamSynchronize", "event_synchronize_time": "cudaEventSynchronize",
         "memcpy_async_time": "cudaMemcpyAsync"}
COPIES = {"htod": "HtoD", "dtoh": "DtoH", "dtod": "DtoD"}
NSYS_COPIES = {"htod": "Host-to-Device", "dtoh": "Device-to-Host", "dtod": "Device-to-Device"}
NCCL = {"nccl_all_reduce_time": "AllReduce", "nccl_all_gather_time": "AllGather", "nccl_reduce_scatter_time": "ReduceScatter"}


class Watch:
    """Of one rank, from its making to `ended`. `by` is torch or nsys; the latter counts between these two, and `under_nsys` reads it."""

    def __init__(self, by):
        import torch

        if by == "nsys" and not torch.cuda.is_available():
            raise SystemExit("profiler nsys counts calls of CUDA, and there is no GPU")
        activities = [torch.profiler.ProfilerActivity.CPU]
        if torch.cuda.is_available():
            activities.append(torch.profiler.ProfilerActivity.CUDA)
            torch.cuda.synchronize()
        self.by = by
        self.profiler = torch.cuda.profiler if by == "nsys" else torch.profiler.profile(activities=activities)
        self.profiler.start()
        self.begin = time.perf_counter()

    def ended(self):
        """The metrics of this rank; call it on an idle device."""
        wall = time.perf_counter() - self.begin
        self.profiler.stop()
        if self.by == "nsys":
            return {"profiled_time": wall}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            self.profiler.export_chrome_trace(path)
            with open(path, encoding="utf-8") as file:
                return {"profiled_time": wall, **totals(json.load(file)["traceEvents"])}


def totals(events):
    """Seconds, bytes and counts of a Chrome trace's events."""
    result = dict.fromkeys(["api_time", "kernel_time", "nccl_time", "launch_count", "copies_htod", *TIMES, *NCCL], 0.0)
    result.update({f"{what}_{way}{end}": 0.0 for what, end in (("memcpy", "_time"), ("bytes", "")) for way in COPIES})
    for event in events:
        kind, name, seconds = event.get("cat"), event.get("name", ""), event.get("dur", 0) / 1e6
        if kind == "cuda_runtime":
            result["api_time"] += seconds
            result["launch_count"] += name.startswith("cudaLaunchKernel")
            for metric, call in TIMES.items():
                result[metric] += seconds if name.startswith(call) else 0.0
        elif kind == "kernel" and name.startswith("nccl"):
            result["nccl_time"] += seconds
            for metric, call in NCCL.items():
                result[metric] += seconds if call in name else 0.0
        elif kind == "kernel":
            result["kernel_time"] += seconds
        elif kind == "gpu_memcpy":
            for way, word in COPIES.items():
                if word in name:
                    result[f"memcpy_{way}_time"] += seconds
                    result[f"bytes_{way}"] += event.get("args", {}).get("bytes", 0)
                    result["copies_htod"] += way == "htod"
    return result


def under_nsys(command, out):
    """Runs a trial's command under nsys and adds what that counted to the file that the trial wrote; its exit code."""
    report = f"{os.path.splitext(out)[0]}.nsys-rep"
    watched = subprocess.run(["nsys", "profile", "--trace=cuda", "--sample=none", "--cpuctxsw=none", "--capture-range=cudaProfilerApi",
                              "--capture-range-end=stop", "--force-overwrite=true", f"--output={report}", *command], check=False)
    if watched.returncode:
        return watched.returncode
    told = subprocess.run(["nsys", "stats", "--force-export=true", "--format=csv", *(f"--report={name}" for name in REPORTS), report],
                          stdout=subprocess.PIPE, text=True, check=False)
    if told.returncode:
        return told.returncode
    with open(out, encoding="utf-8") as file:
        measured = json.load(file)
    with open(out, "w", encoding="utf-8") as file:
        json.dump(measured | nsys_totals(told.stdout), file)
    return 0


def nsys_totals(text):
    """Seconds and counts of what `nsys stats` prints: for each report a header, and rows with a name last."""
    result = dict.fromkeys(["api_time", "event_destroy_time", "kernel_time", "nccl_time", "launch_count", "copies_htod", *TIMES, *NCCL,
                            *(f"memcpy_{way}_time" for way in NSYS_COPIES)], 0.0)
    columns = []
    for row in csv.reader(text.splitlines()):
        if row[:1] == ["Time (%)"]:
            columns = row
            continue
        if not columns or len(row) != len(columns):
            columns = []
            continue
        name, seconds, count = row[-1], float(row[1]) / 1e9, int(row[2])
        if name.startswith("[CUDA memcpy"):
            for way, word in NSYS_COPIES.items():
                result[f"memcpy_{way}_time"] += seconds if word in name else 0.0
                result["copies_htod"] += count if word in name and way == "htod" else 0
        elif columns[2] == "Num Calls" and name.startswith("cuda"):
            result["api_time"] += seconds
            result["launch_count"] += count if name.startswith("cudaLaunchKernel") else 0
            for metric, call in {**TIMES, "event_destroy_time": "cudaEventDestroy"}.items():
                result[metric] += seconds if name.startswith(call) else 0.0
        elif columns[2] == "Instances":
            result["nccl_time" if name.startswith("nccl") else "kernel_time"] += seconds
            for metric, call in NCCL.items():
                result[metric] += seconds if name.startswith("nccl") and call in name else 0.0
    if not result["api_time"]:
        print("nsys saw no call of CUDA in the watched steps", file=sys.stderr)
    return result


def is_sum(metric):
    """Whether a metric is of all ranks together; others are of the rank that has most."""
    return metric.startswith(("bytes_", "copies_")) or metric == "launch_count"
