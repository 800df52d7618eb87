"""MobileNetV2 on PyTorch's own DataLoader, DistributedDataParallel and autocast: what std.image's workload is compared with.

One trial: starts its ranks itself, trains, and writes what it measured as JSON under the names of std.image, by the clock of
docs/layers/worker.md. On GPUs if CUDA has some, else on the CPU. --steps makes it a timed trial, --epochs one of quality.
"""
import time

PROCESS_START = time.monotonic()  # one clock for all processes of a machine

import argparse
import json
import os
import sys

# What glibc must be told before a process starts, so that large activations are not given back to the system and faulted in again.
KEEP_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "1000000000000", "MALLOC_TOP_PAD_": "268435456",
               "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


def data_source(text):
    """("mnist", folder) or ("folder", folder), from the JSON that expc writes for a level with data."""
    try:
        (kind, (path,)), = json.loads(text).items()
    except (ValueError, AttributeError, TypeError):
        raise argparse.ArgumentTypeError(f"""{text} is not of the form {{"mnist":["FOLDER"]}} or {{"folder":["FOLDER"]}}""")
    if kind not in ("mnist", "folder"):
        raise argparse.ArgumentTypeError(f"the twin reads mnist(…) and folder(…), not {kind}(…)")
    if not os.path.isdir(path):
        raise argparse.ArgumentTypeError(f"there is no folder {path}")
    return kind, path


def switch(text):
    if text not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"{text} is neither true nor false")
    return text == "true"


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="the JSON file to write")
    parser.add_argument("--data", required=True, type=data_source, help='{"mnist":["FOLDER"]} or {"folder":["FOLDER"]}')
    parser.add_argument("--seed", type=int, default=0)
    length = parser.add_mutually_exclusive_group(required=True)
    length.add_argument("--steps", type=int, help="timed trial: steps on the clock")
    length.add_argument("--epochs", type=int, help="quality trial: epochs, each with an evaluation")
    parser.add_argument("--warmup", type=int, default=0, help="steps before the clock starts")
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--width", type=float, default=1.0)
    parser.add_argument("--batch", type=int, default=64, help="images of one rank's step")
    parser.add_argument("--global-batch", type=int, default=0, help="images of all ranks' step; 0 leaves it to --batch")
    parser.add_argument("--precision", choices=["fp64", "fp32", "tf32", "bf16", "fp16"], default="fp32")
    parser.add_argument("--layout", choices=["nchw", "nhwc"], default="nchw")
    parser.add_argument("--strategy", choices=["dp", "ddp", "ddp_ds"], default="ddp_ds")
    parser.add_argument("--gpus", type=int, default=1, help="ranks: GPUs, or processes on the CPU")
    parser.add_argument("--learning-rate", type=float, default=0.045)
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--weight-decay", type=float, default=4e-5)
    parser.add_argument("--loader", choices=["dataloader", "dali"], default="dataloader")
    parser.add_argument("--workers", type=int, default=1, help="processes (DataLoader) or threads (DALI) of each rank")
    parser.add_argument("--prefetch", type=int, default=2, help="batches that each worker prepares ahead")
    parser.add_argument("--persistent-workers", type=switch, default=False)
    parser.add_argument("--pin-memory", type=switch, default=False)
    parser.add_argument("--transfer-dtype", choices=["as_input", "compute"], default="as_input")
    parser.add_argument("--allocator", choices=["stock", "keep"], default="stock", help="keep: glibc keeps freed memory")
    options = parser.parse_args(arguments)
    if options.global_batch % options.gpus:
        parser.error(f"--global-batch {options.global_batch} is no multiple of {options.gpus} ranks")
    if options.global_batch:
        options.batch = options.global_batch // options.gpus
    if options.loader == "dali" and (options.strategy != "ddp_ds" or options.epochs):
        parser.error("--loader dali is for timed trials of ddp_ds, where each rank reads its own shard")
    for name in ("batch", "gpus", "steps", "epochs"):
        if (value := getattr(options, name)) is not None and value < 1:
            parser.error(f"--{name} is {value}, it must be above 0")
    return options


def main():
    options = parse(sys.argv[1:])
    if options.allocator == "keep" and "MALLOC_MMAP_MAX_" not in os.environ:
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **KEEP_MEMORY})
    options.process_start = PROCESS_START
    import training  # with torch: seconds, so after the arguments were found good
    training.launch(options)


if __name__ == "__main__":
    main()
