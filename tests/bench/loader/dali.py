#!/usr/bin/env python3
"""DALI's pipeline on the CPU. usage: dali.py jpeg|mnist FOLDER THREADS IMAGES EPOCHS CHW|HWC"""
import sys

import numpy as np
from nvidia.dali import fn, pipeline_def, types

from clock import BATCH, MEAN, SIZE, STD, measure

data, folder, threads, images, epochs, layout = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6]), sys.argv[6]


def normalised(pixels):
    return fn.crop_mirror_normalize(pixels, dtype=types.FLOAT, output_layout=layout, mean=[255 * m for m in MEAN], std=[255 * s for s in STD])


@pipeline_def(batch_size=BATCH, num_threads=threads, device_id=None, seed=1)
def jpeg():
    files, labels = fn.readers.file(file_root=f"{folder}/jpeg/train", random_shuffle=True)
    return normalised(fn.decoders.image(files, device="cpu", output_type=types.RGB)), labels


@pipeline_def(batch_size=BATCH, num_threads=threads, device_id=None)
def mnist():
    digits = np.fromfile(f"{folder}/mnist/train-images-idx3-ubyte", dtype=np.uint8, offset=16).reshape(-1, 28, 28, 1)
    at = [0]

    def next_batch():
        begin = at[0]
        at[0] = (begin + BATCH) % (len(digits) - len(digits) % BATCH)
        return digits[begin:begin + BATCH]

    grey = fn.resize(fn.external_source(next_batch, batch=True, layout="HWC"), size=[SIZE, SIZE], interp_type=types.INTERP_LINEAR)
    return normalised(fn.cat(grey, grey, grey, axis=2))


pipeline = {"jpeg": jpeg, "mnist": mnist}[data]()
pipeline.build()
pipeline.run()  # its threads and buffers are there


def epoch():
    for _ in range(images // BATCH):
        pipeline.run()
    return images // BATCH * BATCH


measure(epoch, epochs)
