"""What steps of a program in Python take and do on null cards, in the form of a rehearsal's rank (runtime/protocol/trial.h)."""

import ctypes
import pathlib
import time

import torch


class Traffic(ctypes.Structure):
    _fields_ = [("calls", ctypes.c_uint64), ("bytes", ctypes.c_uint64)]


class Counters(ctypes.Structure):
    """The first members of nullgpu/core/counters_api.h's struct, which tells its own length."""
    _fields_ = [("size", ctypes.c_uint64), ("launches", ctypes.c_uint64), ("allocations", ctypes.c_uint64),
                ("synchronisations", ctypes.c_uint64), ("to_device", Traffic), ("from_device", Traffic), ("within_devices", Traffic)]


def read():
    """Since the process began."""
    counters = Counters(size=ctypes.sizeof(Counters))
    if ctypes.CDLL(None).nullgpu_counters(ctypes.byref(counters)) != 0:
        raise SystemExit("the null cards tell no counters: build them from the sources that this script is of (make cuda)")
    return counters


def host_seconds():
    """Processor time of the threads that launch, as a rehearsal counts them: this one and autograd's."""
    total = time.thread_time()
    for task in pathlib.Path("/proc/self/task").iterdir():
        if (task / "comm").read_text().startswith("pt_autograd_"):
            total += time.clock_gettime((~int(task.name) << 3) | 6)  # of one thread, as pthread_getcpuclockid makes the number
    return total


def counted(step, count):
    """Of `count` steps together; memory is the most of them, in bytes. The two waits around them are not counted."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before, used = read(), host_seconds()
    for _ in range(count):
        step()
    used = host_seconds() - used
    torch.cuda.synchronize()
    after = read()
    result = {"steps": count, "host_seconds": used, "launches": after.launches - before.launches,
              "synchronisations": after.synchronisations - before.synchronisations - 1,
              "device_memory_allocated": torch.cuda.max_memory_allocated(), "device_memory_reserved": torch.cuda.max_memory_reserved()}
    for name in ("to_device", "from_device", "within_devices"):
        new, old = getattr(after, name), getattr(before, name)
        result[name] = {"calls": new.calls - old.calls, "bytes": new.bytes - old.bytes}
    return result
