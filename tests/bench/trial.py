#!/usr/bin/env python3
"""What `import expc` costs a step: processor time of loops over a range behind the first step, least of 20. With torch and a GPU (a
simulated one will do: `expc null 1 -- python3 tests/bench/trial.py`) steps are timed with events.

usage: trial.py
"""
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import expc  # noqa: E402

STEPS = 5000


def least(body):
    """Microseconds of processor time for a step of `body(trial)`."""
    times = []
    for _ in range(20):
        trial = expc.Trial({"kind": "timed", "settings": {"steps": STEPS}, "report": "/dev/null"} if body is not plain else None)
        loop = iter(body(trial))
        next(loop)
        before = time.process_time()
        for _ in loop:
            pass
        times.append(time.process_time() - before)
    return min(times) / STEPS * 1e6


def plain(trial):
    return trial.steps(range(STEPS))


def steps(trial):
    return trial.steps(range(STEPS))


def metric(trial):
    for number in range(STEPS):
        yield trial.metric(loss=number)


def main():
    for name, body in (("a step without expc", plain), ("a step, timed", steps), ("a metric with a number", metric)):
        print(f"{name}: {least(body):.2f} us", flush=True)
    try:
        import torch
    except (ImportError, OSError):
        return
    if torch.cuda.is_available():
        loss = torch.zeros(1, device="cuda")

        def tensor(trial):
            for _ in range(STEPS):
                yield trial.metric(loss=loss)

        def record(trial):
            stream, events = torch.cuda.current_stream(), [torch.cuda.Event(enable_timing=True) for _ in range(STEPS)]
            for one in events * 2:  # the first record of an event makes it
                yield one.record(stream)
        alone, own = least(record) / 2, least(steps)
        print(f"torch.cuda.Event.record: {alone:.2f} us")
        print(f"a step, timed with events: {own:.2f} us, {own / alone:.1f} times the record", flush=True)
        print(f"a metric with a tensor of a GPU: {least(tensor):.2f} us", flush=True)


if __name__ == "__main__":
    main()
