"""The same training steps as step.cpp with torchvision's model and PyTorch's own loop, as a user writes it. Reads a
number of steps from each line of standard input and answers with a JSON array of [seconds, seconds of processor time]."""

import argparse
import json
import sys
import time

import torch
import torchvision

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


for line in sys.stdin:
    seconds = []
    for _ in range(int(line)):
        start, used = time.perf_counter(), time.process_time()
        step()
        seconds.append([time.perf_counter() - start, time.process_time() - used])
    print(json.dumps(seconds), flush=True)
