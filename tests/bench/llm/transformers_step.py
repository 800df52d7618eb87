"""The steps of llm_bench.cpp with transformers and peft, as a user writes the loop."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

import options
import turns

arguments = options.parse()
if arguments.method == "qat" or (arguments.method, arguments.device) == ("qlora", "cpu"):
    raise SystemExit(f"transformers_step.py: no {arguments.method} on {arguments.device}")
torch.set_num_threads(arguments.threads)
torch.manual_seed(0)
torch.set_default_device(arguments.device)
torch.set_default_dtype(torch.bfloat16 if arguments.precision == "bf16" else torch.float32)
model = LlamaForCausalLM(LlamaConfig(
    vocab_size=arguments.vocabulary, hidden_size=arguments.width, intermediate_size=arguments.mlp_width,
    num_hidden_layers=arguments.layers, num_attention_heads=arguments.heads, num_key_value_heads=arguments.kv_heads,
    max_position_embeddings=arguments.length, rope_parameters={"rope_type": "default", "rope_theta": 500000.0},
    tie_word_embeddings=False, use_cache=False, attn_implementation="sdpa")).train()
torch.set_default_dtype(torch.float32)
torch.set_default_device("cpu")
if arguments.method == "qlora":
    import bitsandbytes

    for block in model.model.layers:
        for module in (block.self_attn, block.mlp):
            for name, product in list(module.named_children()):
                if isinstance(product, torch.nn.Linear):
                    packed = bitsandbytes.nn.Linear4bit(product.in_features, product.out_features, bias=False, quant_type="nf4",
                                                        compute_dtype=product.weight.dtype, device="meta")
                    packed.weight = bitsandbytes.nn.Params4bit(product.weight.data, requires_grad=False, quant_type="nf4",
                                                               compress_statistics=True, module=packed)
                    setattr(module, name, packed.to(arguments.device))
if arguments.method != "full":
    from peft import LoraConfig, get_peft_model

    model = get_peft_model(model, LoraConfig(r=8, lora_alpha=16, target_modules=[
        "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]))
optimizer = options.optimizer(arguments, model)
rows = torch.randint(0, arguments.vocabulary, (arguments.batch, arguments.length))


def row_log_probs(tokens):
    logits = model(input_ids=tokens).logits[:, :-1].float()
    return logits.log_softmax(-1).gather(2, tokens[:, 1:, None]).squeeze(2).sum(-1)


def dpo_loss(tokens):
    policy = row_log_probs(tokens)
    with torch.no_grad(), model.disable_adapter():
        reference = row_log_probs(tokens)
    chosen, rejected = (policy - reference).chunk(2)
    return -torch.nn.functional.logsigmoid(0.1 * (chosen - rejected)).mean()


def step():
    optimizer.zero_grad()
    tokens = rows.to(arguments.device)
    loss = dpo_loss(tokens) if arguments.method == "dpo" else model(input_ids=tokens, labels=tokens).loss
    loss.backward()
    optimizer.step()
    return loss.item()


turns.serve(step, arguments.device)
