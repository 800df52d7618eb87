#!/usr/bin/env python3
"""Makes golden/greedy.json: what transformers' generate(do_sample=False) appends to prompts with the tiny Llama of golden/llama_tiny, and the
log-probabilities of what it appended. Needs torch, transformers and safetensors.

usage: python tests/parity/make_greedy.py            the tiny model
       python tests/parity/make_greedy.py FOLDER     a model of the sizes of Llama 3.2 1B with random weights (2.5 GB), with its greedy.json,
                                                     for `EXPC_GREEDY_MODEL=FOLDER expc_parity_test -tc="*greedy*"` (5 GB of memory each)
"""
import json
import pathlib
import random
import sys

import torch
import transformers
from safetensors.torch import load_file

GOLDEN = pathlib.Path(__file__).parent / "golden"


def tiny():
    config = transformers.LlamaConfig(**json.loads((GOLDEN / "llama_tiny/config.json").read_text()))
    model = transformers.LlamaForCausalLM(config).float().eval()
    model.load_state_dict(load_file(GOLDEN / "llama_tiny/model.safetensors"))
    return model


def large(folder):
    scaling = {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
    config = transformers.LlamaConfig(vocab_size=128256, hidden_size=2048, num_hidden_layers=16, num_attention_heads=32, num_key_value_heads=8,
                                      head_dim=64, intermediate_size=8192, max_position_embeddings=131072, rms_norm_eps=1e-5,
                                      rope_theta=500000.0, rope_scaling=scaling, tie_word_embeddings=True, bos_token_id=128000,
                                      eos_token_id=128001)
    torch.manual_seed(0)
    transformers.LlamaForCausalLM(config).bfloat16().save_pretrained(folder)
    # Read anew: a model that was bf16 once has rounded rotary frequencies.
    return transformers.LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


@torch.no_grad()
def case(model, prompt, count):
    ids = torch.tensor([prompt])
    out = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=count, eos_token_id=None, pad_token_id=0)
    added, logits = out[0, len(prompt):], model(out).logits[0, len(prompt) - 1:-1]
    # How far the likeliest token is above the next one: parity is certain where this is above rounding.
    best = logits.topk(2).values
    each = logits.log_softmax(1).gather(1, added.unsqueeze(1))
    return {"prompt": prompt, "added": added.tolist(), "margin": round((best[:, 0] - best[:, 1]).min().item(), 6),
            "log_prob": round(each.sum().item(), 5)}


def main():
    model = large(sys.argv[1]) if len(sys.argv) > 1 else tiny()
    lengths, count = ((3, 19), 6) if len(sys.argv) > 1 else ((1, 2, 7, 19, 40), 16)
    draw = random.Random(5)
    cases = [case(model, [draw.randrange(model.config.vocab_size) for _ in range(length)], count) for length in lengths]
    lines = ",\n".join(json.dumps(one, separators=(",", ":")) for one in cases)
    to = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else GOLDEN
    (to / "greedy.json").write_text(f'{{"transformers":"{transformers.__version__}","cases":[\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
