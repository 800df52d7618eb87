"""The engine's end of `expc-worker --serve`: a trial starts in milliseconds, a process for each rank."""
import atexit
import functools
import json
import os
import select
import socket
import subprocess
import time

import ranks


class Server:
    def __init__(self, worker, log=None, environment=None):
        """`log` is a file for what the ranks say on standard error; `environment`: more variables, or other values."""
        self.ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen([worker, "--serve", str(theirs.fileno())], pass_fds=[theirs.fileno()],
                                            env=dict(os.environ, **(environment or {})))
        self.ours.settimeout(120)
        assert json.loads(self.ours.recv(1 << 16))["reply"] == "ready"
        self.log, self.launches, self.exited = log, 0, {}

    def close(self):
        self.ours.close()
        assert self.process.wait(timeout=60) == 0

    def run(self, spec, timeout=300, environment=None):
        """The last event of each rank."""
        return [json.loads(text.splitlines()[-1]) if text.strip() else {}
                for _, text in self.outcome(spec, [self.log] * spec["world_size"], timeout, environment)]

    def outcome(self, spec, logs, timeout, environment=None):
        """Of each rank its exit code and its events. `logs`: a file for each; `environment`: more variables, or other values."""
        port, first = ranks.free_port(), self.launches + 1
        texts = {self.launch(spec, rank, port, log, environment or {}): b"" for rank, log in enumerate(logs)}
        running, deadline = {*texts, self.ours}, time.monotonic() + timeout
        wanted = set(range(first, self.launches + 1))
        while len(running) > 1 or not wanted <= self.exited.keys():
            ready, _, _ = select.select(list(running), [], [], max(0, deadline - time.monotonic()))
            assert ready, f"no answer in {timeout} s: {texts}"
            for pipe in ready:
                if pipe is self.ours:
                    self.hear()
                    continue
                part = os.read(pipe, 1 << 16)
                texts[pipe] += part
                if not part:
                    running.discard(pipe)
                    os.close(pipe)
        codes = [os.waitstatus_to_exitcode(self.exited.pop(launch)) for launch in sorted(wanted)]
        return list(zip(codes, texts.values()))

    def hear(self):
        reply = json.loads(self.ours.recv(1 << 16))
        if reply["reply"] == "exited":
            self.exited[reply["launch"]] = reply["status"]

    def launch(self, spec, rank, port, log, environment):
        """Starts one rank; where its events come from."""
        self.launches += 1
        # As the engine does: a process sees the cards of its slots, and all of them where it is the only one.
        slots = spec["slots"] if spec["world_size"] == 1 else spec["slots"][rank:rank + 1]
        variables = {"RANK": rank, "WORLD_SIZE": spec["world_size"], "LOCAL_RANK": rank, "MASTER_ADDR": "127.0.0.1",
                     "MASTER_PORT": port, "EXPC_COMM_TIMEOUT_S": 120,
                     "CUDA_VISIBLE_DEVICES": ",".join(slot["uuid"] for slot in slots if "uuid" in slot), **environment}
        read, write = os.pipe()
        request = {"v": 1, "launch": self.launches, "rank": rank, "spec": spec,
                   "environment": [f"{name}={value}" for name, value in variables.items()]}
        socket.send_fds(self.ours, [json.dumps(request).encode()], [write, log.fileno()])
        os.close(write)
        return read


@functools.cache
def of(worker):
    """The one server that this process has of a worker, until it ends."""
    server = Server(worker)
    atexit.register(server.close)
    return server
