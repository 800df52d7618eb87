"""Fault: the page-locked buffer of a batch is filled again while the copy of the last batch may still read it."""
import torch

buffer = torch.empty(1 << 20).pin_memory()
for step in range(3):
    buffer.fill_(step)
    batch = buffer.to("cuda", non_blocking=True)
    (batch * 2).sum()
torch.cuda.synchronize()
