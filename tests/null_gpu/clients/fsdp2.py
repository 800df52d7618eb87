"""A transformer that is sharded by fully_shard, started by torchrun."""
import os

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

import peaks

card = int(os.environ["LOCAL_RANK"])
device = torch.device("cuda", card) if torch.cuda.is_available() else torch.device("cpu")
if device.type == "cuda":
    torch.cuda.set_device(card)
dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
net = torch.nn.Sequential(*(torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True) for _ in range(3))).to(device)
for layer in net:
    fully_shard(layer)
fully_shard(net)
optimizer = torch.optim.AdamW(net.parameters())
for step in range(3):
    net(torch.randn(4, 16, 64).to(device)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
peaks.tell()
dist.destroy_process_group()
