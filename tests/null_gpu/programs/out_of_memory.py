"""Fault: a training whose state fits the card, but not with the activations of this batch."""
import torch

net = torch.nn.Sequential(*(torch.nn.Linear(1024, 1024) for _ in range(8))).cuda()
optimizer = torch.optim.AdamW(net.parameters())
for rows in (8, 1 << 16):
    net(torch.zeros(rows, 1024, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=rows > 8)
