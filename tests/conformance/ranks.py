"""Runs one trial, a process for each rank, as the engine or a launcher does, and reads its events."""
import contextlib
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
    """A port that nobody listens on, and that the kernel gives to no connection of another test meanwhile: not one of its own range."""
    while True:
        port = random.randrange(20000, 32768)
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)):
                return port


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


def run(worker, spec, timeout=120, environment=None, while_running=None, launcher=False):
    """All ranks of a trial, in order: forked by `expc-worker --serve`, as the engine starts them, or, with `launcher`, each by
    `expc-worker --trial`. So too with `while_running`, which gets the list of processes once they have started."""
    variables = {"EXPC_COMM_TIMEOUT_S": "30", **(environment or {})}
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        logs = [stack.enter_context(open(pathlib.Path(folder) / f"{rank}.log", "w+")) for rank in range(spec["world_size"])]
        if launcher or while_running:
            outcome = launch(worker, spec, timeout, variables, while_running, pathlib.Path(folder) / "trial.json", logs)
        else:
            import server  # which needs this module
            outcome = server.of(worker).outcome(spec, logs, timeout, variables)
        ranks = []
        for (code, output), log in zip(outcome, logs):
            log.seek(0)
            ranks.append(Rank(code, output, log.read()))
        return ranks


def launch(worker, spec, timeout, variables, while_running, file, logs):
    """Of each rank, started by `expc-worker --trial FILE`, its exit code and what it wrote."""
    file.write_text(json.dumps(spec))
    port, processes = str(free_port()), []
    try:
        for rank, log in enumerate(logs):
            env = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(spec["world_size"]), LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1",
                       MASTER_PORT=port, **variables)
            processes.append(subprocess.Popen([worker, "--trial", str(file)], env=env, stdout=subprocess.PIPE, stderr=log, text=True))
        if while_running:
            while_running(processes)
        deadline = time.monotonic() + timeout
        outputs = [process.communicate(timeout=max(0.1, deadline - time.monotonic()))[0] for process in processes]
        return [(process.returncode, output) for process, output in zip(processes, outputs)]
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.wait()


def result(worker, spec, **options):
    """The result event of a trial that must end well."""
    ranks = run(worker, spec, **options)
    for number, rank in enumerate(ranks):
        assert rank.code == 0, f"rank {number} ended with {rank.code}: {rank.last()}\n{rank.log}"
    event = ranks[0].last()
    assert event.get("event") == "result", event
    return event
