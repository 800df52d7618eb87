"""The engine's end of `expc-worker --serve`: a trial starts in milliseconds, a process for each rank."""
import json
import os
import select
import socket
import subprocess
import time

import ranks


class Server:
    def __init__(self, worker, log):
        """`log` is a file for what the ranks say on standard error."""
        self.ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen([worker, "--serve", str(theirs.fileno())], pass_fds=[theirs.fileno()])
        self.ours.settimeout(120)
        assert json.loads(self.ours.recv(1 << 16))["reply"] == "ready"
        self.log, self.launches = log, 0

    def close(self):
        self.ours.close()
        assert self.process.wait(timeout=60) == 0

    def run(self, spec, timeout=300):
        """The last event of each rank."""
        port = ranks.free_port()
        texts = {self.launch(spec, rank, port): b"" for rank in range(spec["world_size"])}
        running, deadline = set(texts), time.monotonic() + timeout
        while running:
            ready, _, _ = select.select(list(running), [], [], max(0, deadline - time.monotonic()))
            assert ready, f"no answer in {timeout} s: {texts}"
            for pipe in ready:
                part = os.read(pipe, 1 << 16)
                texts[pipe] += part
                if not part:
                    running.discard(pipe)
                    os.close(pipe)
        self.forget_replies()
        return [json.loads(text.splitlines()[-1]) if text.strip() else {} for text in texts.values()]

    def forget_replies(self):
        """What the server says of ranks that started and ended: unread, it would block the server some day."""
        while select.select([self.ours], [], [], 0)[0] and self.ours.recv(1 << 16):
            pass

    def launch(self, spec, rank, port):
        """Starts one rank; where its events come from."""
        self.launches += 1
        environment = [f"RANK={rank}", f"WORLD_SIZE={spec['world_size']}", f"LOCAL_RANK={rank}", "MASTER_ADDR=127.0.0.1",
                       f"MASTER_PORT={port}", "EXPC_COMM_TIMEOUT_S=120"]
        read, write = os.pipe()
        request = {"v": 1, "launch": self.launches, "rank": rank, "environment": environment, "spec": spec}
        socket.send_fds(self.ours, [json.dumps(request).encode()], [write, self.log.fileno()])
        os.close(write)
        return read
