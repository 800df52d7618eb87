#!/usr/bin/env python3
"""What `expc plan` estimates of a Llama model's memory against what torch's allocator counts on null cards in a few steps of the real worker.

    llama_memory.py EXPC EXPC_WORKER_CUDA NULL_GPU_FOLDER            a subset in seconds, as ctest runs it; fails beyond 5 %
    … --all --model llama3_8b --gpus 1,2,3,4 --precision fp32,bf16   every combination of these
    … --markdown                                                     tables as in docs/measurements/llm_memory.md
    … --only "qat kept fp32"                                         those whose name has all these words
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "null_gpu"), str(ROOT / "tests" / "conformance")]
import null_gpu  # noqa: E402
import ranks  # noqa: E402

TOLERANCE = 0.05
STEPS = {"steps": 2, "warmup": 3}  # as `expc rehearse` has them
METHODS = {
    "full": "method = full", "lora": "method = lora", "qlora": "method = qlora", "dpo lora": "method = dpo, dpo_base = lora",
    "dpo full": "method = dpo, dpo_base = full", "qat kept": "method = qat, qat_weights = kept",
    "qat recomputed": "method = qat, qat_weights = recomputed",
}
FACTORS = ("precision", "gpus", "sharding", "activation_checkpointing", "packing")


def write_rows(folder, length):
    """Rows, and pairs, of more than `length` bytes: each is cut to `length` tokens."""
    answers = {"rows": {"output": "b" * length}, "pairs": {"chosen": "b" * length, "rejected": "c" * length}}
    for name, answer in answers.items():
        row = json.dumps({"instruction": "say it again", **answer}) + "\n"
        (folder / f"{name}.jsonl").write_text(row * 64, encoding="utf-8")


def study(method, options):
    pairs = method.startswith("dpo")
    levels = {"precision": options.precision, "gpus": options.gpus, "sharding": options.sharding,
              "activation_checkpointing": ["false", "true"], "packing": ["false"] if pairs else ["false", "true"]}
    factors = "".join(f"  factor {name} in {{ {', '.join(map(str, levels[name]))} }}\n" for name in FACTORS)
    return (f"import std.llm\nsystem cards {{ gpus = {max(map(int, options.gpus))} }}\nstudy memory {{\n"
            f"  workload llm.finetune({METHODS[method]}, model = {options.model}, data = file(\"{'pairs' if pairs else 'rows'}.jsonl\"),\n"
            f"    max_length = {options.length}tok, batch = {options.batch}, optimizer = {options.optimizer})\n{factors}"
            "  exclude gpus == 1 and sharding == ddp\n  measure device_memory_allocated_peak\n"
            "  design { timed { repeat 1  steps 2 } }\n}\n")


def points(options, folder):
    """(name, point of the plan) of each combination."""
    for method in options.method:
        path = folder / "memory.exp"
        path.write_text(study(method, options), encoding="utf-8")
        plan = subprocess.run([options.expc, "plan", path, "--system", "cards", "--format", "json"], capture_output=True, text=True,
                              check=False)
        if plan.returncode:
            sys.exit(f"{path.read_text()}\n{plan.stdout}{plan.stderr}")
        for point in json.loads(plan.stdout)["points"]:
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
    return max(rank["device_memory_allocated"] for rank in event["rehearsed"]["ranks"]), ""


def main():
    words = lambda text: text.split(",")  # noqa: E731
    parser = argparse.ArgumentParser()
    parser.add_argument("expc")
    parser.add_argument("worker")
    parser.add_argument("folder", help="of the null cards' libraries")
    parser.add_argument("--all", action="store_true")
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
        wanted = [(text, point) for text, point in points(options, folder) if all(f" {word} " in f" {text} " for word in options.only.split())]
        if not options.all:  # each level at least once with each method
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
