"""transformers' Trainer over a tiny Llama with an adapter of peft."""
import tempfile

import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

import peaks

config = LlamaConfig(vocab_size=128, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4)
net = get_peft_model(LlamaForCausalLM(config), LoraConfig(target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
tokens = torch.arange(32) % 128
data = [{"input_ids": tokens, "labels": tokens}] * 16
arguments = TrainingArguments(tempfile.mkdtemp(), max_steps=3, per_device_train_batch_size=4, report_to=[], save_strategy="no")
Trainer(net, arguments, train_dataset=data).train()
peaks.tell()
