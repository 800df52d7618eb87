"""A profile trial's numbers under the names of std.profiler, from the trace of torch's own profiler.

Times are sums over the watched steps. Without a GPU no call of CUDA was made, so they are 0. torch leaves cudaEventDestroy out of its traces.
"""
import json
import os
import tempfile
import time

import torch

TIMES = {"launch_time": "cudaLaunchKernel", "stream_synchronize_time": "cudaStreamSynchronize", "event_synchronize_time": "cudaEventSynchronize",
         "memcpy_async_time": "cudaMemcpyAsync"}
COPIES = {"htod": "HtoD", "dtoh": "DtoH", "dtod": "DtoD"}
NCCL = {"nccl_all_reduce_time": "AllReduce", "nccl_all_gather_time": "AllGather", "nccl_reduce_scatter_time": "ReduceScatter"}


class Watch:
    """Of one rank, from its making to `ended`."""

    def __init__(self):
        activities = [torch.profiler.ProfilerActivity.CPU]
        if torch.cuda.is_available():
            activities.append(torch.profiler.ProfilerActivity.CUDA)
            torch.cuda.synchronize()
        self.profiler = torch.profiler.profile(activities=activities)
        self.profiler.start()
        self.begin = time.perf_counter()

    def ended(self):
        """The metrics of this rank; call it on an idle device."""
        wall = time.perf_counter() - self.begin
        self.profiler.stop()
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


def is_sum(metric):
    """Whether a metric is of all ranks together; others are of the rank that has most."""
    return metric.startswith(("bytes_", "copies_")) or metric == "launch_count"
