"""MobileNetV2 on PyTorch's own DataLoader, DistributedDataParallel and autocast: what std.image's workload is compared with.

One trial: starts its ranks itself, trains, and writes what it measured as JSON under the names of std.image, by the clock of
docs/layers/worker.md. On GPUs if CUDA has some, else on the CPU. --steps makes it a timed trial, with --profile one of a profile, --epochs one of quality.
"""
import time

PROCESS_START = time.monotonic()  # one clock for all processes of a machine

import sys

import arguments


def parse(words):
    parser = arguments.parser(__doc__, arguments.source("mnist", "folder"))
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
    parser.add_argument("--persistent-workers", type=arguments.switch, default=False)
    parser.add_argument("--preload", type=arguments.switch, default=False)
    parser.add_argument("--pin-memory", type=arguments.switch, default=False)
    parser.add_argument("--transfer-dtype", choices=["as_input", "compute"], default="as_input")
    parser.add_argument("--host-waits", choices=["never", "copies", "loss", "both"], default="never", help="where the host waits in each step")
    options = parser.parse_args(words)
    arguments.sensible(parser, options, "batch", "gpus", "steps", "epochs")
    if options.global_batch % options.gpus:
        parser.error(f"--global-batch {options.global_batch} is no multiple of {options.gpus} ranks")
    if options.global_batch:
        options.batch = options.global_batch // options.gpus
    if options.loader == "dali" and (options.strategy != "ddp_ds" or options.epochs):
        parser.error("--loader dali is for timed trials of ddp_ds, where each rank reads its own shard")
    return options


if __name__ == "__main__":
    arguments.start(parse(sys.argv[1:]), PROCESS_START, "training")
