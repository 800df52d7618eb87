"""Holds what we write to what Python reads: expc-llm-export trains adapters and writes a base model, the adapter, the
merged model and our logits; transformers loads the base, peft the adapter on top, transformers the merged model, and
their logits must be ours within 1e-4 (of values around 1, in fp32). No pickle is involved. Exits with 1 if they differ.

usage: .deps/bench/bin/python tests/bench/peft_load.py [--export build/release/bin/expc-llm-export]
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from peft import PeftModel
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOLERANCE = 1e-4


def difference(model, tokens, expected):
    with torch.no_grad():
        return float((model.eval()(input_ids=tokens).logits - expected).abs().max())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--export", default=str(ROOT / "build/release/bin/expc-llm-export"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([arguments.export, name], check=True, stdout=subprocess.DEVNULL)
        ours = load_file(folder / "expected.safetensors")
        tokens, base, adapted = ours["tokens"], ours["base"], ours["adapted"]
        model = AutoModelForCausalLM.from_pretrained(folder / "base", dtype=torch.float32)
        found = {"base": difference(model, tokens, base)}
        found["adapter"] = difference(PeftModel.from_pretrained(model, folder / "adapter"), tokens, adapted)
        merged = AutoModelForCausalLM.from_pretrained(folder / "merged", dtype=torch.float32)
        found["merged"] = difference(merged, tokens, adapted)
    changed = float((adapted - base).abs().max())
    print(json.dumps({"bench": "peft_load", "largest_difference": found, "largest_change_by_the_adapter": round(changed, 3)}))
    if max(found.values()) > TOLERANCE or changed < 100 * TOLERANCE:
        sys.exit("peft_load.py: Python's logits are not ours")


if __name__ == "__main__":
    main()
