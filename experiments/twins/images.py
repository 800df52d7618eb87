"""Batches of prepared images by torchvision and PyTorch's DataLoader."""
import itertools
import pathlib

import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler
from torchvision import datasets, transforms
from torchvision.datasets.mnist import read_image_file, read_label_file

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Digits(Dataset):
    """IDX files under MNIST's names, all in one folder."""

    def __init__(self, folder, train, transform):
        prefix = pathlib.Path(folder) / ("train" if train else "t10k")
        self.images = read_image_file(f"{prefix}-images-idx3-ubyte").numpy()
        self.labels = read_label_file(f"{prefix}-labels-idx1-ubyte").tolist()
        self.classes = range(max(self.labels) + 1)
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.transform(Image.fromarray(self.images[index]).convert("RGB")), self.labels[index]


def dataset(options, train):
    """Scaled, normalised and cast on the host, image by image, as torchvision's examples do."""
    kind, folder = options.data
    transform = transforms.Compose([transforms.Resize((options.size, options.size)), transforms.ToTensor(),
                                    transforms.Normalize(MEAN, STD), transforms.ConvertImageDtype(options.host_dtype)])
    data = Digits(folder, train, transform) if kind == "mnist" else datasets.ImageFolder(pathlib.Path(folder) / ("train" if train else "test"), transform)
    return Held(data) if options.preload else data


class Held(Dataset):
    """Another data set's images as tensors, all made at once."""

    def __init__(self, data):
        self.items, self.classes = [data[index] for index in range(len(data))], data.classes

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


class Batches:
    """This rank's training batches, epoch after epoch in an order that seed and epoch decide."""

    def __init__(self, options, data, rank):
        # Without a sampler of its own each rank takes the whole batch (ddp), as the only process does (dp).
        own = options.strategy == "ddp_ds"
        self.sampler = DistributedSampler(data, options.gpus if own else 1, rank if own else 0, shuffle=True, seed=options.seed)
        batch = options.batch if own else options.batch * options.gpus
        # Timed steps are all alike, and so are the slices of ddp. Else only a last batch of one image is left out, whose batch norm has
        # no variance.
        drop_last = options.steps is not None or options.strategy == "ddp" or len(self.sampler) % batch == 1
        self.loader = DataLoader(data, batch, sampler=self.sampler, drop_last=drop_last, **worker_options(options),
                                 generator=torch.Generator().manual_seed(options.seed + rank))

    def epoch(self, number):
        self.sampler.set_epoch(number)
        return iter(self.loader)

    def __len__(self):
        return len(self.loader)

    def endless(self):
        return itertools.chain.from_iterable(map(self.epoch, itertools.count()))


def test_batches(options, data, rank):
    """Every test image once over all ranks."""
    shard = torch.utils.data.Subset(data, range(rank, len(data), options.world))
    return DataLoader(shard, options.batch, **worker_options(options))


def worker_options(options):
    if options.workers == 0:
        return {"pin_memory": options.pin_memory}
    return {"pin_memory": options.pin_memory, "num_workers": options.workers, "prefetch_factor": options.prefetch,
            "persistent_workers": options.persistent_workers}
