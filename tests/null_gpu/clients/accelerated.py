"""A loop with accelerate, in mixed precision."""
import torch
from accelerate import Accelerator

import peaks

accelerator = Accelerator(mixed_precision="bf16")
data = torch.utils.data.TensorDataset(torch.randn(256, 32), torch.zeros(256, dtype=torch.long))
net = torch.nn.Linear(32, 8)
net, optimizer, loader = accelerator.prepare(net, torch.optim.AdamW(net.parameters()), torch.utils.data.DataLoader(data, batch_size=16))
for x, y in loader:
    accelerator.backward(torch.nn.functional.cross_entropy(net(x), y))
    optimizer.step()
    optimizer.zero_grad()
peaks.tell()
