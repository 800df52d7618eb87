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
parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="cuda: null cards, and what a step does there is counted")
parser.add_argument("--mode", choices=("eager", "graphed", "compiled"), default="eager",
                    help="graphed: the network by torch.cuda.make_graphed_callables; compiled: by torch.compile in its mode reduce-overhead")
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
model = model.to(arguments.device)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
if arguments.device == "cuda":
    images, labels = images.pin_memory(), labels.pin_memory()
# Parameters' casts are no part of a graph's input, so autocast's cache is off where the network is one.
cast = torch.autocast(arguments.device, dtype=torch.bfloat16, enabled=arguments.precision == "bf16", cache_enabled=arguments.mode != "graphed")
if arguments.mode == "graphed":
    with cast:
        model = torch.cuda.make_graphed_callables(model, (images.to(arguments.device),))
elif arguments.mode == "compiled":
    model = torch.compile(model, mode="reduce-overhead")


def step():
    optimizer.zero_grad(set_to_none=True)
    batch, wanted = (each.to(arguments.device, non_blocking=True) for each in (images, labels))
    with cast:
        loss = torch.nn.functional.cross_entropy(model(batch), wanted)
    loss.backward()
    optimizer.step()
    return loss.item()


turns.serve(step, arguments.device)
