"""Fault: a batch is copied in one stream and used in another, without a wait between them."""
import torch

copies = torch.cuda.Stream()
for step in range(3):
    with torch.cuda.stream(copies):
        batch = torch.ones(1 << 20).pin_memory().to("cuda", non_blocking=True)
    # torch.cuda.current_stream().wait_stream(copies) is missing
    doubled = batch * 2
torch.cuda.synchronize()
