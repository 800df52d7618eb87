#!/usr/bin/env python3
"""Kills the engine of a study with services at random moments, with SIGKILL, SIGTERM or SIGINT, and runs the same command again. Nothing of a
service stays behind but what it wrote: no process, no open port; and the study ends as if nobody had touched it.

usage: services.py --expc PATH [--kills N] [--seed N]
"""
import argparse
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

SERVER = """import http.server, os, subprocess, sys
print(sys.argv[1], file=open(os.path.join(os.environ["EXPC_STUDY_FOLDER"], "ports.txt"), "a"), flush=True)
subprocess.Popen(["sleep", "3210"], start_new_session=True)
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
CLIENT = """import sys, time, urllib.request
urllib.request.urlopen(sys.argv[1], timeout=60).read()
time.sleep(0.05)
print("t", 10 + int(sys.argv[2]))
"""
STUDY = """service web command ["python3", "SERVER", "${port}", "${speed}"] {
  inputs "SERVER"
  param speed : int in 0..1 = 0
  ready http("/") timeout 60s
}
workload load command ["python3", "client.py", "http://${web.host}:${web.port}", "${load}"] {
  inputs "client.py"
  service web
  param load : int in 0..2 = 0
  metric t : Time lower from regex("t ([0-9]+)", unit = 1ms)
}
study serve {
  workload load
  factor speed in 0..1  baseline 0
  factor load  in 0..2
  compare r = ratio(t) over speed
  criterion c: forall *: r >= 0.1x  always
  design { repeat REPEAT }
}
"""


def alive(text):
    """The processes whose command line has the text."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in line and int(folder.name) != os.getpid():
            found.append(f"{folder.name} {line}")
    return found


def listening():
    """The TCP ports that somebody listens at."""
    ports = set()
    for line in pathlib.Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
        _, local, _, state, *_ = line.split()
        if state == "0A":
            ports.add(int(local.split(":")[1], 16))
    return ports


def until_gone(server, seconds=30):
    end = time.monotonic() + seconds
    while (left := alive(server) + alive("sleep 3210")) and time.monotonic() < end:
        time.sleep(0.02)
    return left


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--expc", required=True)
    parser.add_argument("--worker", help=argparse.SUPPRESS)  # other tests of this folder take it
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    expc = str(pathlib.Path(options.expc).resolve())
    with tempfile.TemporaryDirectory(prefix="expc-services-") as name:
        folder = pathlib.Path(name)
        server = f"server-{folder.name}.py"
        (folder / server).write_text(SERVER, encoding="utf-8")
        (folder / "client.py").write_text(CLIENT, encoding="utf-8")
        (folder / "s.exp").write_text(STUDY.replace("SERVER", server).replace("REPEAT", str(min(12, max(2, options.kills)))), encoding="utf-8")
        command = [expc, "run", "s.exp", "--devices", "cpu:1", "--heat-up", "0"]
        quiet = {"cwd": folder, "env": {**os.environ, "EXPC_DEVICE_LOCKS": "none"}, "stdin": subprocess.DEVNULL}
        ended = 0
        for kill in range(options.kills):
            run = subprocess.Popen(command, **quiet, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            time.sleep(draw.uniform(0, 2.5))
            how = draw.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT))
            ended += run.poll() is not None
            run.send_signal(how)
            _, said = run.communicate(timeout=60)
            if how != signal.SIGKILL and run.returncode not in (0, 130, 143, -how):
                sys.exit(f"kill {kill} ({how.name}): exit code {run.returncode}\n{said}")
            if left := until_gone(server):
                sys.exit(f"kill {kill} ({how.name}): left behind\n" + "\n".join(left))
            if (kill + 1) % 50 == 0:
                print(f"{kill + 1} kills", flush=True)
        last = subprocess.run(command, **quiet, capture_output=True, text=True, check=False)
        if last.returncode != 0 or "PASS" not in last.stdout + last.stderr:
            sys.exit(f"the last run ended with {last.returncode}\n{last.stdout}\n{last.stderr}")
        if left := until_gone(server):
            sys.exit("left behind at the end\n" + "\n".join(left))
        folders = [path.name for path in (folder / "results/trials").glob("*") if re.match("web-", path.name)]
        started = {int(line) for line in (folder / "ports.txt").read_text(encoding="ascii").split()}
        taken = started & listening()
        # What a service wrote is kept where its run was killed, as that of a trial is.
        if len(folders) > options.kills or taken:
            sys.exit(f"{len(folders)} folders, ports {sorted(taken)} stay")
        print(f"{options.kills} kills, {ended} of them after the end; {len(started)} ports of services; {len(folders)} folders of killed runs are kept, nothing else")


if __name__ == "__main__":
    main()
