"""The steps of llm_bench.cpp with torchtune's model builders, quantisers and losses, in the loop of its recipes."""

import torch
from torchtune.models.llama3 import llama3, lora_llama3
from torchtune.modules.peft import disable_adapter, get_adapter_params, set_trainable_params

import options
import turns

arguments = options.parse()
torch.set_num_threads(arguments.threads)
torch.manual_seed(0)
sizes = {"vocab_size": arguments.vocabulary, "num_layers": arguments.layers, "num_heads": arguments.heads,
         "num_kv_heads": arguments.kv_heads, "embed_dim": arguments.width, "max_seq_len": arguments.length,
         "intermediate_dim": arguments.mlp_width}
torch.set_default_dtype(torch.bfloat16 if arguments.precision == "bf16" else torch.float32)
torch.set_default_device(arguments.device)
if arguments.method in ("full", "qat"):
    model = llama3(**sizes)
else:
    model = lora_llama3(lora_attn_modules=["q_proj", "k_proj", "v_proj", "output_proj"], apply_lora_to_mlp=True, lora_rank=8,
                        lora_alpha=16, quantize_base=arguments.method == "qlora", **sizes)
    set_trainable_params(model, get_adapter_params(model))
if arguments.method == "qat":
    from torchtune.training.quantization import Int8DynActInt4WeightQATQuantizer

    model = Int8DynActInt4WeightQATQuantizer(groupsize=256).prepare(model)
torch.set_default_dtype(torch.float32)
torch.set_default_device("cpu")
optimizer = options.optimizer(arguments, model)
rows = torch.randint(0, arguments.vocabulary, (arguments.batch, arguments.length))
next_tokens = torch.hstack((rows[:, 1:], torch.full((arguments.batch, 1), -100)))
if arguments.method == "dpo":
    from torchtune.rlhf import get_batch_log_probs
    from torchtune.rlhf.loss import DPOLoss

    pair_loss = DPOLoss(beta=0.1)
else:
    from torchtune.modules.loss import CEWithChunkedOutputLoss

    chunked_loss = CEWithChunkedOutputLoss()
    model.set_num_output_chunks(chunked_loss.num_output_chunks)


def dpo_loss(tokens):
    policy = get_batch_log_probs(model(tokens), tokens)
    with torch.no_grad(), disable_adapter(model):
        reference = get_batch_log_probs(model(tokens), tokens)
    losses, _, _ = pair_loss(*policy.chunk(2), *reference.chunk(2))
    return losses.mean()


def step():
    optimizer.zero_grad()
    tokens, labels = rows.to(arguments.device), next_tokens.to(arguments.device)
    loss = dpo_loss(tokens) if arguments.method == "dpo" else chunked_loss(model(tokens), labels)
    loss.backward()
    optimizer.step()
    return loss.item()


turns.serve(step, arguments.device)
