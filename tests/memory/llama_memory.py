#!/usr/bin/env python3
"""What `expc plan` estimates of a Llama model's memory against what torch's allocator counts on null cards in a few steps of the real worker.

    llama_memory.py EXPC EXPC_WORKER_CUDA NULL_GPU_FOLDER            a subset in seconds, as ctest runs it; fails beyond 5 %
    … --all --model llama3_8b --gpus 1,2,3,4 --precision fp32,bf16   every combination of these
    … --markdown                                                     tables as in docs/measurements/llm_memory.md
    … --only "qat kept fp32"                                         those whose name has all these words
    … --options                                                      the options of adapters, steps and preferences instead, as many
                                                                     combinations as it takes for each pair of levels to meet
"""
import argparse
import collections
import json
import math
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "null_gpu"), str(ROOT / "tests" / "conformance")]
import matrix  # noqa: E402
import null_gpu  # noqa: E402
import ranks  # noqa: E402

TOLERANCE = 0.05
STEPS = {"steps": 2, "warmup": 3}  # as `expc rehearse` has them
METHODS = {
    "full": "method = full", "lora": "method = lora", "qlora": "method = qlora", "dpo lora": "method = dpo, dpo_base = lora",
    "dpo full": "method = dpo, dpo_base = full", "qat kept": "method = qat, qat_weights = kept",
    "qat recomputed": "method = qat, qat_weights = recomputed",
}
# Options that change the memory of a study. Levels that take the same memory (schedules, alphas) are left out.
WHERE = """  factor precision in { bf16, fp32, fp16, fp64 }
  factor gpus in { 1, 2 }
  factor sharding in { fsdp, ddp }
  factor activation_checkpointing in { false, true }
  factor optimizer in { adamw, sgd }
  exclude gpus == 1 and sharding == ddp
"""
OPTIONS = {
    "adapters": WHERE + """  factor method  in { lora, qlora, dpo }
  factor modules in { [], [q, v, down], [k], [q, k, v, o, gate, up, down, head] }
  factor adapted_layers  in { [], [LAST], [0, 1] }
  factor modules_to_save in { [], [embedding, head], [embedding], [head] }
  factor dora    in { false, true }
  factor dropout in { 0.0, 0.1 }
  factor rank    in { 8, 128 }
""",
    "steps": WHERE + """  factor method in { full, lora, qat }
  factor loss_per     in { token, row }
  factor accumulation in { 1, 2 }
  factor clip_norm    in { 0.0, 1.0 }
  factor decayed      in { all, matrices }  when method != lora
  factor qat_weights  in { kept, recomputed }  when method == qat
  factor packing      in { false, true }
""",
    "preferences": WHERE + """  factor dpo_base  in { lora, full }
  factor dpo_loss  in { sigmoid, ipo }
  factor by_length in { false, true }  when dpo_loss == sigmoid
  factor reference_model in { start, folder("reference") }
  factor accumulation    in { 1, 2 }
""",
}
MOST = 600
FACTORS = ("precision", "gpus", "sharding", "activation_checkpointing", "packing")


def write_rows(folder, length):
    """Rows that are pairs too, of more than `length` bytes: each is cut to `length` tokens."""
    row = json.dumps({"instruction": "say it again", "output": "b" * length, "chosen": "b" * length, "rejected": "c" * length}) + "\n"
    (folder / "rows.jsonl").write_text(row * 64, encoding="utf-8")


def write_reference(folder, model):
    """Another model with the vocabulary of a named one, as a folder whose values are a hole in its file; the named one's number of layers."""
    layers, vocabulary = {"tiny": (4, 8192), "llama3_8b": (32, 128256)}[model]
    width, shapes = 256, {}
    for name in ("model.embed_tokens", "lm_head"):
        shapes[f"{name}.weight"] = [vocabulary, width]
    for name in [f"self_attn.{letter}_proj" for letter in "qkvo"] + ["mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"]:
        shapes[f"model.layers.0.{name}.weight"] = [width, width]
    for name in ("layers.0.input_layernorm", "layers.0.post_attention_layernorm", "norm"):
        shapes[f"model.{name}.weight"] = [width]
    header, end = {}, 0
    for name, shape in shapes.items():
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [end, end := end + 2 * math.prod(shape)]}
    text = json.dumps(header).encode()
    (folder / "reference").mkdir()
    with (folder / "reference" / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + end)
    (folder / "reference" / "config.json").write_text(json.dumps({
        "model_type": "llama", "hidden_size": width, "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 4,
        "intermediate_size": width, "vocab_size": vocabulary, "max_position_embeddings": 8192, "rms_norm_eps": 1e-5,
        "rope_theta": 500000.0, "hidden_act": "silu", "tie_word_embeddings": False}))
    return layers


def study(method, options):
    pairs = method.startswith("dpo")
    levels = {"precision": options.precision, "gpus": options.gpus, "sharding": options.sharding,
              "activation_checkpointing": ["false", "true"], "packing": ["false"] if pairs else ["false", "true"]}
    factors = "".join(f"  factor {name} in {{ {', '.join(map(str, levels[name]))} }}\n" for name in FACTORS)
    return (f"import std.llm\nsystem cards {{ gpus = {max(map(int, options.gpus))} }}\nstudy memory {{\n"
            f"  workload llm.finetune({METHODS[method]}, model = {options.model}, data = file(\"rows.jsonl\"),\n"
            f"    max_length = {options.length}tok, batch = {options.batch}, optimizer = {options.optimizer})\n{factors}"
            "  exclude gpus == 1 and sharding == ddp\n  measure device_memory_allocated_peak\n"
            "  design { timed { repeat 1  steps 2 } }\n}\n")


def planned(options, folder, text):
    """The plan of a study."""
    path = folder / "memory.exp"
    path.write_text(text, encoding="utf-8")
    plan = subprocess.run([options.expc, "plan", path, "--system", "cards", "--format", "json"], capture_output=True, text=True, check=False)
    if plan.returncode:
        sys.exit(f"{text}\n{plan.stdout}{plan.stderr}")
    return json.loads(plan.stdout)


def option_points(options, folder):
    """(name, point of the plan) of enough combinations of options that each pair of levels meets in one, or of all."""
    layers = write_reference(folder, options.model)
    for kind, factors in OPTIONS.items():
        fixed = ", method = dpo" if kind == "preferences" else ""
        plan = planned(options, folder, (
            f"import std.llm\nsystem cards {{ gpus = 2 }}\nstudy memory {{\n  workload llm.finetune(model = {options.model}, "
            f"data = file(\"rows.jsonl\"), max_length = {options.length}tok, batch = {options.batch}{fixed})\n"
            f"{factors.replace('LAST', str(layers - 1))}  measure device_memory_allocated_peak\n  design {{ timed {{ repeat 1  steps 2 }} }}\n}}\n"))
        names = [factor["name"] for factor in plan["factors"]]
        found = matrix.points(plan, names)
        some = random.Random(1).sample(sorted(found, key=str), min(MOST, len(found)))  # so many that each pair of levels is in them
        for at in found if options.all else matrix.covering(some, names, []):
            yield f"{kind} " + " ".join(f"{name}={level}" for name, level in zip(names, at) if level not in (None, "false")), found[at]


def points(options, folder):
    """(name, point of the plan) of each combination."""
    for method in options.method:
        for point in planned(options, folder, study(method, options))["points"]:
            at = point["parameters"]
            words = [method, at["precision"], f"{at['gpus']} cards" if at["gpus"] > 1 else "1 card"]
            words += [at["sharding"]] if at["gpus"] > 1 else []
            words += ["checkpointing"] * at["activation_checkpointing"] + ["packed"] * at["packing"]
            yield " ".join(words), point


def peak(server, point, folder):
    """Bytes, of the rank that held most; or why there are none."""
    at = point["parameters"]
    spec = ranks.specification("timed", at["gpus"], STEPS, root=folder)
    spec.update(workload="llm.finetune", parameters=at, rehearsal=True)
    event = server.run(null_gpu.on_cards(spec))[0]
    if event.get("event") != "result":
        return None, event.get("reason", event)
    return max(max(rank["device_memory_allocated"], rank.get("widest_allocated", 0)) for rank in event["rehearsed"]["ranks"]), ""


def main():
    words = lambda text: text.split(",")  # noqa: E731
    parser = argparse.ArgumentParser()
    parser.add_argument("expc")
    parser.add_argument("worker")
    parser.add_argument("folder", help="of the null cards' libraries")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--options", action="store_true")
    parser.add_argument("--every", type=int, default=1, help="take every N-th combination of the options")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--method", type=words, default=list(METHODS))
    parser.add_argument("--precision", type=words, default=["fp32", "bf16", "fp16", "fp64"])
    parser.add_argument("--gpus", type=words, default=["1", "2"])
    parser.add_argument("--sharding", type=words, default=["fsdp", "ddp"])
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--optimizer", default="adamw")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="expc-memory-") as name:
        folder = pathlib.Path(name)
        write_rows(folder, 2 * options.length)
        source = option_points if options.options else points
        wanted = [(text, point) for text, point in source(options, folder) if all(f" {word} " in f" {text} " for word in options.only.split())]
        wanted = wanted[::options.every]
        if not options.all and not options.options:  # each level at least once with each method
            wanted = wanted[::11]
        sys.exit(compare(options, wanted, folder))


def compare(options, wanted, folder):
    if options.markdown:
        print("| method and precision | peak | estimate | off |\n| --- | ---: | ---: | ---: |")
    outcome, offs, start = collections.Counter(), [], time.monotonic()
    with null_gpu.server(options.worker, options.folder, memory="600GiB", drop="64KiB") as (server, said):
        for text, point in wanted:
            found, why = peak(server, point, folder)
            estimate = point.get("estimates", {}).get("device_memory_peak")
            if found is None or estimate is None:
                outcome["failed"] += 1
                print(f"{text}: {why or 'the plan has no estimate'}\n{said()[-500:]}", flush=True)
                continue
            off = estimate / found - 1
            offs.append((abs(off), text))
            outcome["beyond" if abs(off) > TOLERANCE else "within"] += 1
            cells = [f"{text:50}", f"{found / 1e9:7.3f} GB", f"{estimate / 1e9:7.3f} GB", f"{off * 100:+5.1f} %" + " !" * (abs(off) > TOLERANCE)]
            if options.markdown:
                print("| " + " | ".join(cell.strip() for cell in cells) + " |", flush=True)
            elif options.all or abs(off) > TOLERANCE:
                print("  ".join(cells), flush=True)
    worst = max(offs, default=(0, "nothing"))
    print(f"\n{options.model}: {dict(outcome)} of {len(wanted)} in {time.monotonic() - start:.0f} s; the worst, {worst[1]}, is {worst[0]:.1%} off")
    return 0 if outcome["within"] == len(wanted) > 0 else 1


if __name__ == "__main__":
    main()
