"""Fault: only rank 0 averages the loss, so the ranks' collectives differ from then on. Started by torchrun with two ranks."""
import os

import torch
import torch.distributed as dist

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64).cuda())
for step in range(3):
    loss = net(torch.zeros(8, 64).cuda()).sum()
    loss.backward()
    if dist.get_rank() == 0:  # for the log
        dist.all_reduce(loss.detach())
    torch.cuda.synchronize()
dist.destroy_process_group()
