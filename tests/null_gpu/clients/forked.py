"""Runs clients one after the other, each on ranks that are forks of this process: torch and the libraries are imported once.

usage: forked.py CLIENT RANKS [CLIENT RANKS]...    CLIENT is a file of this folder, without .py
"""
import ctypes
import os
import pathlib
import runpy
import signal
import sys

import accelerate  # noqa: F401
import lightning  # noqa: F401
import peft  # noqa: F401
import torch._dynamo
import torch.distributed as dist
import torch.distributed.fsdp  # noqa: F401
import transformers

transformers.Trainer, transformers.LlamaForCausalLM  # are imported when they are named

for client, ranks in zip(sys.argv[1::2], map(int, sys.argv[2::2])):
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(store))  # a fork lacks its thread, which its end would wait for
    for rank in range(ranks):
        if os.fork() == 0:
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: the others of a rank that fails end with this process
            os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1",
                           "MASTER_PORT": str(store.port), "TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_RUN_ID": client}
            runpy.run_path(str(pathlib.Path(__file__).with_name(client + ".py")), run_name="__main__")
            sys.exit()
    if any(os.wait()[1] for _ in range(ranks)):
        sys.exit(client + " failed")
