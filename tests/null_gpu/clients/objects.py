"""Ranks send each other objects of different sizes over NCCL."""
import os

import torch
import torch.distributed as dist

import peaks

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
objects = ["x" * 100 * one for one in range(size)]
sent = list(objects) if rank == 0 else [None] * size
dist.broadcast_object_list(sent)
gathered, scattered = [None] * size, [None]
dist.all_gather_object(gathered, objects[rank])
dist.scatter_object_list(scattered, objects if rank == 0 else None)
assert sent == gathered == objects and scattered == [objects[rank]], (rank, sent, gathered, scattered)
peaks.tell()
dist.destroy_process_group()
