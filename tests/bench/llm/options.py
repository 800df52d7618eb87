"""The options that both Python programs take, by the names of llm_bench.cpp."""

import argparse

import torch


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--method", choices=("lora", "full", "dpo", "qlora", "qat"), default="lora")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="cuda: null cards, and what a step does there is counted")
    for name, value in (("threads", 2), ("batch", 2), ("length", 256), ("vocabulary", 8192), ("width", 256), ("layers", 4),
                        ("heads", 8), ("kv_heads", 4), ("mlp_width", 1024)):
        parser.add_argument(f"--{name}", type=int, default=value)
    return parser.parse_args()


def optimizer(arguments, model):
    """On cards fused, as torchtune's configurations and transformers' Trainer have it."""
    trained = [each for each in model.parameters() if each.requires_grad]
    return torch.optim.AdamW(trained, lr=1e-4, fused=arguments.device == "cuda" or None)
