"""Runs one trial with `expc-worker --trial`, a process for each rank, as a launcher does, and reads its events."""
import json
import os
import pathlib
import random
import socket
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIGITS = ROOT / "experiments" / "data" / "digits"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def specification(kind="timed", ranks=1, settings=None, metrics=(), seed=7, root=ROOT, cores=None, **parameters):
    values = {"data": {"mnist": [str(DIGITS)]}, "size": 32, "width": 0.5, "batch": 32, "gpus": ranks}
    values.update(parameters)
    # A core for each rank. Other tests run beside this one, so not always the same.
    allowed = sorted(os.sched_getaffinity(0))
    first = random.randrange(len(allowed))
    slots = [{"device": "cpu", "cores": cores or [allowed[(first + r) % len(allowed)]]} for r in range(ranks)]
    return {"v": 1, "trial": "test", "point": "0" * 16, "workload": "image.mobilenet_v2", "workload_version": 1, "kind": kind,
            "settings": settings or ({"steps": 3, "warmup": 1} if kind == "timed" else {"epochs": 1}), "parameters": values,
            "root": str(root), "seed": seed, "metrics": list(metrics), "world_size": ranks, "slots": slots}


class Rank:
    """One rank that has ended: its exit code, its events and what it said on standard error."""

    def __init__(self, code, output, log):
        self.code, self.log = code, log
        self.events = [json.loads(line) for line in output.splitlines()]

    def last(self):
        return self.events[-1] if self.events else {}


def run(worker, spec, timeout=120, environment=None, while_running=None):
    """All ranks of a trial, in order. `while_running` gets the list of processes once they have started."""
    port = str(free_port())
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "trial.json"
        file.write_text(json.dumps(spec))
        processes, logs = [], []
        for rank in range(spec["world_size"]):
            env = dict(os.environ, EXPC_COMM_TIMEOUT_S="30", RANK=str(rank), WORLD_SIZE=str(spec["world_size"]),
                       LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
            env.update(environment or {})
            log = open(pathlib.Path(folder) / f"{rank}.log", "w+")
            logs.append(log)
            processes.append(subprocess.Popen([worker, "--trial", str(file)], env=env, stdout=subprocess.PIPE, stderr=log, text=True))
        try:
            if while_running:
                while_running(processes)
            deadline = time.monotonic() + timeout
            ranks = []
            for process, log in zip(processes, logs):
                output, _ = process.communicate(timeout=max(0.1, deadline - time.monotonic()))
                log.seek(0)
                ranks.append(Rank(process.returncode, output, log.read()))
            return ranks
        finally:
            for process, log in zip(processes, logs):
                if process.poll() is None:
                    process.kill()
                    process.wait()
                log.close()


def result(worker, spec, **options):
    """The result event of a trial that must end well."""
    ranks = run(worker, spec, **options)
    for number, rank in enumerate(ranks):
        assert rank.code == 0, f"rank {number} ended with {rank.code}: {rank.last()}\n{rank.log}"
    event = ranks[0].last()
    assert event.get("event") == "result", event
    return event
