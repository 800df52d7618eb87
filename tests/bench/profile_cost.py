#!/usr/bin/env python3
"""What a profile trial costs on the CPU: processor time of a step with and without the probe, interleaved. Processor time rather than wall
time, so that what else runs on the machine matters less; the difference of a long and a short trial, so that start-up drops out.

usage: profile_cost.py EXPC_WORKER
"""
import pathlib
import resource
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "conformance"))
import ranks  # noqa: E402

CASES = [({"size": 32, "width": 0.25, "batch": 8}, (20, 220), 5), ({"size": 100, "width": 1.0, "batch": 32}, (2, 12), 4)]


def processor_time(worker, kind, steps, parameters):
    """Seconds of a whole trial, and its records of operators in a step."""
    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime
    before = used()
    event = ranks.result(worker, ranks.specification(kind, 1, {"steps": steps, "warmup": 2}, layout="nhwc", workers=0,
                                                     data={"synthetic": [512]}, **parameters), timeout=600)
    records = sum(values[1] for name, values in event["series"].items() if name.startswith("profile.operator."))
    return used() - before, records / steps


def main():
    worker = sys.argv[1]
    for parameters, (few, many), times in CASES:
        steps = {"timed": [], "profile": []}
        for _ in range(times):
            for kind, found in steps.items():
                long, records = processor_time(worker, kind, many, parameters)
                found.append((long - processor_time(worker, kind, few, parameters)[0]) / (many - few))
        plain, profiled = min(steps["timed"]), min(steps["profile"])
        print(f"{parameters}: {plain * 1e3:.2f} ms a step, {profiled * 1e3:.2f} ms profiled, {records:.0f} records of operators; "
              f"{(profiled - plain) / records * 1e6:.2f} us a record; least of {times}", flush=True)


if __name__ == "__main__":
    main()
