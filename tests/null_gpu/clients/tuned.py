"""torchtune's LoRA recipe over a tiny Llama, started by `tune run`: for one device, or with RANKS as an argument the distributed one.

usage: tuned.py [RANKS]

The recipe is the one that is installed. Its checkpoint and rows are made here, and its configuration names a tokenizer of this file, which
also has each rank tell its peaks when it ends.
"""
import atexit
import json
import os
import pathlib
import sys
import tempfile

os.environ.setdefault("HF_HOME", tempfile.mkdtemp())  # where rows are kept that were read

import torch
import yaml
from torchtune.models.llama3 import llama3

import peaks

SIZES = {"vocab_size": 512, "num_layers": 2, "num_heads": 4, "num_kv_heads": 2, "embed_dim": 64, "max_seq_len": 256, "intermediate_dim": 128}


class Bytes:
    """A tokenizer that needs no vocabulary."""
    pad_id = 256

    def __call__(self, sample, inference=False):
        tokens = [token for message in sample.pop("messages") for token in message.text_content.encode()]
        return sample | {"tokens": tokens, "mask": [False] * len(tokens)}


def tokenizer():
    atexit.register(peaks.tell)
    return Bytes()


def configuration(folder):
    return {
        "model": {"_component_": "torchtune.models.llama3.lora_llama3", "lora_attn_modules": ["q_proj", "v_proj", "output_proj"],
                  "apply_lora_to_mlp": True, "lora_rank": 4, "lora_alpha": 8, **SIZES},
        "tokenizer": {"_component_": "tuned.tokenizer"},
        "checkpointer": {"_component_": "torchtune.training.FullModelTorchTuneCheckpointer", "checkpoint_dir": folder + "/model",
                         "checkpoint_files": ["model.pt"], "output_dir": folder + "/out", "model_type": "LLAMA3"},
        "dataset": {"_component_": "torchtune.datasets.alpaca_dataset", "source": "json", "data_files": folder + "/rows.json", "split": "train"},
        "optimizer": {"_component_": "torch.optim.AdamW", "fused": True, "lr": 3e-4},
        "lr_scheduler": {"_component_": "torchtune.training.lr_schedulers.get_cosine_schedule_with_warmup", "num_warmup_steps": 2},
        "loss": {"_component_": "torchtune.modules.loss.CEWithChunkedOutputLoss"},
        "metric_logger": {"_component_": "torchtune.training.metric_logging.StdoutLogger"},
        "device": "cuda" if torch.cuda.is_available() else "cpu", "dtype": "fp32", "output_dir": folder + "/out", "seed": 1, "shuffle": True,
        "batch_size": 2, "epochs": 1, "max_steps_per_epoch": 3, "gradient_accumulation_steps": 1, "compile": False,
        "resume_from_checkpoint": False, "log_peak_memory_stats": True,
        "enable_activation_checkpointing": False, "enable_activation_offloading": False,
    }


def run(folder, ranks=(), **settings):
    """Trains in `folder`, with `settings` of the configuration."""
    from torchtune._cli.tune import main

    os.mkdir(folder + "/model")
    torch.save(llama3(**SIZES).state_dict(), folder + "/model/model.pt")
    rows = [{"instruction": f"Add {one} and one.", "input": "", "output": str(one + 1)} for one in range(32)]
    pathlib.Path(folder, "rows.json").write_text(json.dumps(rows))
    pathlib.Path(folder, "tiny.yaml").write_text(yaml.safe_dump(configuration(folder) | settings))
    os.chdir(pathlib.Path(__file__).parent)  # where the recipe looks for parts
    sys.argv = ["tune", "run", *(["--nproc_per_node", *ranks, "lora_finetune_distributed"] if ranks else ["lora_finetune_single_device"]),
                "--config", folder + "/tiny.yaml"]
    main()


if __name__ == "__main__":
    run(tempfile.mkdtemp(), sys.argv[1:])
