"""A loop with DistributedDataParallel, started by torchrun."""
import os

import torch
import torch.distributed as dist

import peaks

card = int(os.environ["LOCAL_RANK"])
device = torch.device("cuda", card) if torch.cuda.is_available() else torch.device("cpu")
if device.type == "cuda":
    torch.cuda.set_device(card)
dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 8)).to(device))
optimizer = torch.optim.AdamW(net.parameters())
for step in range(3):
    torch.nn.functional.cross_entropy(net(torch.randn(32, 256).to(device)), torch.zeros(32, dtype=torch.long).to(device)).backward()
    optimizer.step()
    optimizer.zero_grad()
peaks.tell()
dist.destroy_process_group()
