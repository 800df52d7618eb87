#!/usr/bin/env python3
"""torchvision's transforms under torch's DataLoader. usage: torchvision_loader.py jpeg|mnist FOLDER WORKERS IMAGES EPOCHS pil|tensor

pil: what its documentation shows. tensor: decode_jpeg and transforms.v2 on tensors; for mnist, torch's interpolate."""
import sys

import numpy as np
import torch
from PIL import Image
from torchvision import datasets, io
from torchvision import transforms as classic
from torchvision.transforms import v2

from clock import BATCH, MEAN, SIZE, STD, measure

data, folder, workers, images, epochs, way = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6]), sys.argv[6]
torch.set_num_threads(1 if workers else 2)
normalise = classic.Normalize(MEAN, STD)


class Digits(torch.utils.data.Dataset):
    def __init__(self):
        self.images = np.fromfile(f"{folder}/mnist/train-images-idx3-ubyte", dtype=np.uint8, offset=16).reshape(-1, 28, 28)[:images]
        self.steps = classic.Compose([classic.Resize(SIZE), classic.Grayscale(3), classic.ToTensor(), normalise])

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        if way == "pil":
            return self.steps(Image.fromarray(self.images[index])), 0
        grey = torch.from_numpy(self.images[index])[None, None].float().div_(255)
        return normalise(torch.nn.functional.interpolate(grey, size=(SIZE, SIZE), mode="bilinear")[0].expand(3, -1, -1)), 0


if data == "mnist":
    dataset = Digits()
elif way == "pil":
    dataset = datasets.ImageFolder(f"{folder}/jpeg/train", transform=classic.Compose([classic.ToTensor(), normalise]))
else:
    steps = v2.Compose([v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)])
    dataset = datasets.ImageFolder(f"{folder}/jpeg/train", loader=lambda path: io.decode_jpeg(io.read_file(path)), transform=steps)
loader = torch.utils.data.DataLoader(dataset, batch_size=BATCH, shuffle=True, num_workers=workers)


def epoch():
    return sum(len(batch) for batch, _ in loader)


measure(epoch, epochs)
