#!/usr/bin/env python3
"""Writes golden/tuning: what peft, transformers and TRL compute for the options of llm.finetune, for tuning_parity.cpp.

usage: make_tuning.py    (pip install torch transformers peft; made with torch 2.11, transformers 5.24, peft 0.21. TRL's formulas are copied
below from trl 1.16, trl/trainer/dpo_trainer.py, `_compute_loss`.)
"""
import json
import pathlib

import torch
import torch.nn.functional as F
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import LlamaForCausalLM
from transformers.optimization import (get_constant_schedule_with_warmup, get_cosine_with_min_lr_schedule_with_warmup,
                                       get_linear_schedule_with_warmup, get_wsd_schedule)

HERE = pathlib.Path(__file__).parent / "golden"
OUT = HERE / "tuning"
ALL = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
CASES = {
    "rslora": dict(target_modules=ALL, use_rslora=True, alpha_pattern={"q_proj": 32}),
    "dora": dict(target_modules=["q_proj", "v_proj", "down_proj"], use_dora=True),
    "layers": dict(target_modules=["q_proj", "o_proj"], layers_to_transform=[1]),
    "saved": dict(target_modules=["k_proj", "up_proj"], modules_to_save=["embed_tokens", "lm_head"]),
}


def base():
    torch.manual_seed(0)
    return LlamaForCausalLM.from_pretrained(HERE / "llama_tiny", dtype=torch.float32)


IO = load_file(HERE / "llama_tiny/io.safetensors")
TOKENS, LABELS = IO["tokens"].long(), IO["labels"].long()
HELD_OUT = TOKENS.flip(0).roll(3, 1)  # other rows than those that are trained on


def loss_of(model, tokens, labels):
    return model(input_ids=tokens, labels=labels).loss


def steps(model, optimizer, loss=loss_of, held_out=None):
    """The losses of two steps, and the loss on other rows after them."""
    losses = []
    for _ in range(2):
        value = loss(model, TOKENS, LABELS)
        value.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(value.item())
    with torch.no_grad():
        return losses + [(held_out or loss_of)(model, HELD_OUT, HELD_OUT).item()]


def adapters(name, options):
    model = get_peft_model(base(), LoraConfig(r=4, lora_alpha=8, lora_dropout=0.0, task_type="CAUSAL_LM", **options))
    torch.manual_seed(1)
    with torch.no_grad():
        for key, tensor in model.named_parameters():
            if not tensor.requires_grad: continue
            if "magnitude" in key: tensor.mul_(1 + 0.1 * torch.randn_like(tensor))
            elif "lora_" in key: tensor.copy_(0.05 * torch.randn_like(tensor))
    model.save_pretrained(OUT / name)
    (OUT / name / "README.md").unlink()
    config = OUT / name / "adapter_config.json"
    config.write_text(config.read_text().replace(str(HERE / "llama_tiny"), "llama_tiny"))
    losses = steps(model, torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3, weight_decay=0.01))
    merged = model.merge_and_unload().state_dict()
    save_file({key: merged[key].contiguous() for key in
               ("model.layers.1.self_attn.q_proj.weight", "model.layers.1.mlp.up_proj.weight", "model.layers.0.mlp.down_proj.weight")},
              OUT / name / "merged.safetensors")
    return losses


def decay_by_group():
    """AdamW as transformers' Trainer makes it: norms do not decay."""
    model = base()
    norms = [p for n, p in model.named_parameters() if "norm" in n]
    others = [p for n, p in model.named_parameters() if "norm" not in n]
    return steps(model, torch.optim.AdamW([{"params": others, "weight_decay": 0.5}, {"params": norms, "weight_decay": 0.0}],
                                          lr=1e-3, betas=(0.8, 0.95), eps=1e-6))


def by_rows(model, tokens, labels):
    """The mean over rows of the mean over a row's tokens."""
    return sum(loss_of(model, tokens[i:i + 1], labels[i:i + 1]) for i in range(len(tokens))) / len(tokens)


ROWS = [0.5, 2.0, 1.0, 0.25, 3.0, 1.5, 0.75, 1.0][:len(TOKENS)]
COLUMNS = [(0.25, 1.0, 2.5)[i // 3 % 3] for i in range(TOKENS.shape[1])]


def weighed(model, tokens, labels):
    """torch's cross entropy of each token [rows, columns - 1], and the tokens' weights; 0 where nothing is learnt."""
    logits = model(input_ids=tokens).logits[:, :-1]
    each = F.cross_entropy(logits.transpose(1, 2), labels[:, 1:], reduction="none", ignore_index=-100)
    weights = torch.tensor(ROWS)[:, None] * torch.tensor(COLUMNS)
    return each, weights[:, 1:] * (labels[:, 1:] != -100)


def weighted(model, tokens, labels):
    each, weights = weighed(model, tokens, labels)
    return (each * weights).sum() / weights.sum()


def weighted_by_rows(model, tokens, labels):
    each, weights = weighed(model, tokens, labels)
    rows = torch.tensor(ROWS)
    return ((each * weights).sum(1) / weights.sum(1) * rows).sum() / rows.sum()


def weights():
    result = {"rows": ROWS, "columns": COLUMNS}
    for name, loss in (("tokens", weighted), ("by_rows", weighted_by_rows)):
        model = base()
        result[name] = steps(model, torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0), loss, weighted)
    return result


def rates():
    """The multipliers of 20 steps, 3 of them warm-up."""
    result = {}
    make = {
        "constant": lambda o: get_constant_schedule_with_warmup(o, 3),
        "linear": lambda o: get_linear_schedule_with_warmup(o, 3, 20),
        "cosine": lambda o: get_cosine_with_min_lr_schedule_with_warmup(o, 3, 20, min_lr_rate=0.1),
        "wsd": lambda o: get_wsd_schedule(o, 3, 5, num_training_steps=20, decay_type="linear"),
    }
    for name, scheduler in make.items():
        optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        schedule = scheduler(optimizer)
        result[name] = []
        for _ in range(20):
            result[name].append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            schedule.step()
    return result


def preferences():
    """TRL's losses and their gradients in fp64. logits are summed log-probabilities, [chosen, rejected]."""
    torch.manual_seed(2)
    policy = (-30 * torch.rand(6, dtype=torch.float64)).requires_grad_(True)
    reference = policy.detach() + 2 * torch.randn(6, dtype=torch.float64)
    lengths = torch.tensor([3.0, 7.0, 12.0, 5.0, 9.0, 4.0], dtype=torch.float64)
    beta, result = 0.3, []
    for name, smoothing in (("sigmoid", 0.0), ("sigmoid", 0.2), ("sigmoid_norm", 0.0), ("ipo", 0.0)):
        chosen_scores, rejected_scores = (policy - reference).chunk(2)
        chosen_lengths, rejected_lengths = lengths.chunk(2)
        delta_score = chosen_scores - rejected_scores
        average = chosen_scores / chosen_lengths.clamp(min=1.0) - rejected_scores / rejected_lengths.clamp(min=1.0)
        if name == "sigmoid":  # "sigmoid" without smoothing; with it the terms of "aot"
            losses = -F.logsigmoid(beta * delta_score) * (1 - smoothing) - F.logsigmoid(-beta * delta_score) * smoothing
        elif name == "sigmoid_norm":
            losses = -F.logsigmoid(beta * average)
        else:
            losses = (average - 1 / (2 * beta))**2
        (gradient,) = torch.autograd.grad(losses.mean(), policy)
        result.append({"loss": name, "smoothing": smoothing, "losses": losses.tolist(), "gradient": gradient.tolist()})
    return {"beta": beta, "policy": policy.tolist(), "reference": reference.tolist(), "lengths": lengths.tolist(), "variants": result}


def main():
    OUT.mkdir(exist_ok=True)
    result = {"adapters": {name: adapters(name, options) for name, options in CASES.items()},
              "decay_by_group": decay_by_group(),
              "by_rows": steps(model := base(), torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0), by_rows),
              "weighted": weights(),
              "rates": rates(),
              "preferences": preferences()}
    (OUT / "tuning.json").write_text(json.dumps(result, indent=1) + "\n")


main()
