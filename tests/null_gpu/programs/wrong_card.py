"""Fault: each rank loads its weights to the first card instead of its own. Started by torchrun with two ranks."""
import os
import tempfile

import torch

rank = int(os.environ["LOCAL_RANK"])
path = os.path.join(tempfile.gettempdir(), f"weights-{os.getpid()}.pt")
torch.save(torch.nn.Linear(64, 64).to("cuda:0").state_dict(), path)
net = torch.nn.Linear(64, 64).to(f"cuda:{rank}")
net.load_state_dict(torch.load(path))  # map_location is missing
os.remove(path)
net(torch.zeros(8, 64).to(f"cuda:{rank}")).sum().backward()
