"""The same training steps as training_bench.cpp with torchvision's model and PyTorch's own loop, as a user writes it."""

import argparse

import torch
import torchvision

import turns

parser = argparse.ArgumentParser()
parser.add_argument("--size", type=int, default=100)
parser.add_argument("--batch", type=int, default=32)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--precision", default="fp32")
parser.add_argument("--layout", default="nhwc")
arguments = parser.parse_args()

torch.set_num_threads(arguments.threads)
torch.manual_seed(0)
model = torchvision.models.mobilenet_v2(num_classes=10).train()
images = torch.randn(arguments.batch, 3, arguments.size, arguments.size)
labels = torch.randint(0, 10, (arguments.batch,))
if arguments.precision == "fp64":
    model, images = model.double(), images.double()
if arguments.layout == "nhwc":
    model = model.to(memory_format=torch.channels_last)
    images = images.contiguous(memory_format=torch.channels_last)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)


def step():
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=arguments.precision == "bf16"):
        loss = torch.nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    return loss.item()


turns.serve(step)
