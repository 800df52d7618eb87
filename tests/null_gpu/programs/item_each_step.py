"""Fault: the host waits for the card in each step, to print a loss."""
import torch

net = torch.nn.Linear(64, 64).cuda()
for step in range(20):
    loss = net(torch.zeros(8, 64, device="cuda")).sum()
    loss.backward()
    shown = loss.item()
torch.cuda.synchronize()
