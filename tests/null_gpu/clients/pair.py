"""Two ranks add a number while the two of the other trial do so. Both trials note their port in MEET/ports and wait for the other's.

usage: pair.py true|false    false: does nothing
"""
import os
import pathlib
import sys
import time

if "RANK" not in os.environ:
    if sys.argv[1] == "true":
        os.execvp("python3", ["python3", "-m", "torch.distributed.run", "--nproc-per-node", "2", *sys.argv])
    sys.exit()

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

dist.init_process_group("gloo")
ports = pathlib.Path(os.environ["MEET"], "ports")
if dist.get_rank() == 0:
    with ports.open("a") as file:
        file.write(os.environ["MASTER_PORT"] + "\n")
    limit = time.monotonic() + 120
    while len(ports.read_text().split()) < 2:
        assert time.monotonic() < limit, "the other trial does not run"
        time.sleep(0.05)
added = torch.ones(1)
dist.all_reduce(added)
assert added.item() == 2
dist.destroy_process_group()
