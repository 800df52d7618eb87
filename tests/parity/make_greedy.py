#!/usr/bin/env python3
"""Makes golden/greedy.json: what transformers' generate(do_sample=False) appends to prompts with the tiny Llama of golden/llama_tiny.
Needs torch, transformers and safetensors.

usage: python tests/parity/make_greedy.py
"""
import json
import pathlib
import random

import torch
import transformers
from safetensors.torch import load_file

GOLDEN = pathlib.Path(__file__).parent / "golden"


def main():
    config = transformers.LlamaConfig(**json.loads((GOLDEN / "llama_tiny/config.json").read_text()))
    model = transformers.LlamaForCausalLM(config).float().eval()
    model.load_state_dict(load_file(GOLDEN / "llama_tiny/model.safetensors"))
    draw = random.Random(5)
    cases = []
    for length in (1, 2, 7, 19, 40):
        prompt = [draw.randrange(config.vocab_size) for _ in range(length)]
        ids = torch.tensor([prompt])
        out = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=16, eos_token_id=None, pad_token_id=0)
        # How far the likeliest token is above the next one: parity is certain where this is above rounding.
        logits = model(out).logits[0, length - 1:-1].topk(2).values
        cases.append({"prompt": prompt, "added": out[0, length:].tolist(), "margin": round((logits[:, 0] - logits[:, 1]).min().item(), 6)})
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    (GOLDEN / "greedy.json").write_text(f'{{"transformers":"{transformers.__version__}","cases":[\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
