"""Tells torch's own peaks of the card that this process uses."""
import sys

import torch


def tell():
    if torch.cuda.is_available():
        peaks = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
        sys.stdout.write("peaks {} {} {}\n".format(torch.cuda.current_device(), *peaks))  # one write, of several ranks
