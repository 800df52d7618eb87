"""Batches of prepared images by NVIDIA DALI: decoded, scaled and normalised on the GPU where there is one, else on the CPU."""
import itertools

import numpy
from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.plugin.pytorch import DALIGenericIterator, LastBatchPolicy
from torch.utils.data.distributed import DistributedSampler

from images import MEAN, STD


@pipeline_def
def prepared(options, data, rank, device):
    kind, folder = options.data
    if kind == "folder":
        encoded, labels = fn.readers.file(file_root=f"{folder}/train", shard_id=rank, num_shards=options.gpus, random_shuffle=True,
                                          name="reader")
        images = fn.decoders.image(encoded, device="mixed" if device == "gpu" else "cpu", output_type=types.RGB)
    else:
        images, labels = fn.external_source(grey_batches(options, data, rank), num_outputs=2, layout=["HWC", None])
        images = images.gpu() if device == "gpu" else images
    images = fn.resize(images, size=[options.size, options.size], interp_type=types.INTERP_LINEAR, antialias=True)
    images = fn.cat(images, images, images, axis=2) if kind == "mnist" else images
    dtype = {"torch.float16": types.FLOAT16, "torch.float32": types.FLOAT}[str(options.host_dtype)]
    images = fn.crop_mirror_normalize(images, dtype=dtype, mean=[255 * m for m in MEAN], std=[255 * s for s in STD],
                                      output_layout="HWC" if options.layout == "nhwc" else "CHW")
    return images, labels


def grey_batches(options, data, rank):
    """Batches of 28 x 28 bytes in the order of a distributed sampler."""
    sampler = DistributedSampler(data, options.gpus, rank, shuffle=True, seed=options.seed)
    labels = numpy.array(data.labels)
    for epoch in itertools.count():
        sampler.set_epoch(epoch)
        order = numpy.fromiter(sampler, numpy.int64)
        for begin in range(0, len(order) - options.batch + 1, options.batch):
            chosen = order[begin:begin + options.batch]
            yield data.images[chosen, :, :, None], labels[chosen, None]


def endless(options, data, rank, device):
    """This rank's training batches without end, as (images, labels) in logical order N, C, H, W."""
    gpu = device.type == "cuda"
    pipeline = prepared(options, data, rank, "gpu" if gpu else "cpu", batch_size=options.batch, num_threads=max(options.workers, 1),
                        device_id=rank if gpu else None, prefetch_queue_depth=options.prefetch, seed=options.seed)
    reader = {"reader_name": "reader", "last_batch_policy": LastBatchPolicy.DROP} if options.data[0] == "folder" else {}
    iterator = DALIGenericIterator(pipeline, ["images", "labels"], auto_reset=True, **reader)
    while True:
        for batch, in iterator:
            images, labels = batch["images"], batch["labels"].flatten().long()
            yield images.permute(0, 3, 1, 2) if options.layout == "nhwc" else images, labels
