"""The grid that every tool expands: 2 models x 2 sources x 2 optimisers x 125 seeds x N/1000 rates, and what they share."""
import hashlib
import json
import sys
import time

MODELS = ("mobilenet_v2", "llama3")
SOURCES = ("folder", "packed")
OPTIMIZERS = ("sgd", "adam")
SEEDS = range(125)
DEFAULTS = {"gpus": 1, "epochs": 20, "batch": 64, "precision": "fp32", "workers": 2, "prefetch": 2, "pin_memory": False}


def rates(points):
    if points % 1000:
        raise SystemExit(f"the grid has a multiple of 1000 points, not {points}")
    return range(1, points // 1000 + 1)


def high_water():
    """Peak resident memory of this process, in MiB."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def write_line(out, parameters):
    """What each tool does with a point: an id from its canonical form, and a JSON line."""
    canonical = json.dumps(parameters, sort_keys=True, separators=(",", ":"))
    identity = hashlib.blake2b(canonical.encode(), digest_size=8).hexdigest()
    out.write(f'{{"id":"{identity}","parameters":{canonical}}}\n')


class Meter:
    """Time and peak memory since it was made: the start of the interpreter and imports do not count."""

    def __init__(self):
        self.memory = high_water()
        self.begin = time.perf_counter()

    def report(self, points, **more):
        seconds = time.perf_counter() - self.begin
        print(json.dumps({"points": points, "seconds": seconds, "mib": high_water() - self.memory, **more}), file=sys.stderr)
