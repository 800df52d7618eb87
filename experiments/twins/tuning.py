"""Runs a recipe of torchtune on our rows, and the parts that its configuration names: `tuning.Clock` and the others.

LoRA, QLoRA, DPO and full fine-tuning are torchtune's recipes for one device as they are installed. QAT is its recipe for full fine-tuning
on a model that torchao's quantiser prepared, which is what its own recipe for QAT does on several. What a recipe cannot take of a tiny
model with a vocabulary of 8,192 (a checkpoint, a tokenizer of 128,256 tokens) is replaced: random weights and bytes.
"""
import csv
import functools
import importlib.util
import inspect
import json
import os
import pathlib
import socket
import statistics
import time

import omegaconf
import torch
import torchtune
from torchtune.data import AlpacaToMessages, InputOutputToMessages, Message
from torchtune.models.llama3 import llama3

import watching
from torchtune_tune import MODELS

RECIPES = {
    "lora": ("lora_finetune_single_device", "LoRAFinetuneRecipeSingleDevice"),
    "qlora": ("lora_finetune_single_device", "LoRAFinetuneRecipeSingleDevice"),
    "dpo": ("lora_dpo_single_device", "LoRADPORecipeSingleDevice"),
    "full": ("full_finetune_single_device", "FullFinetuneRecipeSingleDevice"),
    "qat": ("full_finetune_single_device", "FullFinetuneRecipeSingleDevice"),
}
# Of several ranks: they shard weights, gradients and moments by FSDP.
DISTRIBUTED = {
    "lora": ("lora_finetune_distributed", "LoRAFinetuneRecipeDistributed"),
    "dpo": ("lora_dpo_distributed", "LoRADPORecipeDistributed"),
    "full": ("full_finetune_distributed", "FullFinetuneRecipeDistributed"),
    "qat": ("qat_distributed", "QATRecipeDistributed"),
}
IGNORED = -100


class Enough(Exception):
    """The last step of a timed trial was taken."""


class Seen:
    """What the parts of the one trial of this process saw."""
    options = None
    marks, losses, extra = [], [], {}  # time and loss of each step
    lengths = []  # of rows, in the order in which they were loaded
    held = []  # rows of the steps so far
    watch = None


def sizes(name):
    width, layers, heads, kv_heads, mlp, tokens = MODELS[name]
    return {"vocab_size": tokens, "num_layers": layers, "num_heads": heads, "num_kv_heads": kv_heads, "embed_dim": width,
            "max_seq_len": 8192, "intermediate_dim": mlp}


# ---- what configurations name ---------------------------------------------------------------------------------------


class Weights:
    """A checkpointer with random weights, which writes nothing."""

    def __init__(self, name, dtype, seed, model_type, should_load_recipe_state=False, resume_from_checkpoint=False):  # the last of 0.5
        self.name, self.dtype, self.seed = name, dtype, seed

    def load_checkpoint(self):
        torch.manual_seed(self.seed)
        with torchtune.training.set_default_dtype(getattr(torch, self.dtype)):
            return {"model": llama3(**sizes(self.name)).state_dict()}


class Clock:
    """A logger that remembers when each step ended."""

    def __init__(self):
        pass

    def log_config(self, config):
        pass

    def log(self, name, data, step):
        self.log_dict({name: data}, step)

    def log_dict(self, payload, step):
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        Seen.marks.append(time.perf_counter())
        Seen.losses.append(float(payload["loss"]))
        Seen.held.append(len(Seen.lengths))
        for name in ("rewards/margins", "rewards/accuracies"):
            if name in payload:
                Seen.extra.setdefault(name, []).append(float(payload[name]))
        options = Seen.options
        before = max(1, options.warmup) if options.profile else options.warmup  # the first step is never watched
        if options.profile and len(Seen.marks) == before:
            Seen.watch = watching.Watch(options.profiler)
        if options.steps and len(Seen.marks) == before + options.steps:
            raise Enough

    def close(self):
        pass


class Bytes:
    """A tokenizer of bytes with Llama 3's frame around a conversation, as expc's own default."""

    pad_id = 258

    def __init__(self, max_seq_len):
        self.max_seq_len = max_seq_len

    def tokenize_messages(self, messages):
        tokens, mask = [256], [True]
        for message in messages:
            body = b"".join(part["content"].strip().encode() for part in message.content)
            added = [260, *message.role.encode(), 261, *b"\n\n", *body, 263]
            tokens += added
            mask += [message.masked] * len(added)
            if len(tokens) >= self.max_seq_len:
                break
        tokens, mask = (tokens + [257])[:self.max_seq_len], (mask + [True])[:self.max_seq_len]
        tokens[-1], mask[-1] = 257, True
        return tokens, mask


class Rows:
    """Our rows through torchtune's own transforms, counted as they are loaded."""

    def __init__(self, tokenizer, path, template, limit, pairs):
        self.tokenizer, self.pairs = tokenizer, pairs
        self.rows = read(path)[:limit or None]
        if template == "instruct":
            self.transform = AlpacaToMessages(train_on_input=not pairs)
        elif template == "grammar":
            self.transform = InputOutputToMessages(train_on_input=False)
        else:
            self.transform = InputOutputToMessages(train_on_input=False, column_map={"input": "dialogue", "output": "summary"})
        if not pairs:
            self.samples = [self.sample(self.messages(row)) for row in self.rows]
            return
        # The rejected answer of a row is that of the next one whose answer differs, as expc has it.
        conversations = [self.messages(row) for row in self.rows]
        answers = [messages[-1].text_content for messages in conversations]
        self.samples = []
        for number, messages in enumerate(conversations):
            order = answers[number + 1:] + answers[:number]
            other = next((answer for answer in order if answer != answers[number]), None)
            if other is None:
                raise SystemExit("all rows have the same answer: none is left to be rejected")
            rejected = [*messages[:-1], Message(role="assistant", content=other, masked=False)]
            self.samples.append((self.sample(messages), self.sample(rejected)))

    def messages(self, row):
        return self.transform(dict(row))["messages"]

    def sample(self, messages):
        tokens, mask = self.tokenizer.tokenize_messages(messages)
        return {"tokens": tokens, "labels": [IGNORED if masked else token for token, masked in zip(tokens, mask)]}

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, number):
        if not self.pairs:
            Seen.lengths.append((len(self.samples[number]["tokens"]),))
            return dict(self.samples[number])
        chosen, rejected = self.samples[number]
        Seen.lengths.append((len(chosen["tokens"]), len(rejected["tokens"])))
        return {"chosen_input_ids": chosen["tokens"], "chosen_labels": chosen["labels"], "rejected_input_ids": rejected["tokens"],
                "rejected_labels": rejected["labels"]}


def read(path):
    text = pathlib.Path(path).read_text(encoding="utf-8")
    if path.endswith(".csv"):
        return list(csv.DictReader(text.splitlines()))
    return [json.loads(line) for line in text.splitlines() if line.strip()] if path.endswith(".jsonl") else json.loads(text)


def resident_peak():
    """Bytes of this process."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])


def quantised(group_size, **wanted):
    """A model whose linear layers round activations to 8 bits and weights to 4."""
    from torchao.quantization.qat import Int8DynActInt4WeightQATQuantizer
    dtype = torch.get_default_dtype()
    return Int8DynActInt4WeightQATQuantizer(groupsize=group_size, precision=dtype, scales_precision=torch.float32).prepare(llama3(**wanted))


# ---- a trial --------------------------------------------------------------------------------------------------------


def configuration(options, epochs):
    adapters = options.method in ("lora", "qlora", "dpo")
    model = {"_component_": "torchtune.models.llama3.llama3", **sizes(options.model)}
    if adapters:
        model.update(_component_="torchtune.models.llama3.lora_llama3", lora_attn_modules=["q_proj", "v_proj", "output_proj"],
                     apply_lora_to_mlp=True, lora_rank=options.rank, lora_alpha=options.alpha, quantize_base=options.method == "qlora")
    if options.method == "qat" and options.gpus == 1:
        model.update(_component_="tuning.quantised", group_size=options.group_size)
    loss = {"_component_": "torchtune.modules.loss.CEWithChunkedOutputLoss"}
    if options.method == "dpo":
        loss = {"_component_": "torchtune.rlhf.loss.DPOLoss", "beta": options.beta}
    dtype = {"fp32": "float32", "bf16": "bfloat16"}[options.precision]
    tokenizer = {"_component_": "tuning.Bytes", "max_seq_len": options.max_length}
    if options.tokenizer:
        tokenizer.update(_component_="torchtune.models.llama3.llama3_tokenizer", path=options.tokenizer)
    return omegaconf.OmegaConf.create({
        "device": "cuda" if torch.cuda.is_available() else "cpu", "dtype": options.precision, "seed": options.seed,
        "output_dir": str(pathlib.Path(options.out).resolve().parent), "epochs": epochs, "max_steps_per_epoch": None,
        "resume_from_checkpoint": False, "gradient_accumulation_steps": options.accumulation, "compile": False,
        "optimizer_in_bwd": False, "enable_activation_checkpointing": options.activation_checkpointing, "log_every_n_steps": 1,
        "checkpointer": {"_component_": "tuning.Weights", "name": options.model, "dtype": dtype, "seed": options.seed,
                         "model_type": "LLAMA3"},
        "metric_logger": {"_component_": "tuning.Clock"}, "tokenizer": tokenizer,
        "quantizer": {"_component_": "torchtune.training.quantization.Int8DynActInt4WeightQATQuantizer", "groupsize": options.group_size},
        "model": model, "loss": loss, "shuffle": True, "batch_size": options.batch,
        "optimizer": {"_component_": "torch.optim.AdamW", "fused": True, "lr": options.learning_rate,
                      "weight_decay": options.weight_decay},
        "lr_scheduler": {"_component_": "torchtune.training.lr_schedulers.get_cosine_schedule_with_warmup",
                         "num_warmup_steps": options.warmup_steps},
        "dataset": {"_component_": "tuning.Rows", "path": options.data, "template": options.template, "limit": options.row_limit,
                    "pairs": options.method == "dpo"},
    })


def recipe_of(options):
    """The class of the recipe, from the file that was installed: torchtune does not let it be imported as a module."""
    file, name = (DISTRIBUTED if options.gpus > 1 else RECIPES)[options.method]
    path = pathlib.Path(torchtune.__file__).parent.parent / "recipes" / f"{file}.py"
    spec = importlib.util.spec_from_file_location(file, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for loader in ("DataLoader", "StatefulDataLoader"):  # what the reference study's authors must have changed in it
        if options.pin_memory and hasattr(module, loader):
            setattr(module, loader, functools.partial(getattr(module, loader), pin_memory=True))
    recipe = getattr(module, name)
    return type(name, (recipe,), {"save_checkpoint": lambda self, epoch: None})  # no part of what is compared


def run(options):
    """Runs the trial, in processes of its own where there are several. The first rank alone sees the steps; when it has enough the others
    wait for it in vain."""
    options.seed %= 2**31  # torchtune takes no larger one
    if options.gpus == 1:
        return run_rank(0, options, 0)
    if torch.cuda.is_available() and torch.cuda.device_count() < options.gpus:
        raise SystemExit(f"{options.gpus} GPUs are asked for, {torch.cuda.device_count()} are visible")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ranks = torch.multiprocessing.spawn(run_rank, (options, port), options.gpus, join=False)
    while ranks.processes[0].is_alive():
        if ranks.join(timeout=1):  # raises what a rank raised
            return
    if ranks.processes[0].exitcode:
        ranks.join(timeout=5)
        raise SystemExit(f"the first rank ended with {ranks.processes[0].exitcode}")
    for process in ranks.processes[1:]:
        process.kill()


def run_rank(rank, options, port):
    Seen.options = options
    if options.gpus > 1:
        os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(options.gpus), LOCAL_WORLD_SIZE=str(options.gpus),
                          MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    rows = len(read(options.data)[:options.row_limit or None])
    per_epoch = rows // options.gpus // options.batch // options.accumulation
    if per_epoch == 0:
        raise SystemExit(f"a step takes {options.gpus * options.batch * options.accumulation} rows, {options.data} has {rows}")
    wanted = options.epochs or -(-(max(1, options.warmup) + options.steps) // per_epoch)
    config = configuration(options, wanted)
    kind = recipe_of(options)
    if options.gpus > 1 and "init_process_group" not in inspect.getsource(kind.__mro__[1].__init__):
        torch.distributed.init_process_group("cuda:nccl,cpu:gloo" if torch.cuda.is_available() else "gloo")
    recipe = kind(cfg=config)
    recipe.setup(cfg=config)
    startup, begin = time.monotonic() - options.process_start, time.perf_counter()
    try:
        recipe.train()
    except Enough:
        pass
    if rank > 0:
        return
    measured = Seen.watch.ended() if options.profile else timed(options, rows, begin) if options.steps else quality(begin)
    measured |= {"startup_time": startup, "host_memory_peak": resident_peak()}
    if torch.cuda.is_available():
        measured["device_memory_peak"] = torch.cuda.max_memory_reserved()
        measured["device_memory_allocated_peak"] = torch.cuda.max_memory_allocated()
    pathlib.Path(options.out).write_text(json.dumps(measured))


def timed(options, rows, begin):
    marks = [begin, *Seen.marks]
    steps = [after - before for before, after in zip(marks, marks[1:])]
    wall = marks[-1] - marks[options.warmup]
    first = Seen.held[options.warmup - 1] if options.warmup else 0
    lengths = Seen.lengths[first:Seen.held[-1]]
    tokens = sum(map(sum, lengths)) * options.gpus  # of the first rank's rows; the others have as many, and about as long
    padded = 0
    for at in range(0, len(lengths), options.batch):
        batch = [length for row in lengths[at:at + options.batch] for length in row]
        padded += max(batch) * len(batch)
    trained = options.steps * options.batch * options.accumulation * options.gpus
    return {"iteration_time": statistics.median(steps[options.warmup:]), "tokens_per_s": tokens / wall, "train_time": wall,
            "epoch_time": rows * wall / trained, "first_step_time": steps[0], "padding_share": 1 - tokens / options.gpus / padded}


def quality(begin):
    tenth = max(1, len(Seen.losses) // 10)
    measured = {"loss": Seen.losses, "final_loss": statistics.fmean(Seen.losses[-tenth:]), "total_time": Seen.marks[-1] - begin}
    for name, key in (("rewards/margins", "reward_margin"), ("rewards/accuracies", "reward_accuracy")):
        if name in Seen.extra:
            measured[key] = statistics.fmean(Seen.extra[name][-tenth:])
    return measured
