"""Trains a small network on random images. Put your own training here: the lines with `trial` are all that expc needs.

It also runs without expc: python3 starter.py
"""
import expc
import torch
from torch import nn

trial = expc.trial(batch=32, lr=0.01, optimizer="sgd")  # values for runs without expc
p = trial.parameters
torch.manual_seed(trial.seed)
device = "cuda" if torch.cuda.is_available() else "cpu"

# Four classes of images, each a pattern with noise.
patterns = torch.randn(4, 3, 16, 16)
labels = torch.randint(4, (2000,))
images = patterns[labels] + 2 * torch.randn(2000, 3, 16, 16)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(images, labels), batch_size=p.batch, shuffle=True)

model = nn.Sequential(nn.Flatten(), nn.Linear(3 * 16 * 16, 128), nn.ReLU(), nn.Linear(128, 4)).to(device)
kind = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}[p.optimizer]
optimizer = kind(model.parameters(), lr=p.lr if p.optimizer == "sgd" else p.lr / 10)

for epoch in trial.epochs(3):
    for batch, wanted in trial.steps(loader):
        loss = nn.functional.cross_entropy(model(batch.to(device)), wanted.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        trial.metric(loss=loss)

with torch.no_grad():
    right = (model(images.to(device)).argmax(1) == labels.to(device)).float().mean()
trial.metric(accuracy=right)
print(f"accuracy {right.item():.3f}")
