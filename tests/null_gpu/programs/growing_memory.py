"""Fault: the losses of all steps are kept with their graphs, and with these the activations."""
import torch

net = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1)).cuda()
optimizer = torch.optim.SGD(net.parameters())
losses = []
for step in range(60):
    loss = net(torch.zeros(1024, 1024, device="cuda")).sum()
    loss.backward(retain_graph=True)
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss)
torch.cuda.synchronize()
