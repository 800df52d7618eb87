#!/usr/bin/env python3
"""A study with a service in jobs of a real Slurm: on two nodes at once, and preempted while its client runs. The job goes on and nothing of the
service stays.

usage: services.py --expc PATH
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fault"))
import cluster  # noqa: E402
import services  # noqa: E402

SITE = "nodes = {nodes}\ntime = 30:00\nexport = EXPC_DEVICE_LOCKS\noption = --overcommit\noption = --requeue\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--expc", required=True, type=os.path.abspath)
    options, _ = parser.parse_known_args()
    cluster.skip_without()
    os.environ["EXPC_DEVICE_LOCKS"] = "none"
    with cluster.Slurm(nodes=2) as slurm, tempfile.TemporaryDirectory(prefix="expc-slurm-services-") as name:
        folder = pathlib.Path(name)
        server = f"server-{folder.name}.py"
        (folder / server).write_text(services.SERVER, encoding="utf-8")
        (folder / "client.py").write_text(services.CLIENT.replace("0.05", "float(open(sys.path[0] + '/wait').read())"), encoding="utf-8")
        (folder / "wait").write_text("0.05", encoding="utf-8")
        (folder / "s.exp").write_text(services.STUDY.replace("SERVER", server).replace("REPEAT", "4").replace('inputs "client.py"', 'inputs "client.py", "wait"'), encoding="utf-8")
        for nodes in (1, 2):
            (folder / f"site{nodes}").write_text(SITE.format(nodes=nodes), encoding="utf-8")

        def run(nodes, *more):
            return subprocess.run([options.expc, "run", "s.exp", "--on", "slurm", "--site", f"site{nodes}", "--devices", "cpu:1", "--heat-up", "0",
                                   "--results", f"r{nodes}", *more], cwd=folder, capture_output=True, text=True, timeout=300, check=False)

        both = run(2)
        if both.returncode != 0 or "PASS" not in both.stdout + both.stderr:
            sys.exit(f"on two nodes: {both.returncode}\n{both.stdout}\n{both.stderr}")
        # Preempted: the client of the first trial waits until the job is queued again.
        (folder / "wait").write_text("600", encoding="utf-8")
        submitted = run(1, "--detach")
        slurm.until(lambda: services.alive(server), "a service is up")
        time.sleep(0.5)
        job = slurm.call("squeue", "-h", "-o", "%A").split()[0]
        slurm.call("scontrol", "requeue", job)
        if left := services.until_gone(server):
            sys.exit("left behind by a job that was queued again\n" + "\n".join(left) + submitted.stderr)
        slurm.call("scancel", job)
        (folder / "wait").write_text("0.05", encoding="utf-8")
        again = run(1)
        if again.returncode != 0:
            sys.exit(f"after it was preempted: {again.returncode}\n{again.stdout}\n{again.stderr}")
        if left := services.until_gone(server):
            sys.exit("left behind at the end\n" + "\n".join(left))
    print("a service on two nodes of Slurm, and in a job that was queued again; nothing stays")


if __name__ == "__main__":
    main()
