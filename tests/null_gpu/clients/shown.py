"""Runs the lines that docs/your-own-program.md shows for a library, in a training that is made here.

usage: shown.py PAGE trainer|lightning|accelerate|torchtune
"""
import os
import pathlib
import re
import sys
import tempfile


def block(page, name):
    found = re.search(rf"^```python steps_{name}\.py\n(.*?)^```$", pathlib.Path(page).read_text(), re.M | re.S)
    return found.group(1)


def trainer(lines):
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainerCallback, TrainingArguments

    import expc

    net = LlamaForCausalLM(LlamaConfig(vocab_size=128, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4))
    tokens = torch.arange(32) % 128
    arguments = TrainingArguments(tempfile.mkdtemp(), max_steps=50, logging_steps=1, per_device_train_batch_size=4, report_to=[], save_strategy="no")
    trainer = Trainer(net, arguments, train_dataset=[{"input_ids": tokens, "labels": tokens}] * 64)
    exec(lines, {"t": expc.trial(), "trainer": trainer, "TrainerCallback": TrainerCallback})
    trainer.train()


def lightning(lines):
    import lightning
    import lit

    import expc

    trainer = lightning.Trainer(max_steps=50, logger=False, enable_checkpointing=False, enable_progress_bar=False)
    exec(lines, {"t": expc.trial(), "trainer": trainer, "lightning": lightning})
    trainer.fit(lit.Module(), lit.loader)


def accelerate(lines):
    import torch
    from accelerate import Accelerator

    import expc

    accelerator = Accelerator()
    net = torch.nn.Linear(32, 8)
    data = torch.utils.data.TensorDataset(torch.randn(32, 32), torch.zeros(32, dtype=torch.long))
    net, optimizer, loader = accelerator.prepare(net, torch.optim.AdamW(net.parameters()), torch.utils.data.DataLoader(data, batch_size=16))
    exec(lines, {"t": expc.trial(), "accelerator": accelerator, "net": net, "optimizer": optimizer, "loader": loader,
                 "loss_of": torch.nn.functional.cross_entropy})


def torchtune(lines):
    import tuned

    folder = tempfile.mkdtemp()
    pathlib.Path(folder, "steps_torchtune.py").write_text(lines)
    sys.path.insert(0, folder)
    tuned.run(folder, metric_logger={"_component_": "steps_torchtune.Steps"}, epochs=9)


if __name__ == "__main__":
    globals()[sys.argv[2]](block(sys.argv[1], sys.argv[2]))
